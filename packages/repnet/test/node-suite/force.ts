/**
 * Preloaded into one of Node's own tests: every connection to a TCP port that any of Node's modules makes is replicated, and every server
 * listens on a replica port, as if its user had listed all of them.
 */
import net = require('node:net');
import repnet = require('repnet');

import { forceReplication } from './preload';

forceReplication();
require('repnet/register');
// `register` opens replica ports only where the configuration names the port; these tests ask the kernel for theirs.
Object.assign(net.Server.prototype, {
  listen(this: net.Server, ...args: unknown[]) {
    return repnet.listenReplicated(this, args);
  },
});
