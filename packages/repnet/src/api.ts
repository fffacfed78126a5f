/**
 * Replacements for functions of Node's `net`. Replacements call the original function for targets that are not listed.
 * They replicate connections to listed targets.
 */
import dns = require('node:dns');
import net = require('node:net');

import type { Target } from './dialer';
import { listen } from './listen';
import { type CallSettings, readCall, runtime } from './runtime';
import type { FlowSettings } from './settings';
import { ReplicatedSocket, type ReplicatedSocketOptions } from './socket';
import { publishClient } from './socket-channels';
import { FlowHandle } from './socket-parts';
import { stock } from './stock';

/** Option that repnet's `connect()` has in addition to the options of `net.connect()`. */
export interface ReplicationOption {
  /** Mode or settings of this flow. The option also makes the target a listed target. `"off"`: one plain connection. */
  repnet?: CallSettings;
}

/** Option that repnet's `createServer()` and `listen()` have in addition to the options of `net`. */
export interface ServerReplicationOption {
  /** `false`: the server opens no replica port. An object: settings for the flows of this server. */
  repnet?: false | Partial<FlowSettings>;
}

type Callback = () => void;
type ConnectOptions = net.TcpNetConnectOpts & ReplicationOption & { fd?: number; handle?: unknown };

interface ConnectCall {
  options: ConnectOptions;
  callback: Callback | undefined;
}

/**
 * Reads the arguments of `connect`, or the array that Node makes of them.
 * The forms are `(port[, host][, callback])`, `(path[, callback])` and `(options[, callback])`.
 */
function readConnectArguments(args: readonly unknown[]): ConnectCall | undefined {
  const [first, second] = args;
  // Node marks its own argument array with a symbol. Any other array is an object with unknown options.
  if (Array.isArray(first)) return Object.getOwnPropertySymbols(first).length > 0 ? readConnectArguments(first) : undefined;
  const last = args.at(-1);
  const callback = typeof last === 'function' ? (last as Callback) : undefined;
  if (typeof first === 'object' && first !== null) return { options: first as ConnectOptions, callback };
  if (typeof first === 'string' && !(Number(first) >= 0)) return { options: { path: first } as unknown as ConnectOptions, callback };
  if (typeof first !== 'number' && typeof first !== 'string') return undefined;
  const options: ConnectOptions = { port: first as number };
  if (typeof second === 'string') options.host = second;
  return { options, callback };
}

const STREAM_MODES = ['objectMode', 'readableObjectMode', 'writableObjectMode'];

/**
 * Returns whether Node accepts these options. Invalid options go to Node unchanged, so that Node throws its own error.
 */
function isOrdinary(options: ConnectOptions): boolean {
  const { port, host, lookup, autoSelectFamily, autoSelectFamilyAttemptTimeout: attempt, localAddress } = options;
  const given = options as unknown as Record<string, unknown>;
  return (
    (typeof port === 'number' || (typeof port === 'string' && (port as string).trim() !== '')) &&
    (host === undefined || (typeof host === 'string' && !host.includes('\0'))) &&
    (lookup == null || typeof lookup === 'function') &&
    (autoSelectFamily == null || typeof autoSelectFamily === 'boolean') &&
    (attempt == null || (Number.isInteger(attempt) && attempt > 0 && attempt < 2 ** 31)) &&
    (localAddress == null || net.isIP(localAddress) !== 0) &&
    !STREAM_MODES.some((mode) => given[mode])
  );
}

/** Returns the target of a call. Returns `undefined` if Node has to throw an error for the call. */
function targetOf({ options }: ConnectCall): Target | undefined {
  const { path } = options as { path?: unknown };
  // The agent of http sets `path: null` for every connection.
  if (path) return typeof path === 'string' ? { host: '', port: 0, options: { ...options }, settings: undefined } : undefined;
  const port = Number(options.port);
  if (!isOrdinary(options) || !Number.isInteger(port) || port < 0 || port > 65535) return undefined;
  const { host = 'localhost' } = options;
  const special = options.localPort != null || options.onread != null || options.fd != null || options.handle != null;
  const settings = special ? undefined : runtime.settingsFor(host, port, options.repnet);
  const usable = settings && port > 0 && (settings.replicaPort ?? port + 1) <= 65535;
  return { host, port, options: { ...options, port }, settings: usable ? settings : undefined };
}

function connectReplicated<Socket extends ReplicatedSocket>(socket: Socket, call: ConnectCall, target: Target): Socket {
  const { callback } = call;
  if (callback) socket.once('connect', callback);
  return socket.dial(target);
}

/** Returns the listed target of a `connect()` call. Returns `undefined` if Node has to handle the call. */
export function replicatedTarget(args: readonly unknown[]): { call: ConnectCall; target: Target } | undefined {
  const call = readConnectArguments(args);
  if (!call || (call.options.repnet === undefined && !runtime.lists)) return undefined;
  const target = targetOf(call);
  return target?.settings ? { call, target } : undefined;
}

/** Replacement for `net.connect()`. It returns a stock `net.Socket` unless the target is listed. */
export function connect(...args: unknown[]): net.Socket {
  const named = replicatedTarget(args);
  if (!named) return (stock.connect as (...args: unknown[]) => net.Socket)(...args);
  const { options } = named.target;
  const socket = new ReplicatedSocket(options as ReplicatedSocketOptions);
  publishClient(asNetSocket(socket), true);
  if (options.timeout !== undefined) socket.setTimeout(options.timeout);
  return asNetSocket(connectReplicated(socket, named.call, named.target));
}

