/**
 * One TCP connection of a flow: a stock `net.Socket` whose bytes go to its owner directly instead of through a second stream buffer,
 * and whose end of stream is certain.
 *
 * A reset that arrives together with data can reach JavaScript as a clean end of stream (libuv reports the data, then EOF, in one turn of
 * the loop). As long as we have not sent our own FIN the kernel still knows the peer's name after a FIN, and no longer after a reset.
 * Otherwise one more read decides: a real FIN gives EOF again, a reset gives ECONNRESET.
 */
import net = require('node:net');

export interface LegOwner {
  /** @returns false to stop reading until `resume()`. */
  legData(leg: Leg, chunk: Buffer): boolean;
  /** The peer's FIN, and all bytes before it, have been read. */
  legEof(leg: Leg): void;
  /** The connection failed; at most once, and nothing after it. */
  legFailed(leg: Leg, error: Error): void;
  /** The file descriptor is closed. */
  legClosed(leg: Leg): void;
}

const LEG = Symbol('repnet leg');

/** A leg's `net.Socket`, with the parts of its handle that the leg needs. */
type LegSocket = net.Socket & {
  _handle: { fd: number; readStart(): number; getpeername(name: object): number } | null;
  [LEG]: Leg;
};

/** `net.Socket` as its own stream sees it. */
interface Vectored {
  _writev(items: Array<{ chunk: Buffer; encoding: string }> & { allBuffers: boolean }, done: (error?: Error | null) => void): void;
}

const asItem = (chunk: Buffer) => ({ chunk, encoding: 'buffer' });

/** Counting turns costs the loop one more of them: worth it for short flows, not for every chunk of a long one. */
const COUNTED_BYTES = 65_536;
const UNKNOWN_TURN = -2;

let turn = 0;
let counting = false;

/** A number for this turn of the event loop; it grows after the loop has polled. */
function currentTurn(): number {
  if (!counting) {
    counting = true;
    setImmediate(endTurn);
  }
  return turn;
}

function endTurn(): void {
  counting = false;
  turn++;
}

export class Leg {
  readonly socket: net.Socket;
  index: 0 | 1;
  owner: LegOwner;
  /** Bytes of the application received on this leg. */
  received = 0;
  /** Of these, bytes that no other leg had brought before. */
  fresh = 0;
  /** The peer's FIN was read. */
  eof = false;
  /** Our FIN, and everything before it, was handed to the kernel. */
  finished = false;
  /** How many chunks of the archive were sent before the leg was established; `undefined`: it waits until it is. */
  ahead: number | undefined;
  #soon: Buffer | undefined;
  #stopped = false;
  /** Bytes that libuv has and the kernel has not yet. */
  #passed = 0;
  #endHeld = false;
  #flushedEnd: (() => void) | undefined;
  #readAgain = false;
  /** The turn of the loop in which the last data came. */
  #dataTurn = -1;

  constructor(socket: net.Socket, index: 0 | 1, owner: LegOwner) {
    this.socket = socket;
    this.index = index;
    this.owner = owner;
    socket.allowHalfOpen = true;
    // One set of functions for all legs, which find theirs on the socket: closures for each would cost short flows more.
    (socket as LegSocket)[LEG] = this;
    socket.push = Leg.#pushed;
    socket.on('error', Leg.#failed);
    socket.on('close', Leg.#closed);
  }

  static #pushed(this: net.Socket, chunk: Buffer | null): boolean {
    return (this as LegSocket)[LEG].#push(chunk);
  }

  static #failed(this: net.Socket, error: Error): void {
    const leg = (this as LegSocket)[LEG];
    leg.owner.legFailed(leg, error);
  }

