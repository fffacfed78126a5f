/**
 * What two connections a flow cost with nothing but stock `net`: the least that racing a handshake, or carrying everything twice, can
 * cost with a hello of 32 bytes each way. The difference to repnet's figures is what repnet itself costs.
 */
import net from 'node:net';

/** As many bytes as repnet's hello, in either direction. */
const HELLO = Buffer.alloc(32, 1);

/** Sends everything back, piece by piece. */
export function createFloorServer(): net.Server {
  return net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
}

/** Hello there and back, then the payload there and back; resolves with the time of its last byte, after 'close'. */
function echoAfterHello(socket: net.Socket, payload: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    let time = 0;
    socket.on('data', (chunk: Buffer) => {
      const before = received;
      received += chunk.length;
      if (before < HELLO.length && received >= HELLO.length) socket.write(payload);
      if (received === HELLO.length + payload.length) {
        time = performance.now();
        socket.end();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => (time > 0 ? resolve(time) : reject(new Error(`closed after ${received} bytes`))));
    socket.write(HELLO);
  });
}

/** Two connections, of which the second is reset when the first is there. @returns milliseconds to the last byte */
export async function raced(options: net.TcpNetConnectOpts, payload: Buffer): Promise<number> {
  const start = performance.now();
  const [first, second] = [net.connect(options), net.connect(options)];
  second.on('error', () => {});
  first.once('connect', () => second.resetAndDestroy());
  return (await echoAfterHello(first, payload)) - start;
}

/** Two connections that both carry everything. @returns milliseconds to the last byte of the faster one */
export async function doubled(options: net.TcpNetConnectOpts, payload: Buffer): Promise<number> {
  const start = performance.now();
  const [first, second] = [net.connect(options), net.connect(options)];
  const times = await Promise.all([echoAfterHello(first, payload), echoAfterHello(second, payload)]);
  return Math.min(...times) - start;
}
