/** Tests of the proxy's relay: a FIN on one side becomes a FIN on the other side, and a reset becomes a reset. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { Proxy, parseConfig } from 'repnet/proxy';
import { Sink } from '../harness/arena';

async function proxied(t: TestContext, onConnection: (socket: net.Socket) => void, more: object = {}): Promise<number> {
  const server = net.createServer({ allowHalfOpen: true }, onConnection);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as net.AddressInfo;
  const route = { name: 'in', listen: '127.0.0.1:0', to: `127.0.0.1:${port}`, replicate: 'in', ...more };
  const proxy = new Proxy(parseConfig({ admin: false, drainTimeout: 0, routes: [route] }));
  await proxy.start();
  t.after(async () => {
    server.close();
    await proxy.stop();
  });
  return proxy.address('in')?.port as number;
}

test('a client that ends first, and reads late, gets the whole answer', async (t) => {
  const answer = Buffer.alloc(300_000, 'a');
  const port = await proxied(t, (socket) => socket.resume().on('end', () => socket.end(answer)));
  for (let flow = 0; flow < 20; flow++) {
    const client = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    client.end('question');
    await once(client, 'readable');
    const sink = new Sink(client);
    client.resume();
    await sink.untilClose();
    assert.deepEqual([sink.length, sink.ended, sink.errors], [answer.length, true, 0]);
  }
});

test('a flow in which no byte moves for the idle timeout is reset at both ends', async (t) => {
  const served: Sink[] = [];
  const port = await proxied(t, (socket) => void served.push(new Sink(socket)), { idleTimeout: 50 });
  const client = new Sink(net.connect({ host: '127.0.0.1', port, allowHalfOpen: true }));
  client.socket.write('x');
  await client.untilClose();
  const [server] = served as [Sink];
  await server.untilClose();
  assert.equal(server.text(), 'x');
  assert.deepEqual([client.error?.code, server.error?.code], ['ECONNRESET', 'ECONNRESET']);
});

test('a client that is cut off after its last byte has not ended: the server sees a reset', async (t) => {
  const outcomes: Array<Promise<string>> = [];
  const port = await proxied(t, (socket) => {
    const sink = new Sink(socket);
    socket.end('an answer, and our end with it');
    outcomes.push(sink.untilClose().then(() => (sink.ended ? 'end' : (sink.error?.code ?? 'closed'))));
  });
  for (let flow = 0; flow < 20; flow++) {
    const client = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    await once(client.resume(), 'end');
    // The proxy receives the bytes and the reset together at its next read.
    client.write('0123456789');
    client.resetAndDestroy();
  }
  assert.deepEqual(new Set(await Promise.all(outcomes)), new Set(['ECONNRESET']));
});
