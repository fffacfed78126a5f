/** Tests of the failure matrix: port N+1 belongs to another program, or to no program. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import repnet from 'repnet';
import { encodePreamble, VERSION } from '../../src/wire';
import { Arena, pattern, Sink } from '../harness/arena';
import { BlackHole } from '../harness/black-hole';
import { MODES, PAIRINGS } from '../harness/replication';

for (const pairing of PAIRINGS) {
  for (const mode of MODES) {
    test(`a refused port N+1 is invisible (${mode}, ${pairing})`, async (t) => {
      const arena = await Arena.open(t, { pairing, mode, onConnection: (socket) => socket.pipe(socket) });
      await arena.path.refuse('replica');
      const client = arena.connect();
      const sink = new Sink(client);
      client.end('through N alone');
      await sink.untilClose();
      assert.equal(sink.text(), 'through N alone');
      assert.equal(sink.errors, 0);
      assert.equal(arena.accepted.length, 1);
    });

    test(`a filtered port N+1 is invisible (${mode}, ${pairing})`, async (t) => {
      const arena = await Arena.open(t, {
        pairing,
        mode,
        client: { legDeadline: 100 },
        onConnection: (socket) => socket.pipe(socket),
      });
      await arena.path.refuse('replica');
      const hole = await BlackHole.open(arena.path.host, arena.path.port + 1);
      t.after(() => hole.close());
      const client = arena.connect();
      const sink = new Sink(client);
      client.end('through N alone');
      await sink.untilClose();
      assert.equal(sink.text(), 'through N alone');
      assert.equal(sink.errors, 0);
      assert.equal(arena.accepted.length, 1);
    });
  }
}

test('a load balancer that splits the legs between two servers: one of them gets no byte (hello)', async (t) => {
  // The other server's application sees the end of a stream without bytes, and ends its own direction.
  const onConnection = (socket: net.Socket): void => void socket.on('end', () => socket.end()).resume();
  const other = await Arena.open(t, { pairing: 'hello', mode: 'repflow', onConnection });
  const otherPort = (other.server.address() as net.AddressInfo).port;
  let arena: Arena;
  arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repflow',
    path: {
      route: (index) => ({ host: '127.0.0.1', port: index === 1 ? otherPort : (arena.server.address() as net.AddressInfo).port }),
    },
    onConnection: (socket) => socket.pipe(socket),
  });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('whole');
  await sink.until(5);
  const b = await arena.legB();
  await b.clientGone();
  client.end(' and entire');
  await sink.untilClose();
  assert.equal(sink.text(), 'whole and entire');
  assert.equal(sink.errors, 0);
  assert.equal(b.up.passed, 32, 'only the preamble went to the other server');
  assert.equal(arena.accepted.length, 1);
  for (const socket of other.accepted) assert.equal(socket.bytesRead, 0);
});

test('a NAT that rewrites the source ports does not keep the legs from pairing (hello)', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', path: { keepSourcePort: false } });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('x');
  const served = await arena.flow();
  const [a, b] = [await arena.legA(), await arena.legB()];
  await arena.paired();
  served.write(pattern(1000));
  await Promise.all([a.down.until(1032), b.down.until(1032), sink.until(1000)]);
  assert.ok(pattern(1000).equals(sink.bytes()));
  assert.equal(arena.accepted.length, 1);
  client.destroy();
});

test('a stranger who repeats a flow id is reset, the flow does not notice (hello)', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('mine');
  await sink.until(4);
  const [a, b] = [await arena.legA(), await arena.legB()];
  await arena.paired();
  for (const leg of [a, b]) {
    const stranger = net.connect({ host: '127.0.0.1', port: (arena.server.address() as net.AddressInfo).port + 1 });
    const strangerSink = new Sink(stranger);
    stranger.write(leg.up.start.subarray(0, 32));
    stranger.write('not mine');
    await strangerSink.untilClose();
    assert.equal(strangerSink.length, 0);
  }
  client.end(' alone');
  await sink.untilClose();
  assert.equal(sink.text(), 'mine alone');
  assert.equal(arena.accepted.length, 1);
});

test('two clients behind one address keep their streams apart (hello)', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  const clients = Array.from({ length: 20 }, (_, index) => {
    const socket = arena.connect();
    const sink = new Sink(socket);
    socket.end(`client ${index} `.repeat(100));
    return sink;
  });
  await Promise.all(clients.map((sink) => sink.untilClose()));
  for (const [index, sink] of clients.entries()) assert.equal(sink.text(), `client ${index} `.repeat(100));
  assert.equal(arena.accepted.length, 20);
});

test('a block list of the server holds on the replica port as it does on a stock server (hello)', async (t) => {
  const blockList = new net.BlockList();
  blockList.addAddress('127.0.0.3');
  const options = { blockList } as net.ServerOpts;
  /** Returns whether the server accepts a client from the blocked address, as in Node versions without this option. */
  const letsIn = async (server: net.Server, portsOn: number): Promise<boolean> => {
    server.on('connection', (socket: net.Socket) => socket.on('error', () => {}).end('you are in'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => void server.close());
    const { port } = server.address() as net.AddressInfo;
    const sink = new Sink(net.connect({ host: '127.0.0.1', port: port + portsOn, localAddress: '127.0.0.3' }));
    sink.socket.write(encodePreamble({ version: VERSION, probe: false, mode: 'repflow', leg: 0, flowId: '1'.repeat(32) }));
    await sink.untilClose();
    return sink.length > 0;
  };
  const stock = await letsIn(net.createServer(options), 0);
  assert.equal(await letsIn(repnet.createServer(options), 0), stock);
  assert.equal(await letsIn(repnet.createServer(options), 1), stock);
});
