/**
 * `node --import repnet/register app.js`: an application that knows nothing of repnet uses it for the targets that the configuration
 * lists (REPNET_TARGETS, or repnet.config.json), through `net`, `http`, `https`, `http2`, `tls`, `fetch` and the clients built on them.
 *
 * Everything else stays Node's own: a call for a target that is not listed goes to the stock function with the stock arguments. A server
 * gets a replica port only if the configuration's `listen` names its port: `"all"` is for servers that repnet itself has made.
 */

import { syncBuiltinESMExports } from 'node:module';

import net = require('node:net');
import tls = require('node:tls');

import { connect as connectReplicated, replicatedTarget } from './api';
import { graft, mirror, takeOver } from './graft';
import { listen } from './listen';
import { runtime } from './runtime';
import { ReplicatedSocket } from './socket';

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** What is replaced, as it was. */
const original = {
  connect: net.connect as unknown as Call,
  socketConnect: net.Socket.prototype.connect as unknown as Call,
  serverListen: net.Server.prototype.listen as unknown as Call,
  tlsConnect: tls.connect as unknown as (options: tls.ConnectionOptions, callback?: () => void) => tls.TLSSocket,
};

function connect(this: unknown, ...args: unknown[]): unknown {
  return replicatedTarget(args) ? connectReplicated(...args) : original.connect.apply(this, args);
}

/** For sockets that the application, or Node's own `net.connect` on its behalf, has constructed. */
function socketConnect(this: net.Socket & { _handle?: unknown }, ...args: unknown[]): unknown {
  const named = this._handle || this instanceof tls.TLSSocket ? undefined : replicatedTarget(args);
  if (!named) return original.socketConnect.apply(this, args);
  const { readableHighWaterMark, writableHighWaterMark } = this;
  const socket = new ReplicatedSocket({ allowHalfOpen: true, readableHighWaterMark, writableHighWaterMark });
  const { callback } = named.call;
  if (callback) this.once('connect', callback);
  graft(this, socket);
  socket.dial(named.target);
  return this;
}

/** `connect(options[, callback])` and `connect(port[, host][, options][, callback])`, as one object. */
function tlsOptions(args: readonly unknown[]): tls.ConnectionOptions & { timeout?: number } {
  const [first, second] = args;
  const positional = typeof first === 'object' ? {} : { port: Number(first), ...(typeof second === 'string' ? { host: second } : {}) };
  const given = args.find((arg) => typeof arg === 'object' && arg !== null);
  return { ...positional, ...(given as tls.ConnectionOptions) };
}

function tlsConnect(this: unknown, ...args: unknown[]): tls.TLSSocket {
  const last = args.at(-1);
  const callback = typeof last === 'function' ? (last as () => void) : undefined;
  const options = tlsOptions(args);
  if (options.socket) {
    const socket = takeOver(options.socket);
    if (socket === options.socket) return (original.tlsConnect as unknown as Call).apply(this, args) as tls.TLSSocket;
    return secure({ ...options, socket }, socket as unknown as ReplicatedSocket, callback);
  }
  if (options.path || !replicatedTarget([options])) {
    return (original.tlsConnect as unknown as Call).apply(this, args) as tls.TLSSocket;
  }
  // TLS decides itself when it has said everything.
  const socket = connectReplicated({ ...options, allowHalfOpen: true });
  const secured = secure({ ...options, socket }, socket as unknown as ReplicatedSocket, callback);
  // With a socket given, Node leaves this to whoever made it.
  if (options.timeout) secured.setTimeout(options.timeout);
  return secured;
}

function secure(options: tls.ConnectionOptions, socket: ReplicatedSocket, callback: (() => void) | undefined): tls.TLSSocket {
  const secured = original.tlsConnect(options, callback);
  mirror(secured, socket);
  return secured;
}

function serverListen(this: net.Server, ...args: unknown[]): unknown {
  return Array.isArray(runtime.config.listen) ? listen(this, args, undefined) : original.serverListen.apply(this, args);
}

Object.assign(net, { connect, createConnection: connect });
Object.assign(net.Socket.prototype, { connect: socketConnect });
Object.assign(net.Server.prototype, { listen: serverListen });
Object.assign(tls, { connect: tlsConnect });
syncBuiltinESMExports();
