/** Tests of TLS over a replicated socket, from the start or after plain text (as with pg's STARTTLS). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import type net from 'node:net';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import repnet from 'repnet';
import { packageFolder } from '../harness/package-folder';
import { MODES, PAIRINGS, replicatedFlows } from '../harness/replication';

const folder = path.join(packageFolder, 'test/programs/fixtures');
const key = readFileSync(path.join(folder, 'localhost.key.pem'));
const cert = readFileSync(path.join(folder, 'localhost.cert.pem'));

/** Starts a repnet server that passes each connection to a function. */
async function serve(t: TestContext, pairing: 'hello' | 'port', onConnection: (socket: Duplex) => void): Promise<number> {
  const server = repnet.createServer({ allowHalfOpen: true, repnet: { pairing } }, (socket) => onConnection(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

for (const pairing of PAIRINGS) {
  for (const mode of MODES) {
    const dial = (port: number): net.Socket =>
      repnet.connect({ host: '127.0.0.1', port, allowHalfOpen: true, repnet: { mode, pairing, assumeCapable: true } });

    test(`https over a replicated socket (${mode}, ${pairing})`, async (t) => {
      const before = replicatedFlows();
      const web = https.createServer({ key, cert }, (request, response) => {
        response.end(`you asked for ${request.url}`);
      });
      const port = await serve(t, pairing, (socket) => web.emit('connection', socket));
      const agent = new https.Agent({ keepAlive: false });
      (agent as unknown as { createConnection: unknown }).createConnection = (options: tls.ConnectionOptions) =>
        tls.connect({ ...options, socket: dial(port) });
      const request = https.get({ host: '127.0.0.1', port, path: '/page', agent, ca: cert, servername: 'localhost' });
      const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
      assert.equal(Buffer.concat(await response.toArray()).toString(), 'you asked for /page');
      assert.equal(replicatedFlows() - before, 1);
    });

    test(`http2 over TLS over a replicated socket (${mode}, ${pairing})`, async (t) => {
      const web = http2.createSecureServer({ key, cert });
      web.on('stream', (stream, headers) => {
        stream.respond({ ':status': 200 });
        stream.end(`stream for ${headers[':path']}`);
      });
      const port = await serve(t, pairing, (socket) => web.emit('connection', socket));
      const session = http2.connect('https://localhost', {
        createConnection: () => tls.connect({ socket: dial(port), ca: cert, servername: 'localhost', ALPNProtocols: ['h2'] }),
      });
      const bodies = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => Buffer.concat(await session.request({ ':path': `/${index}` }).toArray()).toString()),
      );
      assert.deepEqual(
        bodies,
        bodies.map((_, index) => `stream for /${index}`),
      );
      session.close();
      await once(session, 'close');
    });

    test(`TLS after plain text on the same replicated socket, as pg does it (${mode}, ${pairing})`, async (t) => {
      // The server answers an SSL request of 8 bytes with 'S', and then the same connection uses TLS.
      const context = tls.createSecureContext({ key, cert });
      const port = await serve(t, pairing, (socket) => {
        socket.once('data', (request: Buffer) => {
          assert.deepEqual([...request], [0, 0, 0, 8, 4, 210, 22, 47]);
          socket.write('S');
          const secure = new tls.TLSSocket(socket, { isServer: true, secureContext: context });
          secure.on('error', () => secure.destroy());
          secure.pipe(secure);
        });
      });
      const plain = dial(port);
      plain.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
      const [answer] = (await once(plain, 'data')) as [Buffer];
      assert.equal(answer.toString(), 'S');
      const secure = tls.connect({ socket: plain, ca: cert, servername: 'localhost' });
      await once(secure, 'secureConnect');
      assert.equal(secure.authorized, true);
      const sent = 'secret '.repeat(10_000);
      secure.end(sent);
      assert.equal(Buffer.concat(await secure.toArray()).toString(), sent);
    });
  }
}
