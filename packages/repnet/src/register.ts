/**
 * `node --import repnet/register app.js`: repnet for an application without changes.
 * Connections to targets that the configuration lists (REPNET_TARGETS, or repnet.config.json) are replicated.
 * Replication works for `net`, `http`, `https`, `http2`, `tls`, `fetch`, and for clients that use them.
 *
 * A call for a target that is not listed goes to the stock function with unchanged arguments.
 * A server gets a replica port only if `listen` in the configuration contains its port.
 * The value `"all"` applies only to servers that repnet itself has created.
 */

import './node-only';

import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';

import net = require('node:net');
import tls = require('node:tls');

import { adapt } from './adapter';
import { connect as connectReplicated, replicatedTarget } from './api';
import { graft, mirror, prune, takeOver } from './graft';
import { listen, readListenArguments } from './listen';
import { runtime } from './runtime';
import { ReplicatedSocket } from './socket';
import { publishClient } from './socket-channels';
import { counters } from './stats';

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** Node's functions and classes that this module replaces. */
const original = {
  connect: net.connect as unknown as Call,
  socketConnect: net.Socket.prototype.connect as unknown as Call,
  serverListen: net.Server.prototype.listen as unknown as Call,
  tlsConnect: tls.connect as unknown as (options: tls.ConnectionOptions, callback?: () => void) => tls.TLSSocket,
};

/** Call of http2 that is creating a session at this moment, and whether the session's connection is replicated. */
let http2Call: { replicated: boolean } | undefined;

function connect(this: unknown, ...args: unknown[]): unknown {
  if (!replicatedTarget(args)) return original.connect.apply(this, args);
  const socket = connectReplicated(...args);
  if (!http2Call) return socket;
  http2Call.replicated = true;
  return adapt(socket as unknown as ReplicatedSocket);
}

/** Members of a client's session that this module uses. */
type Session = NodeJS.EventEmitter & { closed: boolean; destroyed: boolean; destroy(): void };

/** Wraps a function that creates an http2 session. Connections of the session then use an adapter. */
function adapting(connectSession: Call): Call {
  return function (this: unknown, ...args: unknown[]) {
    const before = http2Call;
    const call = { replicated: false };
    http2Call = call;
    try {
      const made = connectSession.apply(this, args);
      if (call.replicated && !(made instanceof Promise)) endWhenClosedEarly(made as Session);
      return made;
    } finally {
      http2Call = before;
    }
  };
}

/**
 * Ends a session that was closed before it was connected.
 * For such a session, http2 checks only once whether all bytes were sent.
 * Over a stream without a native handle, its own first bytes are still unsent then, so it never ends the session.
 * All requests of the session have already failed.
 */
function endWhenClosedEarly(session: Session): void {
  session.once('connect', () => {
    if (!session.closed) return;
    setImmediate(() => {
      if (!session.destroyed) session.destroy();
    });
  });
}

/** Replacement for `connect` of sockets that the application has constructed, and for Node's own `net.connect`. */
function socketConnect(this: net.Socket & { _handle?: unknown }, ...args: unknown[]): unknown {
  const named = this._handle || this instanceof tls.TLSSocket ? undefined : replicatedTarget(args);
  if (!named) {
    prune(this);
    return original.socketConnect.apply(this, args);
  }
  publishClient(this, false);
  const { readableHighWaterMark, writableHighWaterMark } = this;
  const socket = new ReplicatedSocket({ allowHalfOpen: true, readableHighWaterMark, writableHighWaterMark });
  const { callback } = named.call;
  if (callback) this.once('connect', callback);
  graft(this, socket);
  socket.dial(named.target);
  return this;
}

/**
 * Returns the arguments of `tls.connect()` as one object. They start with `options`, or with `port[, host][, options]`.
 */
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
    if (!(socket instanceof ReplicatedSocket)) return (original.tlsConnect as unknown as Call).apply(this, args) as tls.TLSSocket;
    return secure({ ...options, socket }, socket as unknown as ReplicatedSocket, callback);
  }
  if (options.path || !replicatedTarget([options])) {
    return (original.tlsConnect as unknown as Call).apply(this, args) as tls.TLSSocket;
  }
  if (http2Call) http2Call.replicated = true;
  // The signal ends the TLS socket, so the socket below it needs no signal.
  const socket = connectReplicated({ ...options, signal: undefined }) as unknown as ReplicatedSocket;
  let secured: tls.TLSSocket;
  try {
    secured = secure({ ...options, socket: adapt(socket) }, socket, callback);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // If the signal was aborted before this call, TLS does not destroy the socket.
  secured.once('close', () => socket.destroy());
  // If the caller passes a socket, Node does not set the timeout.
  if (options.timeout) secured.setTimeout(options.timeout);
  return secured;
}

function secure(options: tls.ConnectionOptions, socket: ReplicatedSocket, callback: (() => void) | undefined): tls.TLSSocket {
  const secured = unseen(() => original.tlsConnect(options, callback));
  mirror(secured, socket);
  return secured;
}

/**
 * Whether TLS is checking a socket now.
 * If the check found a `net.Socket`, TLS would wait forever for the handle of the socket.
 */
let hidden = false;

function unseen<Result>(work: () => Result): Result {
  const before = hidden;
  hidden = true;
  try {
    return work();
  } finally {
    hidden = before;
  }
}

/**
 * Makes a client's replicated connection an instance of `net.Socket`.
 * A server's connection stays as it is, because TLS's own server may check its class.
 */
function hasInstance(this: unknown, value: unknown): boolean {
  if (this === net.Socket && !hidden && value instanceof ReplicatedSocket && value.isClient) return true;
  return Function.prototype[Symbol.hasInstance].call(this as never, value);
}

const TLSSocket = new Proxy(tls.TLSSocket, {
  construct: (target, args, made) => unseen(() => Reflect.construct(target, args, made)),
});

function serverListen(this: net.Server, ...args: unknown[]): unknown {
  if (Array.isArray(runtime.config.listen)) return listen(this, args, undefined);
  if (readListenArguments(args)) counters.servers.plain++;
  return original.serverListen.apply(this, args);
}

Object.assign(net, { connect, createConnection: connect });
Object.assign(net.Socket.prototype, { connect: socketConnect });
Object.assign(net.Server.prototype, { listen: serverListen });
Object.assign(tls, { connect: tlsConnect, TLSSocket });
Object.defineProperty(net.Socket, Symbol.hasInstance, { value: hasInstance, configurable: true });
// Loading http2 takes some milliseconds. A process without targets does not need it.
if (runtime.lists) {
  const http2 = require('node:http2') as { connect: Call & { [promisify.custom]: Call } };
  const http2Connect = Object.assign(adapting(http2.connect), { [promisify.custom]: adapting(http2.connect[promisify.custom]) });
  Object.assign(http2, { connect: http2Connect });
}
syncBuiltinESMExports();
