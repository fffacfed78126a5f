/**
 * Front for a stock socket. An application may create a stock `net.Socket` itself (`new net.Socket().connect(...)`, as
 * pg and mysql2 do), and this object cannot become another object. So the stock socket stays as a front, and a
 * replicated socket behind it does all the work.
 */
import type net = require('node:net');

import type { ReplicatedSocket } from './socket';

type Done = (error?: Error | null) => void;

const behind = new WeakMap<object, ReplicatedSocket>();

/**
 * Returns a value that was set on a stock socket before it was connected. Node stores the value under a symbol that is
 * not exported.
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

/** Connects `front` with `socket`, which must allow half-open connections and must not be connected yet. */
export function graft(front: net.Socket, socket: ReplicatedSocket): void {
  behind.set(front, socket);
  carryOver(front, socket);
  mirror(front, socket, [...NAMES, ...STATE]);
  Object.defineProperty(front, 'bytesWritten', { get: () => socket.bytesWritten + front.writableLength, configurable: true });
  for (const event of FORWARDED) socket.on(event, (...args: unknown[]) => void front.emit(event, ...args));
  Object.assign(front, {
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
    _write: (chunk: Buffer, encoding: BufferEncoding, done: Done) => void socket.write(chunk, encoding, done),
    _writev(items: Array<{ chunk: Buffer; encoding: BufferEncoding }>, done: Done) {
      socket.cork();
      items.forEach(({ chunk, encoding }, index) => {
        socket.write(chunk, encoding, index === items.length - 1 ? done : undefined);
      });
      socket.uncork();
    },
    _final: (done: Done) => void socket.end(done),
    _destroy(error: Error | null, done: Done) {
      const closed = (): void => {
        done(error);
        process.nextTick(() => front.emit('close', error !== null));
      };
      if (socket.closed) closed();
      else socket.once('close', closed);
      socket.destroy();
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (!front.push(chunk)) socket.pause();
  });
  socket.on('end', () => {
    front.push(null);
    front.read(0);
  });
  socket.on('error', (error) => front.destroy(error));
  socket.on('close', () => {
    if (!front.destroyed && !front.readableEnded) front.destroy();
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
    socket.setTimeout(timeout);
  }
}

/**
 * Returns the replicated socket behind a front when TLS takes over the socket and its bytes. The front still reports
 * errors and the end. Any other socket is returned unchanged.
 */
export function takeOver<Given extends { allowHalfOpen?: boolean }>(front: Given): Given | ReplicatedSocket {
  const socket = behind.get(front);
  if (socket === undefined) return front;
  socket.removeAllListeners('data');
  socket.removeAllListeners('end');
  socket.removeAllListeners('timeout');
  socket.pause();
  socket.allowHalfOpen = front.allowHalfOpen === true;
  return socket;
}
