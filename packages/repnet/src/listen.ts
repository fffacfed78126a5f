/**
 * `listen()` on two ports. If the application requests the replica port, both ports are opened, or neither.
 * Otherwise, the plain port is opened alone if the replica port is not available.
 * The application's server is still a stock server.
 * The server's events are delayed until the result for the replica port is known.
 */
import cluster from 'node:cluster';

import crypto = require('node:crypto');
import type net = require('node:net');

import { readFlowSettings } from './config';
import { ReplicaListener } from './replica-listener';
import { runtime } from './runtime';
import type { FlowSettings } from './settings';
import { counters } from './stats';
import { stock } from './stock';

/**
 * Largest number of ports that `listen(0)` gets from the kernel.
 * The search stops earlier, at a port whose next port is free.
 */
const KERNEL_TRIES = 16;
/**
 * Number of random ports that `listen(0)` tries if the kernel's ports fail.
 * These ports are below the ports that Linux uses for outgoing connections.
 * With many outgoing connections (TIME_WAIT included), almost half of Linux's ports are taken.
 */
const OWN_TRIES = 64;
const OWN_PORTS = { from: 15_000, to: 32_000 };

type ServerCall = false | Partial<FlowSettings> | undefined;
type Emit = (this: net.Server, event: string | symbol, ...args: unknown[]) => boolean;
type StockListen = (this: net.Server, ...args: unknown[]) => net.Server;
const stockListen = stock.Server.prototype.listen as unknown as StockListen;

export interface ListenTarget {
  port: number;
  host: string | undefined;
  backlog: number | undefined;
  ipv6Only: boolean | undefined;
  call: ServerCall;
}

/**
 * Reads the arguments of `listen()`.
 * @returns `undefined` if they do not request a plain TCP port, but (for example) a path, a descriptor or a handle
 */
export function readListenArguments(args: readonly unknown[]): ListenTarget | undefined {
  const [first, second, third] = args;
  if (args.length === 0 || typeof first === 'function')
    return { port: 0, host: undefined, backlog: undefined, ipv6Only: undefined, call: undefined };
  if (typeof first === 'object' && first !== null) {
    const options = first as net.ListenOptions & {
      fd?: number;
      _handle?: unknown;
      handle?: unknown;
      reusePort?: boolean;
      repnet?: ServerCall;
    };
    const special = options.path ?? options.fd ?? options.handle ?? options._handle;
    if (special !== undefined || options.exclusive || options.reusePort || options.port === undefined) return undefined;
    const port = portOf(options.port);
    if (port === undefined) return undefined;
    const { host, backlog, ipv6Only, repnet } = options;
    return { port, host, backlog, ipv6Only, call: repnet };
  }
  const port = portOf(first);
  if (port === undefined) return undefined;
  const host = typeof second === 'string' ? second : undefined;
  const backlog = typeof second === 'number' ? second : typeof third === 'number' ? third : undefined;
  return { port, host, backlog, ipv6Only: undefined, call: undefined };
}

function portOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return undefined;
  const port = Number(value);
  return Number.isInteger(port) && port >= 0 && port <= 65535 ? port : undefined;
}

/** Returns whether the configuration requests a second listener for this port. */
function wanted(port: number, call: ServerCall): boolean {
  if (call !== undefined) return call !== false;
  const { listen } = runtime.config;
  return listen === 'all' || (Array.isArray(listen) && listen.includes(port));
}

/**
 * Replica ports that the application did not request, by number (`listen: 'all'`, the default).
 * If a server of this process wants to listen on such a port itself, the server gets the port.
 * So applications that listen on neighbouring ports work as with `net`.
 */
const yielding = new Map<number, ReplicaListener>();

/** Listens like `server.listen(...args)`, and opens the replica port if it is possible and requested. */
export function listen<S extends net.Server>(server: S, args: unknown[], made: ServerCall): S {
  const target = readListenArguments(args);
  const call = target?.call ?? made;
  if (target && target.port > 0) yielding.get(target.port)?.close();
  const passThrough = !target || cluster.isWorker || server.listening || !wanted(target.port, call);
  if (passThrough || replicaPort(target.port, call || undefined) > 65535) {
    if (target) counters.servers.plain++;
    return stockListen.apply(server, args) as S;
  }
  new PairedListen(server, target, args, call || undefined).start();
  return server;
}

function replicaPort(port: number, call: Partial<FlowSettings> | undefined): number {
  return call?.replicaPort ?? port + 1;
}

const METHODS = ['emit', 'close', 'ref', 'unref', Symbol.asyncDispose] as const;
type Method = (typeof METHODS)[number];

