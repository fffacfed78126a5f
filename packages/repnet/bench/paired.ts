/**
 * Smallest possible RepFlow with one socket for the application at each end.
 * Two stock connections behind one `stream.Duplex` carry all bytes. An identifier in the hellos pairs them.
 * There are no timeouts, no limits and no comparison of the two connections, so it works only if nothing fails.
 * The difference from `doubled` (floor.ts) is the cost of one socket for two connections.
 * The difference from repnet is the cost of repnet's timeouts, limits and comparisons.
 */
import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { Duplex } from 'node:stream';

const HELLO_BYTES = 32;
const ID_BYTES = 16;
const BANNER = Buffer.alloc(HELLO_BYTES, 2);

/** Stream over two connections. Each write goes to both connections, and the bytes of the faster one are read. */
class Pair extends Duplex {
  readonly #legs: net.Socket[] = [];
  #kept: Buffer[] | undefined = [];
  #delivered = 0;
  #ended = false;

  constructor() {
    super({ allowHalfOpen: true });
  }

  /** @param rest bytes after the hello */
  attach(socket: net.Socket, rest: Buffer): void {
    this.#legs.push(socket);
    for (const chunk of this.#kept ?? []) socket.write(chunk);
    if (this.#legs.length === 2) this.#kept = undefined;
    if (this.writableFinished) socket.end();
    let received = 0;
    const take = (chunk: Buffer): void => {
      received += chunk.length;
      const fresh = received - this.#delivered;
      if (fresh <= 0) return;
      this.#delivered = received;
      this.push(fresh === chunk.length ? chunk : chunk.subarray(chunk.length - fresh));
    };
    socket.on('data', take);
    socket.on('end', () => {
      if (this.#ended) return;
      this.#ended = true;
      this.push(null);
    });
    if (rest.length > 0) take(rest);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#kept?.push(chunk);
    let first = true;
    for (const leg of this.#legs)
      leg.write(chunk, () => {
        if (first) done();
        first = false;
      });
    if (this.#legs.length === 0) done();
  }

  override _final(done: (error?: Error | null) => void): void {
    for (const leg of this.#legs) leg.end();
    done();
  }
}

/** Calls `then` with the first 32 bytes and the bytes after them. */
function afterHello(socket: net.Socket, then: (hello: Buffer, rest: Buffer) => void): void {
  socket.once('data', (chunk: Buffer) => then(chunk.subarray(0, HELLO_BYTES), chunk.subarray(HELLO_BYTES)));
}

/** Creates a server that sends all received bytes back. */
export function createPairedServer(): net.Server {
  const waiting = new Map<string, Pair>();
  return net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    afterHello(socket, (hello, rest) => {
      const id = hello.toString('hex', ID_BYTES, HELLO_BYTES);
      let pair = waiting.get(id);
      socket.write(BANNER);
      if (pair) waiting.delete(id);
      else {
        pair = new Pair();
        waiting.set(id, pair);
        pair.pipe(pair);
      }
      pair.attach(socket, rest);
    });
  });
}

export function connectPaired(options: net.TcpNetConnectOpts): Duplex {
  const pair = new Pair();
  const hello = Buffer.concat([Buffer.alloc(ID_BYTES, 1), randomBytes(ID_BYTES)]);
  for (let leg = 0; leg < 2; leg++) {
    const socket = net.connect({ ...options, allowHalfOpen: true });
    socket.write(hello);
    socket.on('error', (error) => pair.destroy(error));
    afterHello(socket, (_banner, rest) => pair.attach(socket, rest));
  }
  return pair;
}
