/**
 * Lowest possible cost of flows with two connections, measured with stock `net` only. One case races two handshakes.
 * Another case sends all bytes twice. Both send a hello of 32 bytes in each direction.
 * The third case has one more `stream.Duplex` in front of a stream.
 * The difference between repnet's figures and these figures is the cost of repnet itself.
 */
import net from 'node:net';
import { Duplex } from 'node:stream';

/** Bytes with the length of repnet's hello. */
const HELLO = Buffer.alloc(32, 1);

/** Creates a server that sends all received bytes back. */
export function createFloorServer(): net.Server {
  return net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
}

/**
 * Sends a hello and then the payload in each direction. Resolves with the time of the last byte, after 'close'.
 *
 * @param eager the payload is sent in one write with the hello
 */
function echoAfterHello(socket: net.Socket, payload: Buffer, eager: () => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    let time = 0;
    let sent = false;
    socket.on('connect', () => {
      sent = eager();
      socket.write(sent ? Buffer.concat([HELLO, payload]) : HELLO);
    });
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (!sent && received >= HELLO.length) {
        sent = true;
        socket.write(payload);
      }
      if (received === HELLO.length + payload.length) {
        time = performance.now();
        socket.end();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => (time > 0 ? resolve(time) : reject(new Error(`closed after ${received} bytes`))));
  });
}

/**
 * Opens two connections that both send a hello.
 * The client gives up the connection that is answered second, and the server closes it.
 *
 * @param eager whether the first established connection sends the payload with its hello.
 * The second connection then sends no payload
 * @returns milliseconds to the last byte
 */
export async function raced(options: net.TcpNetConnectOpts, payload: Buffer, eager: boolean): Promise<number> {
  const start = performance.now();
  const legs = [net.connect(options), net.connect(options)] as const;
  if (eager) {
    const [first, second] = legs;
    second.on('error', () => {});
    first.once('connect', () => second.resetAndDestroy());
    return (await echoAfterHello(first, payload, () => true)) - start;
  }
  for (const leg of legs) leg.on('connect', () => leg.write(HELLO));
  const first = await new Promise<net.Socket>((resolve, reject) => {
    for (const leg of legs) leg.once('data', () => resolve(leg)).on('error', reject);
  });
  const loser = first === legs[0] ? legs[1] : legs[0];
  loser
    .on('data', () => {})
    .on('end', () => loser.destroy())
    .end();
  return (await echo(first, payload)) - start;
}

/** Sends the payload in each direction. Resolves with the time of the last byte, after 'close'. */
function echo(socket: net.Socket, payload: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    let time = 0;
    socket.removeAllListeners('error').on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received < payload.length) return;
      time = performance.now();
      socket.end();
    });
    socket.on('close', () => (time > 0 ? resolve(time) : reject(new Error(`closed after ${received} bytes`))));
    socket.write(payload);
  });
}

/**
 * Opens two connections that both carry all bytes.
 *
 * @param eager whether the first established connection sends the payload with its hello
 * @returns milliseconds to the last byte of the faster connection
 */
export async function doubled(options: net.TcpNetConnectOpts, payload: Buffer, eager: boolean): Promise<number> {
  const start = performance.now();
  let first = eager;
  const once = (): boolean => {
    const now = first;
    first = false;
    return now;
  };
  const legs = [net.connect(options), net.connect(options)];
  return Math.min(...(await Promise.all(legs.map((leg) => echoAfterHello(leg, payload, once))))) - start;
}

/** Smallest possible layer between an application and a connection: it forwards only bytes, back-pressure and ends. */
export class Front extends Duplex {
  readonly #socket: net.Socket;

  constructor(socket: net.Socket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

export function createFrontServer(): net.Server {
  return net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const front = new Front(socket);
    front.on('error', () => {});
    front.pipe(front);
  });
}
