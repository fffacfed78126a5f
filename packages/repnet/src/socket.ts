/**
 * Application's end of a flow: a Duplex with all features of a `net.Socket`.
 * The class is not a subclass of `net.Socket`, because it has no handle.
 * TLS over a `net.Socket` would wait for the handle.
 */
import net = require('node:net');
import stream = require('node:stream');

import { Dialer, type Target } from './dialer';
import type { Flow } from './flow';
import type { FlowHost } from './flow-parties';
import type { Leg } from './leg';
import { canceledWrite, FlowHandle, InactivityTimer, systemError } from './socket-parts';

export interface ReplicatedSocketOptions extends stream.DuplexOptions {
  signal?: AbortSignal;
}

/** Flow that a server accepted, with the server's data for its socket. */
export interface Accepted {
  flow: Flow;
  /** Port that the client sees. */
  port: number | undefined;
  released(): void;
  opened(): void;
}

/** Socket with methods that `net.Socket` has since Node 24. */
type TypedSocket = net.Socket & { setTypeOfService?(typeOfService: number): unknown; getTypeOfService?(): number };

/** Chunks that the stream has passed to the flow and whose callback is pending. */
interface InFlight {
  readonly chunks: readonly Buffer[];
  readonly bytes: number;
  readonly done: (error?: Error | null) => void;
  /** Whether the write was made before 'connect'. As in Node, its callback then runs after this event. */
  early: boolean;
  /** Whether the faster connection has passed the chunks to the kernel. */
  flushed: boolean;
}

export class ReplicatedSocket extends stream.Duplex implements FlowHost {
  connecting = false;
  timeout: number | undefined;
  /** Server that accepted the flow, as on a `net.Socket`. */
  server: net.Server | undefined;
  /** Addresses that the plain connection tried, as on a `net.Socket`. `undefined` unless there were several. */
  autoSelectFamilyAttemptedAddresses: string[] | undefined;
  #flow: Flow | undefined;
  #dialer: Dialer | undefined;
  #accepted: Accepted | undefined;
  #port: number | undefined;
  #inFlight: InFlight | undefined;
  #completed = 0;
  #received = 0;
  #opened = false;
  #closed = false;
  /** Whether the socket emits 'close' when all connections are closed. */
  #closing = false;
  /** Whether an error has destroyed the socket. */
  #failed = false;
  #reset = false;
  #remote: Pick<net.Socket, 'remoteAddress' | 'remoteFamily' | 'remotePort'> | undefined;
  #local: net.AddressInfo | undefined;
  /**
   * Value of `allowHalfOpen` that the application set.
   * The field is not private, because `Duplex` sets it before the fields of this class exist.
   */
  declare halfOpen: boolean;
  /** Whether TLS has taken over this socket. TLS then decides when to end its direction. */
  #takenOver = false;
  readonly #timer = new InactivityTimer(() => this.emit('timeout'));
  #noDelay: boolean | undefined;
  #keepAlive: [enable: boolean, delay: number] | undefined;
  #typeOfService: number | undefined;
  #unref = false;
  #held: Array<Buffer | null> | undefined;
  #handle: FlowHandle | undefined;

