/**
 * One TCP connection of a flow: a stock `net.Socket`.
 * The bytes go directly to the owner, without a second stream buffer. The end of stream is reliable.
 *
 * In JavaScript, a reset that arrives together with data can look like a clean end of the stream.
 * For such a reset, libuv reports the data, and then EOF in the same turn of the event loop. Two checks find the truth.
 * Before our own FIN is sent, the kernel knows the peer's address after a FIN, but not after a reset.
 * After our FIN, one more read returns EOF again after a FIN, and ECONNRESET after a reset.
 */
import net = require('node:net');

export interface LegOwner {
  /** Called with received bytes. @returns false to stop reading until `resume()`. */
  legData(leg: Leg, chunk: Buffer): boolean;
  /** Called when the peer's FIN and all bytes before it were read. */
  legEof(leg: Leg): void;
  /** Called when the connection failed. This is the last call, and happens at most once. */
  legFailed(leg: Leg, error: Error): void;
  /** Called when the file descriptor is closed. */
  legClosed(leg: Leg): void;
}

const LEG = Symbol('repnet leg');

/** Socket of a connection, with the parts of its handle that are used here. */
type LegSocket = net.Socket & {
  _handle: { fd: number; readStart(): number; getpeername(name: object): number } | null;
  [LEG]: Leg;
};

/** `net.Socket` in the form that its own stream uses. */
interface Vectored {
  _writev(items: Array<{ chunk: Buffer; encoding: string }> & { allBuffers: boolean }, done: (error?: Error | null) => void): void;
}

const asItem = (chunk: Buffer) => ({ chunk, encoding: 'buffer' });

/**
 * Largest number of received bytes up to which turns of the event loop are counted.
 * Counting needs an additional turn of the loop.
 * The cost is acceptable for short flows, but not for every chunk of a long flow.
 */
const COUNTED_BYTES = 65_536;
const UNKNOWN_TURN = -2;

let turn = 0;
let counting = false;

/** Returns the number of the present turn of the event loop. The number increases after the loop has polled. */
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
  /** Number of bytes of the application that this connection has received. */
  received = 0;
  /** Number of received bytes that no other connection had delivered before. */
  fresh = 0;
  /** Whether the peer's FIN was read. */
  eof = false;
  /** Whether our FIN and all bytes before it were passed to the kernel. */
  finished = false;
  /**
   * Number of the archive's chunks that were sent before the connection was established.
   * `undefined`: the connection sends chunks only after it is established.
   */
  ahead: number | undefined;
  #soon: Buffer | undefined;
  #stopped = false;
  /** Number of bytes that libuv has and that the kernel has not accepted yet. */
  #passed = 0;
  #endHeld = false;
  #flushedEnd: (() => void) | undefined;
  #readAgain = false;
  /** Number of the event loop's turn in which the last data arrived. */
  #dataTurn = -1;

  constructor(socket: net.Socket, index: 0 | 1, owner: LegOwner) {
    this.socket = socket;
    this.index = index;
    this.owner = owner;
    socket.allowHalfOpen = true;
    // All connections share one set of functions, which find their leg on the socket.
    // Separate closures for each connection would make short flows slower.
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

  /** Turns the connection into a stock socket again. @param rest bytes that were already read */
  release(rest: Buffer): net.Socket {
    const { socket } = this;
    // `delete` is not used, because V8 would then treat the object as a dictionary.
    socket.push = net.Socket.prototype.push;
    socket.off('error', Leg.#failed);
    socket.off('close', Leg.#closed);
    if (rest.length > 0) socket.push(rest);
    return socket;
  }

  /** Number of bytes that wait in user space. */
  get queued(): number {
    return this.socket.writableLength + this.#passed;
  }

  /**
   * Sends all chunks in one write.
   * `flushed` is called when the kernel has accepted them, often before this method returns.
   * If the socket is connected, the bytes skip its stream buffer.
   * These bytes have already passed the stream buffer of the application's socket.
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

  /** Sends bytes together with the next write, or at the end of this turn of the event loop. */
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

  /** Sends a FIN after all bytes that were sent before. */
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

  /**
   * Closes the connection with a reset.
   * A FIN would be wrong here, because the peer would mistake it for the end of the stream.
   */
  reset(): void {
    resetSocket(this.socket);
  }

  /** Closes the connection like `net.Socket.destroy()`. */
  close(): void {
    this.#sendNow();
    this.socket.destroy();
  }

  /** Gives the connection to `owner`, which closes it later. It does not keep the process alive any more. */
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

  /** Returns whether an end of stream that arrives now arrived without data. */
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

/**
 * Socket with the internal method that `resetAndDestroy()` calls.
 * Unlike `resetAndDestroy()`, the method does not wait until the connection is established.
 */
type ResettableSocket = net.Socket & { _reset(): unknown };

/**
 * Resets a socket. It also works in two cases where `resetAndDestroy()` does not send a reset.
 * While the socket connects, closing would send a FIN if the kernel has already established the connection.
 * While a FIN is being sent, the kernel would refuse the reset with EINVAL, and the descriptor would stay open forever.
 */
export function resetSocket(socket: net.Socket): void {
  if (socket.destroyed) return;
  const descriptor = (socket as LegSocket)._handle?.fd ?? -1;
  if (socket.writableEnded && !socket.writableFinished && socket.writableLength === 0 && !socket.connecting) {
    socket.once('finish', () => resetSocket(socket));
  } else if (descriptor >= 0) (socket as ResettableSocket)._reset();
  else socket.destroy();
}