/** Server with the method that `listen()` calls when it has the address. Node keeps this old name. */
type ServerWithListen2 = net.Server & {
  _listen2(address: string, port: number, family: 4 | 6, backlog: number, fd: undefined, flags: number): void;
};
/** Default length of Node's queue of connections. */
const BACKLOG = 511;
/** Flag of libuv for sockets that accept only IPv6. */
const IPV6_ONLY = 1;

/** Present listeners of each server. */
const current = new WeakMap<net.Server, PairedListen>();

class PairedListen {
  readonly #server: net.Server;
  readonly #target: ListenTarget;
  readonly #args: unknown[];
  readonly #call: Partial<FlowSettings> | undefined;
  readonly #methods: Pick<net.Server, Method>;
  readonly #own: readonly Method[];
  #replica: ReplicaListener | undefined;
  #tries = 0;
  #ready = false;
  #announced = false;
  /** Whether the event 'listening' was delayed. */
  #heldListening = false;
  #abandoned = 0;
  #closeHeld = false;
  #replicaOpen = false;
  #failure: Error | undefined;
  #unref = false;

  constructor(server: net.Server, target: ListenTarget, args: unknown[], call: Partial<FlowSettings> | undefined) {
    this.#server = server;
    this.#target = target;
    this.#args = args;
    this.#call = call === undefined ? undefined : readFlowSettings('option "repnet"', call);
    // If a server is closed and listens again before it emits 'close', Node does not emit this event.
    // So the earlier pair of listeners ends here.
    current.get(server)?.leave();
    current.set(server, this);
    const { emit, close, ref, unref, [Symbol.asyncDispose]: dispose } = server;
    this.#methods = { emit, close, ref, unref, [Symbol.asyncDispose]: dispose };
    this.#own = METHODS.filter((name) => Object.hasOwn(server, name));
  }

  /** Restores the original methods of the server. */
  leave(): void {
    this.#restore();
  }

  start(): void {
    const server = this.#server;
    server.emit = (event: string | symbol, ...args: unknown[]) => this.#emit(event, args);
    server.close = (callback?: (error?: Error) => void) => {
      this.#replica?.close();
      return this.#methods.close.call(server, callback);
    };
    // http2 has its own method, which does not call close().
    server[Symbol.asyncDispose] = () => {
      this.#replica?.close();
      return this.#methods[Symbol.asyncDispose].call(server);
    };
    server.ref = () => this.#setRef(true);
    server.unref = () => this.#setRef(false);
    this.#listen(this.#args);
  }

  #setRef(ref: boolean): net.Server {
    this.#unref = !ref;
    if (ref) this.#replica?.server.ref();
    else this.#replica?.server.unref();
    return (ref ? this.#methods.ref : this.#methods.unref).call(this.#server);
  }

  #restore(): void {
    const server: Partial<net.Server> = this.#server;
    for (const name of METHODS) delete server[name];
    for (const name of this.#own) Object.assign(server, { [name]: this.#methods[name] });
  }

  #listen(args: unknown[]): void {
    try {
      stockListen.apply(this.#server, args);
    } catch (error) {
      this.#restore();
      throw error;
    }
    if (this.#server.listening) this.#listenReplica();
  }

  /**
   * Returns the arguments of the next try. The callback and the signal are left out: the first try has registered them.
   */
  #nextArguments(): unknown[] {
    const port = this.#tries <= KERNEL_TRIES ? 0 : crypto.randomInt(OWN_PORTS.from, OWN_PORTS.to);
    const [first, ...rest] = typeof this.#args.at(-1) === 'function' ? this.#args.slice(0, -1) : this.#args;
    return typeof first === 'object' ? [{ ...first, port, signal: undefined }, ...rest] : [port, ...rest];
  }

