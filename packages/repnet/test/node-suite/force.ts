/**
 * Module that is loaded before one of Node's own tests.
 * The module replicates every connection of Node's modules to a TCP port, as if the user had listed all targets.
 * Every server gets a replica port.
 */
import net = require('node:net');
import repnet = require('repnet');

import { forceReplication } from './preload';

forceReplication();
require('repnet/register');
// `register` opens replica ports only for ports in the configuration.
// These tests get their ports from the kernel, so `listen` is replaced.
Object.assign(net.Server.prototype, {
  listen(this: net.Server, ...args: unknown[]) {
    return repnet.listenReplicated(this, args);
  },
});