  constructor(options: ReplicatedSocketOptions = {}) {
    const { allowHalfOpen, highWaterMark, readableHighWaterMark, writableHighWaterMark, signal } = options;
    super({ allowHalfOpen: Boolean(allowHalfOpen), highWaterMark, readableHighWaterMark, writableHighWaterMark, emitClose: false });
    if (signal) stream.addAbortSignal(signal, this);
    this.on('end', () => {
      if (!this.halfOpen && !this.#takenOver) this.write = refuseWrite as typeof this.write;
    });
  }

  static {
    Object.defineProperty(ReplicatedSocket.prototype, 'allowHalfOpen', {
      /**
       * Value of `allowHalfOpen`. The stream itself reads this property only after its end. TLS reads it earlier.
       * TLS may have to answer after the end of its peer, so this stream no longer ends by itself after an early read.
       */
      get(this: ReplicatedSocket): boolean {
        if (this.readableEnded) return this.halfOpen || this.#takenOver;
        if (this.listenerCount('data') > 0) this.#takenOver = true;
        return this.halfOpen;
      },
      set(this: ReplicatedSocket, allow: boolean) {
        this.halfOpen = allow;
      },
      configurable: true,
    });
  }

  /** Creates the socket of a flow that a server accepted. */
  static accept(accepted: Accepted, options: ReplicatedSocketOptions): ReplicatedSocket {
    const socket = new ReplicatedSocket(options);
    socket.#accepted = accepted;
    socket.#port = accepted.port;
    socket.#opened = true;
    socket.useFlow(accepted.flow);
    return socket;
  }

  /** Opens the flow. The caller has checked the arguments. */
  dial(target: Target): this {
    if (this.destroyed) this.#startAnew();
    this.connecting = true;
    this.#port = target.port;
    const { options } = target;
    if (options.noDelay) this.#noDelay = true;
    if (options.keepAlive) this.#keepAlive = [true, options.keepAliveInitialDelay ?? 0];
    this.#timer.touch();
    this.#dialer = new Dialer(this, target);
    this.#dialer.start();
    return this;
  }

  #startAnew(): void {
    if (this.#inFlight) this.#abandonWrite();
    (this as unknown as { _undestroy(): void })._undestroy();
    this.write = stream.Duplex.prototype.write;
    this.#leaveFlow();
    this.#flow = undefined;
    this.#held = undefined;
    this.#received = 0;
    this.#completed = 0;
    this.#opened = false;
    this.#closed = false;
    this.#closing = false;
    this.#reset = false;
    this.#takenOver = false;
    this.#remote = undefined;
    this.#local = undefined;
  }

  /** Forgets a flow that is still closing. As in Node, its 'close' comes when its connections are closed. */
  #leaveFlow(): void {
    const flow = this.#flow;
    if (!flow || this.#closed) return;
    const failed = this.#failed;
    flow.host = {
      flowOpened: () => {},
      flowData: () => true,
      flowEof: () => {},
      flowEnded: () => {},
      legAttached: () => {},
      flowClosed: () => void this.emit('close', failed),
    };
  }

  useFlow(flow: Flow): void {
    this.#flow = flow;
    flow.host = this;
    if (this.#unref) this.unref();
    if (this.#inFlight) {
      this.#inFlight.flushed = false;
      this.#send(this.#inFlight);
    }
  }

  // Methods that the flow calls.

  flowOpened(): void {
    if (this.#accepted) {
      this.#accepted.opened();
      return;
    }
    this.connecting = false;
    this.#opened = true;
    this.#dialer?.stop();
    this.#timer.touch();
    this.emit('connect');
    this.emit('ready');
    if (this.readable && !this.isPaused()) this.read(0);
  }

  flowData(chunk: Buffer): boolean {
    if (this.#handle?.isGuarded) {
      this.destroy();
      return false;
    }
    if (this.#held) {
      this.#held.push(chunk);
      return false;
    }
    this.#received += chunk.length;
    this.#timer.touch();
    return this.push(chunk);
  }

  flowEof(): void {
    if (this.#held) {
      this.#held.push(null);
      return;
    }
    this.push(null);
    this.read(0);
  }

  flowEnded(error: Error | undefined): void {
    if (!error || this.destroyed) return;
    if (!this.#opened && !this.#flow?.outbound.exposed && this.#fallBack()) return;
    this.destroy(this.#wasLeft(error) ? undefined : error);
  }

  #fallBack(): boolean {
    const flow = this.#flow;
    if (!this.#dialer?.fallBack()) return false;
    if (flow) flow.host = undefined;
    return true;
  }

  /**
   * Returns whether the client of a server's flow has left the replica port before its first byte.
   * Such a client has sent a FIN, and may use a connection to port N instead. A failed write is always reported.
   */
  #wasLeft({ code }: NodeJS.ErrnoException): boolean {
    const flow = this.#flow;
    if (!this.#accepted || !flow?.inbound.ended || flow.inbound.delivered !== 0 || this.#inFlight) return false;
    return flow.settings.pairing === 'hello' && code !== 'ERR_REPNET_DIVERGED';
  }

  flowClosed(): void {
    this.#closed = true;
    this.#emitClose();
  }

  legAttached(leg: Leg): void {
    const { socket } = leg;
    if (this.#opened) {
      if (this.#noDelay) socket.setNoDelay(true);
      if (this.#keepAlive) socket.setKeepAlive(...this.#keepAlive);
    } else {
      const handle = this.#handle ?? new FlowHandle((apply) => this.#eachConnection(apply));
      if (this.#noDelay) handle.setNoDelay(true);
      if (this.#keepAlive) handle.setKeepAlive(true, seconds(this.#keepAlive[1]));
    }
    if (this.#typeOfService !== undefined) (socket as TypedSocket).setTypeOfService?.(this.#typeOfService);
    if (this.#unref) socket.unref();
  }

  // Methods that the stream calls.

  /** Reads and counts no bytes until the application reads, as the option `pauseOnConnect` requires. */
  hold(): void {
    this.pause();
    this.#held = [];
  }

  override _read(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const chunk of held ?? []) chunk ? this.flowData(chunk) : this.flowEof();
    this.#flow?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#submit([chunk], chunk.length, done);
  }

  override _writev(items: Array<{ chunk: Buffer }>, done: (error?: Error | null) => void): void {
    let bytes = 0;
    const chunks = items.map(({ chunk }) => {
      bytes += chunk.length;
      return chunk;
    });
    this.#submit(chunks, bytes, done);
  }

  #submit(chunks: readonly Buffer[], bytes: number, done: (error?: Error | null) => void): void {
    if (!this.#flow && !this.connecting) {
      done(systemError('Socket is closed', 'ERR_SOCKET_CLOSED'));
      return;
    }
    this.#timer.touch();
    const inFlight = { chunks, bytes, done, early: this.connecting, flushed: false };
    this.#inFlight = inFlight;
    if (inFlight.early) this.#callBackAfterConnect(inFlight);
    this.#send(inFlight);
  }

  /** As in Node, the write registers these listeners. So they run in the same order relative to other listeners. */
  #callBackAfterConnect(inFlight: InFlight): void {
    const closed = (): void => {
      this.off('connect', connected);
      if (this.#inFlight !== inFlight) return;
      this.#inFlight = undefined;
      inFlight.done(systemError('Socket closed before the connection was established', 'ERR_SOCKET_CLOSED_BEFORE_CONNECTION'));
    };
    const connected = (): void => {
      this.off('close', closed);
      inFlight.early = false;
      if (inFlight.flushed) this.#written(inFlight);
    };
    this.once('connect', connected);
    this.once('close', closed);
  }

  #send(inFlight: InFlight): void {
    this.#flow?.write(inFlight.chunks, () => {
      inFlight.flushed = true;
      if (!inFlight.early) this.#written(inFlight);
    });
  }

  #written(inFlight: InFlight): void {
    if (this.#inFlight !== inFlight) return;
    this.#inFlight = undefined;
    this.#completed += inFlight.bytes;
    this.#timer.touch();
    inFlight.done();
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.connecting) this.once('connect', () => this._final(done));
    else if (this.#flow) this.#flow.end(done);
    else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const started = this.connecting || this.#flow !== undefined;
    this.connecting = false;
    this.#timer.stop();
    if (!this.#opened) this.#dialer?.stop();
    this.#failed = error !== null;
    const flow = this.#flow;
    if (!flow) this.#closed = true;
    else if (!error && this.readableEnded && this.writableFinished && !this.#reset) flow.finish();
    else flow.abort(this.#reset);
    done(error);
    this.#accepted?.released();
    if (!started) process.nextTick(() => this.emit('close'));
    // 'error' comes before 'close', even if all connections are closed already.
    else process.nextTick(() => this.#startClosing(flow));
  }

  #startClosing(flow: Flow | undefined): void {
    // The socket may have connected again in the meantime.
    if (this.#flow !== flow || !this.destroyed) return;
    this.#closing = true;
    // Like Node's handle, a socket closes after all ticks and microtasks.
    if (this.#closed) setImmediate(() => this.#emitClose());
  }

  #emitClose(): void {
    if (!this.#closing || !this.#closed) return;
    this.#closing = false;
    if (this.#inFlight && !this.#inFlight.early) this.#abandonWrite();
    this.emit('close', this.#failed);
  }

  /**
   * Calls the callback of the write that the flow could not finish.
   * The stream then calls the callbacks of later writes and of the end.
   */
  #abandonWrite(): void {
    const inFlight = this.#inFlight;
    this.#inFlight = undefined;
    inFlight?.done(canceledWrite());
  }

  // Members that a `net.Socket` has and a stream does not have.

  connect(...args: unknown[]): this {
    return ReplicatedSocket.connector(this, args);
  }

  /** Function that reads the arguments of `connect()`. The module with the configuration sets it. */
  static connector: <Self extends ReplicatedSocket>(socket: Self, args: unknown[]) => Self = (socket) => socket;

  /**
   * Handle for applications that set options on the handle of a client's `net.Socket`.
   * The options apply to every connection. As in Node, there is no handle before `connect()` and after `destroy()`.
   */
  get _handle(): FlowHandle | null {
    if (this.destroyed || this.#accepted || (!this.connecting && !this.#opened)) return null;
    this.#handle ??= new FlowHandle((apply) => this.#eachConnection(apply));
    return this.#handle;
  }

  get isClient(): boolean {
    return !this.#accepted;
  }

  get _connecting(): boolean {
    return this.connecting;
  }

  get bytesRead(): number {
    return this.#received;
  }

  get bytesWritten(): number {
    return this.#completed + this.writableLength;
  }

  get bufferSize(): number | undefined {
    return this.destroyed || (!this.#flow && !this.connecting) ? undefined : this.writableLength;
  }

  get pending(): boolean {
    return !this.#opened || this.connecting || this.destroyed;
  }

  get readyState(): net.SocketReadyState {
    if (this.connecting) return 'opening';
    if (this.readable) return this.writable ? 'open' : 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }

  get remoteAddress(): string | undefined {
    return this.#peer?.remoteAddress;
  }

  get remoteFamily(): string | undefined {
    return this.#peer?.remoteFamily;
  }

  get remotePort(): number | undefined {
    return this.#peer?.remotePort;
  }

  /**
   * Address of the peer.
   * The address is read only once, because a flow keeps it after the connection with this address is closed.
   */
  get #peer() {
    const carrier = this.#opened && !this.destroyed ? this.#flow?.carrier?.socket : undefined;
    if (!this.#remote && carrier?.remoteAddress !== undefined) {
      const { remoteAddress, remoteFamily } = carrier;
      this.#remote = { remoteAddress, remoteFamily, remotePort: this.#accepted ? carrier.remotePort : this.#port };
    }
    return this.#remote;
  }

  get localAddress(): string | undefined {
    return this.#own?.address;
  }

  get localFamily(): string | undefined {
    return this.#own?.family;
  }

  get localPort(): number | undefined {
    return this.#own?.port;
  }

  get #own(): net.AddressInfo | undefined {
    // As in Node, a destroyed socket has no local address any more, but keeps the address of its peer.
    if (this.destroyed) return undefined;
    const carrier = this.#opened ? this.#flow?.carrier?.socket : undefined;
    if (!this.#local && carrier?.localAddress !== undefined) {
      const { localAddress, localFamily = '', localPort = 0 } = carrier;
      this.#local = { address: localAddress, family: localFamily, port: this.#accepted ? (this.#port ?? localPort) : localPort };
    }
    return this.#local;
  }

  address(): net.AddressInfo | Record<string, never> {
    return this.#own ?? {};
  }

  setTimeout(timeout: number, callback?: () => void): this {
    if (this.destroyed) return this;
    if (callback !== undefined && typeof callback !== 'function') {
      throw Object.assign(new TypeError('The "callback" argument must be of type function.'), { code: 'ERR_INVALID_ARG_TYPE' });
    }
    this.#timer.set(timeout);
    this.timeout = timeout;
    if (callback) {
      if (timeout === 0) this.removeListener('timeout', callback);
      else this.once('timeout', callback);
    }
    return this;
  }

  setNoDelay(noDelay?: boolean): this {
    this.#noDelay = noDelay === undefined || Boolean(noDelay);
    this.#eachConnection((socket) => socket.setNoDelay(this.#noDelay));
    return this;
  }

  /** Sets the type-of-service byte of the IP header. Node supports this from version 24. */
  setTypeOfService(typeOfService: number): this {
    // A socket without a connection checks the value, as Node does.
    (new net.Socket() as TypedSocket).setTypeOfService?.(typeOfService);
    this.#typeOfService = typeOfService;
    this.#eachConnection((socket) => (socket as TypedSocket).setTypeOfService?.(typeOfService));
    return this;
  }

  getTypeOfService(): number {
    const carrier = this.#opened ? (this.#flow?.carrier?.socket as TypedSocket | undefined) : undefined;
    return carrier?.getTypeOfService?.() ?? this.#typeOfService ?? 0;
  }

  setKeepAlive(enable?: boolean, initialDelay?: number): this {
    const wanted: [boolean, number] = [Boolean(enable), initialDelay ?? 0];
    this.#keepAlive = wanted;
    this.#eachConnection((socket) => socket.setKeepAlive(...wanted));
    return this;
  }

  ref(): this {
    return this.#setRef(true);
  }

  unref(): this {
    return this.#setRef(false);
  }

  #setRef(ref: boolean): this {
    this.#unref = !ref;
    const flow = this.#flow;
    for (const leg of flow?.legs ?? []) {
      // A socket without its handle would wait for another handle, and would get one more listener for each call.
      if (!leg || leg.socket.destroyed || flow?.status[leg.index] === 'gone') continue;
      if (ref) leg.socket.ref();
      else leg.socket.unref();
    }
    return this;
  }

  #eachConnection(apply: (socket: net.Socket) => void): void {
    const flow = this.#flow;
    if (!flow) return;
    // A connection that is not live yet gets all options when it is attached.
    for (const leg of flow.legs) if (leg && flow.status[leg.index] === 'live' && !leg.socket.destroyed) apply(leg.socket);
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    if (!this.#flow && !this.connecting) {
      this.destroy(systemError('Socket is closed', 'ERR_SOCKET_CLOSED'));
      return this;
    }
    this.#reset = true;
    this.destroy();
    return this;
  }
}

/** Returns the seconds with Node's rounding, and at least 0. */
function seconds(milliseconds: number): number {
  return Math.max(0, Math.trunc(milliseconds / 1000));
}

/** Replacement for `write` after the peer has ended, on a socket that may not be half open. */
function refuseWrite(this: ReplicatedSocket, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  // As in Node, a write is too late only after this socket has ended its own direction.
  if (!this.writableEnded) return stream.Duplex.prototype.write.call(this, chunk, encoding as BufferEncoding, callback as () => void);
  const done = typeof encoding === 'function' ? encoding : callback;
  const error = systemError('This socket has been ended by the other party', 'EPIPE');
  if (typeof done === 'function') process.nextTick(done as (error: Error) => void, error);
  this.destroy(error);
  return false;
}