/** Returns a replicated socket with the type `net.Socket`. A type test checks that it has the whole interface. */
export function asNetSocket(socket: ReplicatedSocket): net.Socket {
  return socket as unknown as net.Socket;
}

ReplicatedSocket.connector = (socket, args) => {
  const call = readConnectArguments(args);
  const target = call && targetOf(call);
  if (!call || !target) {
    // An argument is wrong, so this call of the stock method makes Node throw its own error.
    new stock.Socket().connect(...(args as [net.SocketConnectOpts])).destroy();
    throw new TypeError('connect() got arguments that repnet does not know');
  }
  publishClient(asNetSocket(socket), false);
  return connectReplicated(socket, call, target);
};

/** Returns whether a socket with these options must be a stock socket. */
function needsStock(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return typeof options === 'number';
  const { fd, handle, onread } = options as { fd?: unknown; handle?: unknown; onread?: unknown };
  if (handle instanceof FlowHandle) throw new TypeError('the connections of a replicated flow cannot be given to another socket');
  return fd != null || handle != null || onread != null;
}

function constructSocket(target: unknown, args: unknown[]): object {
  const [options] = args as [(net.SocketConstructorOpts & ReplicationOption) | undefined];
  const call = typeof options === 'object' && options !== null ? options.repnet : undefined;
  if (call !== undefined) readCall(call);
  if (target !== Socket) return Reflect.construct(stock.Socket, args, target as new () => net.Socket);
  if (needsStock(options) || (call === undefined ? !runtime.lists : call === 'off')) return Reflect.construct(stock.Socket, args);
  return new ReplicatedSocket(options as ReplicatedSocketOptions);
}

/**
 * Replacement for `net.Socket`.
 * If targets are listed, `new` creates a socket that decides at `connect()` whether to replicate.
 * Without targets, or with the options `fd`, `handle` or `onread`, `new` creates a stock socket.
 * A subclass of this class is a subclass of the stock class.
 */
export const Socket = new Proxy(stock.Socket, {
  construct: (_stock, args, target) => constructSocket(target, args),
  get(_stock, key, receiver) {
    if (key === Symbol.hasInstance) return hasInstance;
    return Reflect.get(stock.Socket, key, receiver === Socket ? stock.Socket : receiver);
  },
}) as typeof net.Socket;

function hasInstance(this: unknown, value: unknown): boolean {
  if (this !== Socket) return Function.prototype[Symbol.hasInstance].call(this as never, value);
  return value instanceof stock.Socket || value instanceof ReplicatedSocket;
}

/** Server like `net.Server`. Its `listen()` also opens the replica port. */
class ReplicatedServer extends stock.Server {
  readonly #call: ServerReplicationOption['repnet'];

  constructor(...args: unknown[]) {
    super(...(args as [net.ServerOpts]));
    const options = args.find((arg) => typeof arg === 'object' && arg !== null) as ServerReplicationOption | undefined;
    this.#call = options?.repnet;
  }

  override listen(...args: unknown[]): this {
    return listen(this, args, #call in this ? this.#call : undefined);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ReplicatedServer && this !== Server) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof stock.Server;
  }
}

/** As in `net`, the class can be called without `new`, also on an object that inherits from it. */
export const Server = new Proxy(ReplicatedServer, {
  apply: (_class, self: unknown, args) =>
    self instanceof stock.Server ? Reflect.apply(stock.Server, self, args) : new ReplicatedServer(...args),
}) as unknown as typeof net.Server;

export function createServer(...args: unknown[]): net.Server {
  return new ReplicatedServer(...args);
}

/**
 * Makes any Node server (http, https or tls) listen on its port and on a replica port.
 * Example: `listenReplicated(server, [8080])` replaces `server.listen(8080)`.
 */
export function listenReplicated<S extends net.Server>(server: S, args: unknown[], settings?: ServerReplicationOption['repnet']): S {
  return listen(server, args, settings);
}

/**
 * Probes the replica port of a listed target. Nothing is sent to a target that is not listed.
 * A warning then explains why the target is not listed.
 */
export async function probe(options: { host: string; port: number } & ReplicationOption): Promise<boolean> {
  const target = targetOf({ options, callback: undefined });
  if (target?.settings?.pairing !== 'hello') {
    const why = runtime.whyNotListed(options.host, options.port, options.repnet) ?? cannotBeProbed(target);
    const text = `probe(): ${options.host}, port ${options.port}, ${why}`;
    process.emitWarning(text, { type: 'RepnetWarning', code: 'REPNET_NOT_PROBED' });
    return false;
  }
  const { address } = net.isIP(target.host) ? { address: target.host } : await dns.promises.lookup(target.host);
  const port = target.settings.replicaPort ?? target.port + 1;
  // A probe does not keep the process alive, but a caller waits for its result. This timer keeps the process alive.
  const waiting = setInterval(() => {}, target.settings.legDeadline);
  const capable = await runtime.capabilities.probe(address, port, target.settings.legDeadline, target.port);
  clearInterval(waiting);
  return capable;
}

/** Returns the reason why a listed target is not probed, as the end of a sentence about the target. */
function cannotBeProbed(target: Target | undefined): string {
  if (target?.settings) return 'has pairing by port, which has no hello to probe';
  return 'is no target of a flow: the arguments are wrong, or there is no port after its port';
}
