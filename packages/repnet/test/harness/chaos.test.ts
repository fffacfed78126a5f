import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, test } from 'node:test';
import { ChaosPath, type ChaosPathOptions } from './chaos';

const opened: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function serve(onConnection: (socket: net.Socket) => void, options: Partial<ChaosPathOptions> = {}): Promise<ChaosPath> {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    opened.push(async () => void socket.destroy());
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const path = await ChaosPath.open({ to: { host: '127.0.0.1', port }, ...options });
  opened.push(
    async () => void server.close(),
    () => path.close(),
  );
  return path;
}

test('a path that is left alone relays bytes, both FINs and the source port', async () => {
  const ports: Array<number | undefined> = [];
  const path = await serve((socket) => {
    ports.push(socket.remotePort);
    socket.pipe(socket);
  });
  const client = net.connect({ port: path.port, host: path.host });
  await once(client, 'connect');
  const { localPort } = client;
  client.end('through and back');
  const echoed = Buffer.concat(await client.toArray()).toString();
  assert.equal(echoed, 'through and back');
  assert.deepEqual(ports, [localPort]);
  assert.equal((await path.leg(0)).door, 'primary');
});

test('a lane lets exactly as many bytes pass as it was told to', async () => {
  const path = await serve((socket) => socket.pipe(socket), { onLeg: (leg) => leg.down.allow(5) });
  const client = net.connect({ port: path.port, host: path.host });
  client.write('0123456789');
  const leg = await path.leg(0);
  await leg.down.until(5);
  await leg.down.untilTaken(10);
  const [first] = (await once(client, 'data')) as [Buffer];
  assert.equal(first.toString(), '01234');
  leg.down.flow();
  const [second] = (await once(client, 'data')) as [Buffer];
  assert.equal(second.toString(), '56789');
  client.destroy();
});

test('a held leg reaches the server when it is admitted, with what the client said before', async () => {
  let seen = 0;
  const path = await serve(
    (socket) => {
      seen += 1;
      socket.pipe(socket);
    },
    { admit: () => 'hold' },
  );
  const client = net.connect({ port: path.port, host: path.host });
  client.write('early');
  const leg = await path.leg(0);
  await leg.up.untilTaken(5);
  assert.equal(seen, 0);
  await leg.admit();
  const [data] = (await once(client, 'data')) as [Buffer];
  assert.equal(data.toString(), 'early');
  assert.equal(seen, 1);
  client.destroy();
});

test('a reset reaches the side that it was sent to', async () => {
  const accepted: net.Socket[] = [];
  const path = await serve((socket) => accepted.push(socket));
  const client = net.connect({ port: path.port, host: path.host });
  client.write('x');
  const leg = await path.leg(0);
  await leg.up.until(1);
  leg.resetClient();
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  leg.resetServer();
  const socket = accepted[0] as net.Socket;
  const outcome = await Promise.race([once(socket, 'error'), once(socket, 'close')]);
  assert.ok(outcome);
});

test('a reset that comes in one go with data stays a reset, also after a FIN in the other direction', async () => {
  const accepted: net.Socket[] = [];
  const path = await serve((socket) => {
    accepted.push(socket);
    socket.on('end', () => assert.fail('the reset became a FIN'));
    socket.resume().end();
  });
  const client = net.connect({ port: path.port, host: path.host, allowHalfOpen: true });
  await once(client.resume(), 'end');
  const leg = await path.leg(0);
  // The path receives the bytes and the reset together at its next read.
  client.write('0123456789');
  client.resetAndDestroy();
  await leg.serverGone();
  const socket = accepted[0] as net.Socket;
  if (!socket.destroyed) await once(socket, 'close');
  assert.equal(socket.errored?.message, 'read ECONNRESET');
});

test('a refused door turns clients away, the other one still works', async () => {
  const path = await serve((socket) => socket.end());
  await path.refuse('replica');
  const refused = net.connect({ port: path.port + 1, host: path.host });
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
  const client = net.connect({ port: path.port, host: path.host });
  client.resume();
  await once(client, 'end');
});

test('bytes can be changed on their way, by offset', async () => {
  const path = await serve((socket) => socket.pipe(socket), {
    onLeg: (leg) => leg.down.rewrite((byte, offset) => (offset === 2 ? 0x21 : byte)),
  });
  const client = net.connect({ port: path.port, host: path.host });
  client.end('abcd');
  assert.equal(Buffer.concat(await client.toArray()).toString(), 'ab!d');
});