  static #closed(this: net.Socket): void {
    const leg = (this as LegSocket)[LEG];
    leg.owner.legClosed(leg);
  }

  /** Makes a stock socket of the connection again. @param rest bytes that were read already */
  release(rest: Buffer): net.Socket {
    const { socket } = this;
    // Not `delete`: V8 would then treat the object as a dictionary.
    socket.push = net.Socket.prototype.push;
    socket.off('error', Leg.#failed);
    socket.off('close', Leg.#closed);
    if (rest.length > 0) socket.push(rest);
    return socket;
  }

  /** Bytes that wait in user space. */
  get queued(): number {
    return this.socket.writableLength + this.#passed;
  }

  /**
   * Sends all chunks in one go; `flushed` is called when the kernel has them, often at once. A connected socket is given them past its own
   * stream buffer: what is written to a flow has been through one already.
   */
  send(chunks: readonly Buffer[], flushed?: () => void): void {
    const { socket } = this;
    if (this.#soon) {
      chunks = [this.#soon, ...chunks];
      this.#soon = undefined;
    }
    if (socket.connecting || socket.destroyed || socket.writableLength > 0) this.#sendBuffered(chunks, flushed);
    else {
      let bytes = 0;
      for (const chunk of chunks) bytes += chunk.length;
      this.#passed += bytes;
      const done = (error?: Error | null) => {
        this.#passed -= bytes;
        if (error) socket.destroy(error);
        if (socket.destroyed) return;
        flushed?.();
        if (this.#endHeld && this.#passed === 0) this.#end();
      };
      const [first] = chunks;
      if (chunks.length === 1 && first) socket._write(first, 'buffer' as BufferEncoding, done);
      else (socket as unknown as Vectored)._writev(Object.assign(chunks.map(asItem), { allBuffers: true }), done);
    }
  }

  /** Sends bytes in one go with what is sent next, at the latest at the end of this turn of the event loop. */
  sendSoon(bytes: Buffer): void {
    this.#soon = bytes;
    setImmediate(() => this.#sendNow());
  }

  #sendNow(): void {
    if (this.#soon && !this.socket.destroyed) this.send([]);
  }

  #sendBuffered(chunks: readonly Buffer[], flushed: (() => void) | undefined): void {
    const { socket } = this;
    const last = chunks.length - 1;
    socket.cork();
    for (let index = 0; index < last; index++) socket.write(chunks[index] as Buffer);
    socket.write(chunks[last] as Buffer, (error) => error ?? flushed?.());
    socket.uncork();
  }

  /** Sends a FIN after everything sent so far. */
  end(flushed: () => void): void {
    this.#sendNow();
    this.#flushedEnd = flushed;
    if (this.#passed > 0) this.#endHeld = true;
    else this.#end();
  }

  #end(): void {
    this.#endHeld = false;
    this.socket.end();
    this.socket.once('finish', () => {
      this.finished = true;
      this.#flushedEnd?.();
    });
  }

  resume(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    if (!this.socket.destroyed) this.socket._read(0);
  }

  /** Drops the connection with a reset: never a FIN, so that the peer cannot take it for the end of the stream. */
  reset(): void {
    resetSocket(this.socket);
  }

  /** Closes like `net.Socket.destroy()`. */
  close(): void {
    this.#sendNow();
    this.socket.destroy();
  }

  /** From now on `owner` has the leg, for it to finish by itself: it does not keep the process alive any more. */
  leaveTo(owner: LegOwner): void {
    this.owner = owner;
    this.socket.unref();
    this.resume();
  }

  #push(chunk: Buffer | null): boolean {
    if (chunk !== null) {
      this.#dataTurn = this.received < COUNTED_BYTES ? currentTurn() : UNKNOWN_TURN;
      const more = this.owner.legData(this, chunk);
      if (!more) this.#stopped = true;
      return more;
    }
    this.#endOfStream();
    return false;
  }

  /** Whether an end of stream now did not come together with data. */
  get #cameAlone(): boolean {
    return this.#dataTurn !== UNKNOWN_TURN && this.#dataTurn !== currentTurn();
  }

  #endOfStream(): void {
    const handle = (this.socket as LegSocket)._handle;
    if (this.eof || !handle) return;
    const certain = this.#readAgain || this.#cameAlone || (!this.socket.writableEnded && handle.getpeername({}) === 0);
    this.#readAgain = true;
    if (!certain && handle.readStart() === 0) return;
    this.eof = true;
    this.owner.legEof(this);
  }
}

/** `net.Socket` with the method behind `resetAndDestroy()`, which unlike that one does not wait for a connection in the making. */
type ResettableSocket = net.Socket & { _reset(): unknown };

/**
 * Resets, also in two cases where `resetAndDestroy()` does not: while connecting (closing then sends a FIN if the kernel has connected
 * already), and while a FIN is on its way out (the kernel would refuse with EINVAL, and the descriptor would stay open for good).
 */
export function resetSocket(socket: net.Socket): void {
  if (socket.destroyed) return;
  const descriptor = (socket as LegSocket)._handle?.fd ?? -1;
  if (socket.writableEnded && !socket.writableFinished && socket.writableLength === 0 && !socket.connecting) {
    socket.once('finish', () => resetSocket(socket));
  } else if (descriptor >= 0) (socket as ResettableSocket)._reset();
  else socket.destroy();
}
