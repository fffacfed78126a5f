/** Tests of kept-alive connections: use of a socket by http's agent between two requests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { bytesInUse } from '../harness/memory';
import { UNHURRIED } from '../harness/replication';

async function serve(t: TestContext, answer: http.RequestListener): Promise<number> {
  repnet.configure(UNHURRIED);
  const server = repnet.listenReplicated(http.createServer(answer), [0, '127.0.0.1']);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as net.AddressInfo).port;
}

function agentFor(options: http.AgentOptions): http.Agent {
  const agent = new http.Agent({ keepAlive: true, ...options });
  (agent as unknown as { createConnection: unknown }).createConnection = (given: net.TcpNetConnectOpts) =>
    repnet.connect({ ...given, repnet: { assumeCapable: true } });
  return agent;
}

async function get(port: number, agent: http.Agent): Promise<string> {
  const request = http.get({ host: '127.0.0.1', port, agent });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return Buffer.concat(await response.toArray()).toString();
}

test("http's agent may ask for the handle of a socket that connects, and give it to the next request later", async (t) => {
  const port = await serve(t, (_request, response) => {
    response.setHeader('connection', 'close');
    response.end('served');
  });
  const agent = agentFor({ maxSockets: 1 });
  t.after(() => agent.destroy());
  // The agent sets options on the handle if there is one, and emits 'free' on sockets that are still connecting.
  const socket = repnet.connect({ host: '127.0.0.1', port, repnet: { assumeCapable: true } });
  const handle = (socket as unknown as { _handle: { getAsyncId(): number } })._handle;
  assert.equal(typeof handle.getAsyncId(), 'number');
  socket.destroy();
  const answers = await Promise.all(Array.from({ length: 5 }, () => get(port, agent)));
  assert.deepEqual(answers, Array(5).fill('served'));
});

test('a socket has no handle before it is told to connect, and none after it was destroyed', async (t) => {
  const port = await serve(t, (_request, response) => void response.end());
  const socket = new repnet.Socket() as net.Socket & { _handle: object | null };
  assert.equal(socket._handle, null);
  socket.connect({ host: '127.0.0.1', port });
  assert.notEqual(socket._handle, null);
  socket.destroy();
  assert.equal(socket._handle, null);
});

test('thousands of requests over one connection leave no listener and no memory behind', async (t) => {
  const port = await serve(t, (_request, response) => void response.end('x'.repeat(100)));
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  t.after(() => process.off('warning', warned));
  const agent = agentFor({ maxSockets: 1 });
  t.after(() => agent.destroy());
  const rounds = async (requests: number): Promise<number> => {
    for (let sent = 0; sent < requests; sent++) await get(port, agent);
    return bytesInUse();
  };
  // The flow now uses one connection, and V8 has compiled the code.
  const held = [await rounds(3_000)];
  for (let round = 0; round < 3; round++) held.push(await rounds(1_000));
  // Compilation or a garbage collection affects one round. A leak affects all rounds.
  const growth = Math.min(...held.slice(1).map((bytes, round) => bytes - (held[round] as number)));
  assert.ok(growth < 200_000, `${growth} bytes more after each 1,000 requests`);
  assert.deepEqual(warnings, []);
});

test("bytes that come while http's agent guards an idle connection end it", async (t) => {
  let serverSide: net.Socket | undefined;
  const port = await serve(t, (request, response) => {
    serverSide = request.socket;
    response.end('served');
  });
  const agent = agentFor({});
  t.after(() => agent.destroy());
  const free = once(agent, 'free') as Promise<[net.Socket]>;
  await get(port, agent);
  const [socket] = await free;
  // The agents of Node 22.23 and 24.21 read and set these properties, too.
  const handle = (socket as unknown as { _handle: { reading: boolean; onread: unknown } })._handle;
  assert.equal(handle.reading, true);
  handle.onread = function freeSocketOnReadGuard() {};
  serverSide?.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  await once(socket, 'close');
  assert.equal(socket.bytesRead > 0, true);
});
