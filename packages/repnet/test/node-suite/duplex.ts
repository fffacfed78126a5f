/**
 * Control experiment without repnet. This module is loaded before one of Node's own tests.
 * The module puts a plain `stream.Duplex` in front of every TCP connection at both ends.
 * If a test fails here, the cause is not the number of connections.
 * Such a test works only with Node's own `net.Socket` with a handle.
 */
import net = require('node:net');
import stream = require('node:stream');
import tls = require('node:tls');

type Call = (this: unknown, ...args: unknown[]) => unknown;
/** Function of Node that reads the arguments of `connect()`. */
const { _normalizeArgs: normalize } = net as unknown as {
  _normalizeArgs(args: unknown[]): [options: net.TcpNetConnectOpts & stream.DuplexOptions & { path?: string }, callback?: () => void];
};
const stock = {
  connect: net.connect as unknown as Call,
  socketConnect: net.Socket.prototype.connect as unknown as Call,
  tlsConnect: tls.connect as unknown as (options: tls.ConnectionOptions, callback?: () => void) => tls.TLSSocket,
  emit: net.Server.prototype.emit as unknown as Call,
};

/** Properties of a `net.Socket` that are read from the connection. */
const PROPERTIES = [
  'remoteAddress',
  'remoteFamily',
  'remotePort',
  'localAddress',
  'localFamily',
  'localPort',
  'bytesRead',
  'bytesWritten',
  'connecting',
  'pending',
] as const;
const METHODS = ['setNoDelay', 'setKeepAlive', 'ref', 'unref', 'resetAndDestroy'] as const;
const EVENTS = ['lookup', 'connect', 'ready', 'timeout'];

class PlainDuplex extends stream.Duplex {
  readonly #connection: net.Socket;

  /** @param connection socket that allows half-open connections */
  constructor(connection: net.Socket, allowHalfOpen: boolean) {
    super({ allowHalfOpen, emitClose: false });
    this.#connection = connection;
    for (const name of PROPERTIES) Object.defineProperty(this, name, { get: () => connection[name], configurable: true });
    for (const name of METHODS) {
      const method = (...args: unknown[]) => {
        (connection[name] as Call)(...args);
        return this;
      };
      Object.assign(this, { [name]: method });
    }
    for (const event of EVENTS) connection.on(event, (...args: unknown[]) => void this.emit(event, ...args));
    connection.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) connection.pause();
    });
    connection.on('end', () => {
      this.push(null);
      this.read(0);
    });
    connection.on('error', (error) => this.destroy(error));
    connection.on('close', (failed: boolean) => {
      this.destroy();
      process.nextTick(() => this.emit('close', failed));
    });
  }

  address(): object {
    return this.#connection.address();
  }

  setTimeout(timeout: number, callback?: () => void): this {
    this.#connection.setTimeout(timeout);
    if (callback && timeout > 0) this.once('timeout', callback);
    else if (callback) this.removeListener('timeout', callback);
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#connection.write(chunk, encoding, done);
  }

  override _final(done: () => void): void {
    this.#connection.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connection.destroy();
    done(error);
  }
}

function connect(this: unknown, ...args: unknown[]): unknown {
  const [options, callback] = normalize(args);
  if (options.path) return stock.connect.apply(this, args);
  const connection = new net.Socket({ ...(options as net.SocketConstructorOpts), allowHalfOpen: true });
  const front = new PlainDuplex(connection, Boolean(options.allowHalfOpen));
  if (callback) front.once('connect', callback);
  if (options.timeout) front.setTimeout(options.timeout);
  stock.socketConnect.call(connection, options);
  return front;
}

function tlsConnect(this: unknown, ...args: unknown[]): unknown {
  const [options, callback] = normalize(args) as unknown as [tls.ConnectionOptions, (() => void)?];
  const given = args.slice(1).find((arg) => typeof arg === 'object' && arg !== null);
  const all = { ...options, ...given };
  const socket = all.socket || all.path ? all.socket : (connect({ ...all, allowHalfOpen: true }) as stream.Duplex);
  return stock.tlsConnect({ ...all, socket }, callback);
}

function emit(this: net.Server & { allowHalfOpen?: boolean }, event: unknown, ...args: unknown[]): unknown {
  const [connection] = args;
  if (event !== 'connection' || !(connection instanceof net.Socket) || connection.remotePort === undefined) {
    return stock.emit.call(this, event, ...args);
  }
  connection.allowHalfOpen = true;
  const front = new PlainDuplex(connection, Boolean(this.allowHalfOpen) || this instanceof tls.Server);
  return stock.emit.call(this, event, Object.assign(front, { server: this }));
}

Object.assign(net, { connect, createConnection: connect });
Object.assign(tls, { connect: tlsConnect });
Object.assign(net.Server.prototype, { emit });
