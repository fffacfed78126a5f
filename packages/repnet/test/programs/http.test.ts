/** Tests of http, undici and clear-text http2 over replicated sockets, with both ends in Node. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import type net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { Client } from 'undici';
import { MODES, PAIRINGS, replicatedFlows } from '../harness/replication';

async function serve(t: TestContext, pairing: 'hello' | 'port', web: http.Server | http2.Http2Server): Promise<number> {
  const server = repnet.createServer({ allowHalfOpen: true, repnet: { pairing } }, (socket) => web.emit('connection', socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

const echo = (): http.Server =>
  http.createServer((request, response) => {
    response.setHeader('x-method', request.method ?? '');
    request.pipe(response);
  });

for (const pairing of PAIRINGS) {
  for (const mode of MODES) {
    const dial = (port: number): net.Socket => repnet.connect({ host: '127.0.0.1', port, repnet: { mode, pairing, assumeCapable: true } });

    test(`http requests share kept-alive replicated connections (${mode}, ${pairing})`, async (t) => {
      const port = await serve(t, pairing, echo());
      const before = replicatedFlows();
      const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
      (agent as unknown as { createConnection: unknown }).createConnection = () => dial(port);
      const post = async (body: string): Promise<string> => {
        const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent });
        request.end(body);
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        return Buffer.concat(await response.toArray()).toString();
      };
      const bodies = Array.from({ length: 40 }, (_, index) => `body ${index} `.repeat(1 + index * 10));
      assert.deepEqual(await Promise.all(bodies.map(post)), bodies);
      assert.equal(replicatedFlows() - before, 2);
      agent.destroy();
    });

    test(`undici over replicated connections, a body over the size limit included (${mode}, ${pairing})`, async (t) => {
      const port = await serve(t, pairing, echo());
      const client = new Client(`http://127.0.0.1:${port}`, {
        connect: (_options, ready) => {
          const socket = dial(port);
          socket.once('connect', () => ready(null, socket));
          socket.once('error', (error) => ready(error, null));
        },
        pipelining: 4,
      });
      for (const size of [1, 1000, 99_000, 400_000]) {
        const sent = Buffer.alloc(size, 'u');
        const { body, headers } = await client.request({ path: '/', method: 'PUT', body: sent });
        assert.equal(headers['x-method'], 'PUT');
        assert.ok(sent.equals(Buffer.from(await body.arrayBuffer())));
      }
      await client.close();
    });

    test(`clear-text http2 over a replicated connection (${mode}, ${pairing})`, async (t) => {
      const web = http2.createServer();
      web.on('stream', (stream) => {
        stream.respond({ ':status': 200 });
        stream.pipe(stream);
      });
      const port = await serve(t, pairing, web);
      const session = http2.connect('http://localhost', { createConnection: () => dial(port) });
      const bodies = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const stream = session.request({ ':method': 'POST', ':path': '/' });
          stream.end(`h2 ${index} `.repeat(1000));
          return Buffer.concat(await stream.toArray()).toString();
        }),
      );
      assert.deepEqual(
        bodies,
        bodies.map((_, index) => `h2 ${index} `.repeat(1000)),
      );
      session.close();
      await once(session, 'close');
    });
  }
}
