/** Tests of `node --import repnet/register app.js`. The applications in apps/ are not changed for repnet. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type net from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { promisify } from 'node:util';
import repnet from 'repnet';
import { Proxy, parseConfig } from 'repnet/proxy';
import { packageFolder } from '../harness/package-folder';
import { MODES, UNHURRIED, UNHURRIED_ENV } from '../harness/replication';
import { startServer } from './servers';

const folder = path.join(packageFolder, 'test/programs');
const certificate = path.join(folder, 'fixtures/localhost.cert.pem');
const credentials = { key: readFileSync(path.join(folder, 'fixtures/localhost.key.pem')), cert: readFileSync(certificate) };

/** Runs an application and returns its output. It fails if the output on stdout is not complete. */
async function run(app: string, port: number, env: Record<string, string>): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--import', 'repnet/register', path.join('apps', app)], {
    cwd: folder,
    env: { ...process.env, PORT: String(port), NODE_EXTRA_CA_CERTS: certificate, ...env },
  });
  assert.equal(stderr, '');
  return stdout;
}

async function serve(t: TestContext, onConnection: (socket: net.Socket) => void): Promise<number> {
  repnet.configure(UNHURRIED);
  const server = repnet.createServer({ allowHalfOpen: true }, (socket) => {
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

const answer: http.RequestListener = (_request, response) => void response.end('answered');

function startTls(): (socket: net.Socket) => void {
  const secureContext = tls.createSecureContext(credentials);
  const web = http.createServer(answer);
  return (socket) =>
    socket.once('data', () => {
      socket.write('S');
      web.emit('connection', new tls.TLSSocket(socket, { isServer: true, secureContext }));
    });
}

const APPS: Record<string, { speaks: () => (socket: net.Socket) => void; prints: RegExp }> = {};
const listed = (names: string[], speaks: () => (socket: net.Socket) => void, prints: RegExp): void => {
  for (const name of names) APPS[name] = { speaks, prints };
};
const over = (web: http.Server | https.Server | http2.Http2SecureServer) => (socket: net.Socket) => void web.emit('connection', socket);
listed(
  ['net-connect.cjs', 'net-create-connection.mjs', 'new-socket.cjs'],
  () => over(http.createServer(answer)),
  /^HTTP\/1\.1 200 OK[^]*answered$/,
);
listed(['http.cjs', 'http-agent.mjs', 'fetch.mjs', 'undici.cjs'], () => over(http.createServer(answer)), /^answered$/);
listed(['https.cjs', 'fetch-https.mjs'], () => over(https.createServer(credentials, answer)), /^answered$/);
listed(['tls-connect.cjs'], () => over(https.createServer(credentials, answer)), /^HTTP\/1\.1 200 OK[^]*answered$/);
listed(['starttls.cjs'], startTls, /^HTTP\/1\.1 200 OK[^]*answered$/);
listed(
  ['http2.cjs'],
  () => over(http2.createSecureServer(credentials, (_request, response) => void response.end('answered'))),
  /^answered$/,
);

for (const [app, { speaks, prints }] of Object.entries(APPS)) {
  for (const mode of MODES) {
    test(`${app} replicates to its listed target (${mode})`, async (t) => {
      const port = await serve(t, speaks());
      const before = repnet.stats();
      const env = { ...UNHURRIED_ENV, REPNET_TARGETS: `127.0.0.1:${port}`, REPNET_MODE: mode, REPNET_ASSUME_CAPABLE: 'true' };
      assert.match(await run(app, port, env), prints);
      const after = repnet.stats();
      assert.equal(after.flows.accepted - before.flows.accepted, 1);
      if (mode === 'repflow') assert.equal(after.legs.paired - before.legs.paired, 1);
    });
  }

  test(`${app} is left alone where its target is not listed`, async (t) => {
    const port = await serve(t, speaks());
    const before = repnet.stats().flows.accepted;
    assert.match(await run(app, port, { REPNET_TARGETS: '127.0.0.1:1' }), prints);
    assert.equal(repnet.stats().flows.accepted, before);
  });
}

for (const mode of MODES) {
  test(`an http2 session that is closed before it is connected ends, and so does its process (${mode})`, async (t) => {
    const server = http2.createServer((_request, response) => void response.end('answered'));
    repnet.configure(UNHURRIED);
    repnet.listenReplicated(server as unknown as net.Server, [0, '127.0.0.1']);
    await once(server, 'listening');
    t.after(() => void server.close());
    const { port } = server.address() as net.AddressInfo;
    const env = { ...UNHURRIED_ENV, REPNET_TARGETS: `127.0.0.1:${port}`, REPNET_MODE: mode, REPNET_ASSUME_CAPABLE: 'true' };
    assert.equal(await run('http2-close.cjs', port, env), 'all closed');
  });
}

test('a primary of cluster gives a port with replicas to its workers, whose connections are plain', async () => {
  const before = repnet.createServer().listen(0, '127.0.0.1');
  await once(before, 'listening');
  const { port } = before.address() as net.AddressInfo;
  await once(before.close(), 'close');
  const env = { REPNET_LISTEN: String(port), REPNET_TARGETS: `127.0.0.1:${port}`, REPNET_ASSUME_CAPABLE: 'true' };
  assert.equal(await run('cluster.cjs', port, env), 'answered');
});

test('ioredis replicates to a listed Redis behind a proxy', async (t) => {
  const redis = await startServer(t, 'redis-server');
  if (redis === undefined) return;
  const proxy = new Proxy(
    parseConfig({
      admin: false,
      routes: [{ name: 'in', listen: '127.0.0.1:0', to: `127.0.0.1:${redis}`, replicate: 'in' }],
      drainTimeout: 0,
    }),
  );
  await proxy.start();
  t.after(() => proxy.stop());
  const { port } = proxy.address('in') as net.AddressInfo;
  const before = repnet.stats().legs.paired;
  assert.equal(await run('ioredis.cjs', port, { REPNET_TARGETS: `127.0.0.1:${port}`, REPNET_ASSUME_CAPABLE: 'true' }), 'hello');
  assert.equal(repnet.stats().legs.paired - before, 1);
});
