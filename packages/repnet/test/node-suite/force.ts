/**
 * Module that is loaded before one of Node's own tests. Every connection of any of Node's modules to a TCP port is
 * replicated, and every server listens on a replica port, as if the user had listed all of them.
 */
import net = require('node:net');
import repnet = require('repnet');

import { forceReplication } from './preload';

forceReplication();
require('repnet/register');
// `register` opens replica ports only if the configuration contains the port, but these tests get their ports from the
// kernel.
Object.assign(net.Server.prototype, {
  listen(this: net.Server, ...args: unknown[]) {
    return repnet.listenReplicated(this, args);
  },
});
