/**
 * Tests of http2 and TLS over replicated connections under `repnet/register`.
 * The tests check the time of 'connect', the addresses, and an early close.
 */
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import type net from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { promisify } from 'node:util';
import repnet from 'repnet';
import { packageFolder } from '../harness/package-folder';
import { UNHURRIED } from '../harness/replication';

repnet.configure({ ...UNHURRIED, targets: ['127.0.0.1'], assumeCapable: true });
require('repnet/register');

const folder = path.join(packageFolder, 'test/programs/fixtures');
const key = readFileSync(path.join(folder, 'localhost.key.pem'));
const cert = readFileSync(path.join(folder, 'localhost.cert.pem'));

async function listen(t: TestContext, server: net.Server): Promise<number> {
  repnet.listenReplicated(server, [0, '127.0.0.1']);
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

/** Returns a port without a listener. */
async function unused(): Promise<number> {
  const server = repnet.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  await once(server.close(), 'close');
  return port;
}

test('an http2 session whose connection is refused was never connected', async () => {
  const url = `http://127.0.0.1:${await unused()}`;
  const session = http2.connect(url, () => assert.fail('nobody listens'));
  await assert.rejects(once(session, 'close'), { code: 'ECONNREFUSED' });
  await assert.rejects(promisify(http2.connect)(url), { code: 'ECONNREFUSED' });
});

test('a server of http2 and its client know the addresses of their replicated connection', async (t) => {
  const server = http2.createServer((_request, response) => void response.end());
  const port = await listen(t, server);
  const accepted = once(server, 'session') as Promise<[http2.ServerHttp2Session]>;
  const before = repnet.stats().flows.accepted;
  const client = http2.connect(`http://127.0.0.1:${port}`);
  await once(client, 'connect');
  const [session] = await accepted;
  assert.equal(repnet.stats().flows.accepted - before, 1);
  assert.equal(client.socket.remotePort, port);
  assert.equal(session.socket.remoteAddress, '127.0.0.1');
  assert.equal(session.socket.localPort, port);
  assert.equal(session.socket.remotePort, client.socket.localPort);
  client.close();
});

test('a server of http2 that is disposed of closes its replica port too', async () => {
  const server = http2.createServer();
  repnet.listenReplicated(server, [0, '127.0.0.1']);
  await once(server, 'listening');
  await server[Symbol.asyncDispose]();
});

test("a TLS socket says 'connect' before it has shaken hands", async (t) => {
  const port = await listen(
    t,
    tls.createServer({ key, cert }, (socket) => socket.resume()),
  );
  const client = tls.connect({ host: '127.0.0.1', port, ca: cert, servername: 'localhost' });
  const said: string[] = [];
  for (const event of ['connect', 'secureConnect']) client.on(event, () => said.push(event));
  assert.equal(client.connecting, true);
  await once(client, 'secureConnect');
  assert.deepEqual(said, ['connect', 'secureConnect']);
  client.destroy();
});

test('tls.connect() with credentials that cannot be read leaves no connection behind', async (t) => {
  let accepted = 0;
  const port = await listen(
    t,
    repnet.createServer(() => accepted++),
  );
  assert.throws(() => tls.connect({ host: '127.0.0.1', port, pfx: Buffer.from('no such thing') }));
  const other = repnet.connect(port, '127.0.0.1');
  await once(other, 'connect');
  other.destroy();
  await once(other, 'close');
  assert.equal(accepted, 1);
});

test('a TLS connection obeys its signal once, and leaves nothing behind when that was aborted before', async (t) => {
  const server = tls.createServer({ key, cert });
  const port = await listen(t, server);
  const options = { host: '127.0.0.1', port, ca: cert, servername: 'localhost' };
  const controller = new AbortController();
  const client = tls.connect({ ...options, signal: controller.signal } as tls.ConnectionOptions);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1);
  controller.abort();
  await assert.rejects(once(client, 'close'), { name: 'AbortError' });
  await assert.rejects(once(tls.connect({ ...options, signal: AbortSignal.abort() } as tls.ConnectionOptions), 'close'), {
    name: 'AbortError',
  });
  await once(server.close(), 'close');
});