  /**
   * Opens the replica port after port N was bound.
   * Without a host, all steps happen immediately, as in Node's `listen()`.
   */
  #listenReplica(): void {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) return;
    const { host, backlog, ipv6Only } = this.#target;
    const port = replicaPort(address.port, this.#call);
    const replica = new ReplicaListener(this.#server, address.port, { ...runtime.config, ...this.#call });
    this.#replica = replica;
    if (this.#unref) replica.server.unref();
    if (port > 65535) {
      this.#replicaFailed(replica, Object.assign(new Error(`listen EADDRINUSE: no port after ${address.port}`), { code: 'EADDRINUSE' }));
      return;
    }
    replica.server.on('error', (error: NodeJS.ErrnoException) => this.#replicaFailed(replica, error));
    if (this.#call === undefined && runtime.config.listen === 'all' && replica.pairing === 'hello') {
      yielding.set(port, replica);
      replica.server.on('close', () => yielding.get(port) === replica && yielding.delete(port));
    }
    replica.server.on('close', () => this.#replicaClosed());
    // The address is known, so no lookup is necessary.
    // The port is exclusive, because no worker of a cluster reaches this line.
    if (host === undefined) replica.server.listen({ port, backlog, ipv6Only, exclusive: true });
    else {
      const inside = replica.server as ServerWithListen2;
      inside._listen2(address.address, port, address.family === 'IPv6' ? 6 : 4, backlog ?? BACKLOG, undefined, ipv6Only ? IPV6_ONLY : 0);
    }
    if (replica.server.listening) this.#replicaBound();
    else if (this.#mayRetry) this.#retry();
  }

  #replicaBound(): void {
    const server = this.#server as net.Server & { _connectionKey?: string };
    // Node's key for a server contains the requested port.
    if (this.#target.port === 0) server._connectionKey = server._connectionKey?.replace(/\d+$/, '0');
    this.#ready = true;
    this.#replicaOpen = true;
    counters.servers.paired++;
  }

  get #mayRetry(): boolean {
    return this.#target.port === 0 && this.#tries < KERNEL_TRIES + OWN_TRIES;
  }

  #retry(): void {
    this.#tries++;
    this.#replica = undefined;
    if (this.#server.listening) this.#abandonPort();
    this.#listen(this.#nextArguments());
  }

  /** Closes port N without events. */
  #abandonPort(): void {
    this.#abandoned++;
    this.#methods.close.call(this.#server);
  }

  #replicaFailed(replica: ReplicaListener, error: NodeJS.ErrnoException): void {
    if (replica !== this.#replica || this.#ready) return;
    if (error.code === 'EADDRINUSE' && this.#mayRetry) {
      this.#retry();
      return;
    }
    this.#replica = undefined;
    if (this.#isAskedFor) {
      this.#failure = error;
      this.#abandonPort();
    } else this.#goPlain(error);
  }

  /**
   * Whether the call or the configuration requests a replica port. The server must not run without a requested port.
   */
  get #isAskedFor(): boolean {
    return this.#call !== undefined || Array.isArray(runtime.config.listen);
  }

  /** Makes the server work without repnet, because another program uses the replica port. */
  #goPlain({ message }: Error): void {
    const address = this.#server.address() as net.AddressInfo;
    const text = `port ${address.port} has no replica port (${message}): flows to it run plain`;
    process.emitWarning(text, { type: 'RepnetWarning', code: 'REPNET_NO_REPLICA_PORT' });
    counters.servers.plain++;
    this.#restore();
    if (this.#heldListening) this.#server.emit('listening');
  }

  #replicaClosed(): void {
    this.#replicaOpen = false;
    if (!this.#closeHeld) return;
    this.#restore();
    this.#server.emit('close');
  }

  #emit(event: string | symbol, args: unknown[]): boolean {
    const pass = () => (this.#methods.emit as Emit).call(this.#server, event, ...args);
    switch (event) {
      case 'listening':
        return this.#listening(pass);
      case 'close':
        return this.#close(pass);
      case 'error':
        return this.#error(args[0] as NodeJS.ErrnoException, pass);
      case 'connection':
        return this.#connection(args[0], pass);
      default:
        return pass();
    }
  }

  #listening(pass: () => boolean): boolean {
    if (this.#announced) return false;
    if (!this.#replica && this.#server.listening) this.#listenReplica();
    if (!this.#ready) {
      this.#heldListening = true;
      return false;
    }
    this.#announced = true;
    const heard = pass();
    // The primary process of a cluster listens for its workers.
    // The workers get the connections, and have no replica port.
    if (!this.#server.listening && this.#replica) {
      counters.servers.paired--;
      counters.servers.plain++;
      this.#replica.close();
    }
    return heard;
  }

  /** Handles an error: port N could not be bound, or a later step failed. */
  #error(error: NodeJS.ErrnoException, pass: () => boolean): boolean {
    if (this.#announced) return pass();
    if (error.code === 'EADDRINUSE' && this.#tries > KERNEL_TRIES && this.#mayRetry) {
      this.#retry();
      return true;
    }
    this.#restore();
    return pass();
  }

  #close(pass: () => boolean): boolean {
    if (this.#abandoned > 0) {
      this.#abandoned--;
      if (!this.#failure || this.#abandoned > 0) return false;
      this.#restore();
      return this.#server.emit('error', this.#failure);
    }
    if (this.#replicaOpen) {
      this.#closeHeld = true;
      return false;
    }
    this.#restore();
    return pass();
  }

  #connection(socket: unknown, pass: () => boolean): boolean {
    if (this.#replica?.pairing !== 'port' || !(socket instanceof stock.Socket)) return pass();
    this.#replica.acceptPlain(0, socket);
    return true;
  }
}
