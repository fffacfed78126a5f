/**
 * Front for a stock socket. An application may create a stock `net.Socket` itself, as pg and mysql2 do.
 * The application keeps this object, so repnet cannot replace it.
 * So the stock socket stays as a front, and a replicated socket behind it does all the work.
 */
import type net = require('node:net');

import type { ReplicatedSocket } from './socket';

type Done = (error?: Error | null) => void;

/** Present connection of a front. */
interface Graft {
  readonly socket: ReplicatedSocket;
  /** Properties that the front had itself before, by name. `undefined`: the front had no property of this name. */
  readonly before: ReadonlyMap<string, PropertyDescriptor | undefined>;
}

const behind = new WeakMap<object, Graft>();

/**
 * Returns a value that was set on a stock socket before it was connected.
 * Node stores the value under a symbol that is not exported.
 */
function remembered(front: net.Socket, description: string): unknown {
  const symbol = Object.getOwnPropertySymbols(front).find((candidate) => candidate.description === description);
  return symbol === undefined ? undefined : (front as unknown as Record<symbol, unknown>)[symbol];
}

/** Names of address properties that are read from the replicated socket. */
const NAMES = ['remoteAddress', 'remoteFamily', 'remotePort', 'localAddress', 'localFamily', 'localPort'] as const;
const STATE = ['connecting', 'pending', 'bytesRead', 'autoSelectFamilyAttemptedAddresses'] as const;

/** Methods of the replicated socket that return the front. */
const CHAINED = ['setNoDelay', 'setKeepAlive', 'ref', 'unref'] as const;

/** Makes a socket without its own connection show properties of the replicated socket behind it. */
export function mirror(front: net.Socket, socket: ReplicatedSocket, names: ReadonlyArray<keyof ReplicatedSocket> = NAMES): void {
  for (const name of names) Object.defineProperty(front, name, { get: () => socket[name], set: () => {}, configurable: true });
  for (const name of CHAINED) {
    const method = socket[name] as (...args: unknown[]) => unknown;
    Object.assign(front, {
      [name](...args: unknown[]) {
        method.apply(socket, args);
        return front;
      },
    });
  }
}

/** Events that the front emits for the application. Data, end, error and close are forwarded elsewhere. */
const FORWARDED = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout', 'connect', 'ready', 'timeout'];

/** Stock socket with the internal method that makes a destroyed stream usable again. */
type Reusable = net.Socket & { _undestroy(): void };

/** Connects `front` with `socket`, which must allow half-open connections and must not be connected yet. */
export function graft(front: net.Socket, socket: ReplicatedSocket): void {
  prune(front);
  carryOver(front, socket);
  const before = Object.getOwnPropertyDescriptors(front) as Record<string, PropertyDescriptor>;
  const own = override(front, socket);
  mirror(front, socket, [...NAMES, ...STATE]);
  behind.set(front, { socket, before: new Map([...own, ...NAMES, ...STATE, ...CHAINED].map((name) => [name, before[name]])) });
  forward(front, socket);
}

/** Makes a front a stock socket again, which may be connected again. */
export function prune(front: net.Socket): void {
  const { before } = behind.get(front) ?? {};
  if (before) {
    behind.delete(front);
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(front, name, descriptor);
      else Reflect.deleteProperty(front, name);
    }
    // After the peer's end, Node replaces this method on the socket itself, and `connect()` restores it.
    Reflect.deleteProperty(front, 'write');
  }
  if (front.destroyed) (front as Reusable)._undestroy();
}

/** Replaces the parts of the front that work on a connection. @returns the names of these parts */
function override(front: net.Socket, socket: ReplicatedSocket): string[] {
  /** Number of waiting bytes that both the front and the socket behind it count. */
  let passed = 0;
  const counted = (bytes: number, done: Done): Done => {
    passed += bytes;
    return (error) => {
      passed -= bytes;
      done(error);
    };
  };
  const parts = {
    address: () => socket.address(),
    resetAndDestroy() {
      socket.resetAndDestroy();
      front.destroy();
      return front;
    },
    setTimeout(timeout: number, callback?: () => void) {
      socket.setTimeout(timeout);
      Object.assign(front, { timeout });
      if (callback && timeout === 0) front.removeListener('timeout', callback);
      else if (callback) front.once('timeout', callback);
      return front;
    },
    _read: () => socket.resume(),
    _write: (chunk: Buffer, encoding: BufferEncoding, done: Done) => void socket.write(chunk, encoding, counted(chunk.length, done)),
    _writev(items: Array<{ chunk: Buffer; encoding: BufferEncoding }>, done: Done) {
      const bytes = items.reduce((sum, { chunk }) => sum + chunk.length, 0);
      socket.cork();
      items.forEach(({ chunk, encoding }, index) => {
        socket.write(chunk, encoding, index === items.length - 1 ? counted(bytes, done) : undefined);
      });
      socket.uncork();
    },
    _final: (done: Done) => void socket.end(done),
    _destroy(error: Error | null, done: Done) {
      socket.destroy();
      done(error);
      if (over) setImmediate(() => front.emit('close', error !== null));
      else socket.once('close', () => front.emit('close', error !== null));
    },
  };
  // The stream behind the front is in the state "closed" as soon as it is destroyed.
  let over = false;
  socket.once('close', () => {
    over = true;
  });
  Object.assign(front, parts);
  const counts = {
    bytesWritten: () => socket.bytesWritten + front.writableLength - passed,
    bufferSize: () => (front.destroyed ? undefined : front.writableLength),
  };
  for (const [name, get] of Object.entries(counts)) Object.defineProperty(front, name, { get, configurable: true });
  return [...Object.keys(parts), ...Object.keys(counts)];
}

/** Passes the events of the socket to the front, until the front is connected anew. */
function forward(front: net.Socket, socket: ReplicatedSocket): void {
  const present = (): boolean => behind.get(front)?.socket === socket;
  for (const event of FORWARDED) socket.on(event, (...args: unknown[]) => void (present() && front.emit(event, ...args)));
  socket.on('data', (chunk: Buffer) => {
    if (present() && !front.push(chunk)) socket.pause();
  });
  socket.on('end', () => {
    if (!present()) return;
    front.push(null);
    front.read(0);
  });
  socket.on('error', (error) => {
    if (present()) front.destroy(error);
  });
  socket.on('close', () => {
    if (present() && !front.destroyed && !front.readableEnded) front.destroy();
  });
}

/** Applies all options that the application has already set on the front. */
function carryOver(front: net.Socket, socket: ReplicatedSocket): void {
  if (remembered(front, 'kSetNoDelay') === true) socket.setNoDelay(true);
  if (remembered(front, 'kSetKeepAlive') === true) {
    // Node stores this delay in seconds.
    socket.setKeepAlive(true, Number(remembered(front, 'kSetKeepAliveInitialDelay') ?? 0) * 1000);
  }
  const { timeout } = front;
  if (timeout !== undefined && timeout > 0) {
    front.setTimeout(0);
    Object.assign(front, { timeout });
    socket.setTimeout(timeout);
  }
}

/**
 * Returns the replicated socket behind a front when TLS takes over the socket and its bytes.
 * The front still reports errors and the end. Any other socket is returned unchanged.
 */
export function takeOver<Given extends { allowHalfOpen?: boolean }>(front: Given): Given | ReplicatedSocket {
  const { socket } = behind.get(front) ?? {};
  if (socket === undefined) return front;
  socket.removeAllListeners('data');
  socket.removeAllListeners('end');
  socket.removeAllListeners('timeout');
  socket.pause();
  socket.allowHalfOpen = front.allowHalfOpen === true;
  return socket;
}
