/** Tests of the rules for every flow, on loopback. The failure matrix (test/matrix) tests connections that fail. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { Arena, pattern, Sink } from '../harness/arena';
import { PAIRINGS, published } from '../harness/replication';

const both = (name: string, story: (t: TestContext, pairing: (typeof PAIRINGS)[number]) => Promise<void>) => {
  for (const pairing of PAIRINGS) test(`${name} (${pairing})`, (t) => story(t, pairing));
};

both(
  'I1, I2: strings in any encoding, buffers, typed arrays and corked writes arrive once, in order, over legs that take turns',
  async (t, pairing) => {
    const arena = await Arena.open(t, { pairing, mode: 'repflow' });
    const client = arena.connect();
    const served = new Sink(await connected(arena, client));
    const [a, b] = [await arena.legA(), await arena.legB()];
    const expected = Buffer.concat([Buffer.from('é', 'latin1'), Buffer.from('00ff', 'hex'), Buffer.from('ü☃'), pattern(1_000)]);
    client.cork();
    client.write('é', 'latin1');
    client.write('00ff', 'hex');
    client.uncork();
    client.write('ü☃');
    client.end(new Uint8Array(pattern(1_000)));
    // The connections deliver bytes in turn, so that each one is ahead at some time.
    for (let at = 1; at < expected.length; at += 97) {
      const lane = (at % 2 === 1 ? a : b).up;
      lane.allow(arena.head + at);
      await lane.until(arena.head + at);
    }
    a.up.flow();
    await served.untilEnd();
    assert.deepEqual(served.bytes(), expected);
    b.up.flow();
    client.destroy();

    async function connected(stage: Arena, socket: net.Socket): Promise<net.Socket> {
      const legs = published('repnet:leg:pair', (message: { role: string }) => message.role === 'server');
      await once(socket, 'connect');
      const flow = await stage.flow();
      await legs;
      for (const leg of [await stage.legA(), await stage.legB()]) leg.up.allow(stage.head);
      return flow;
    }
  },
);

both('I3: a leg that joins late is given the archive from byte 0, and the archive is freed', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow', b: 'hold' });
  const held = repnet.stats().held.archivedBytes;
  const client = arena.connect();
  const sink = new Sink(client);
  const served = await arena.flow();
  served.write('said before the second leg came, ');
  await sink.until(33);
  assert.ok(repnet.stats().held.archivedBytes >= held + 33);
  const b = await arena.legB();
  const paired = published('repnet:leg:pair', (message: { role: string }) => message.role === 'server');
  await b.admit();
  await paired;
  served.end('and after');
  await b.down.until(arena.head + 42);
  await sink.untilEnd();
  client.end();
  await sink.untilClose();
  assert.equal(sink.text(), 'said before the second leg came, and after');
  assert.equal(repnet.stats().held.archivedBytes, held);
});

both('I3: more than the archive may hold settles the flow, and the late leg is reset', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow', b: 'hold', server: { archiveCap: 1_000 } });
  const client = arena.connect();
  const sink = new Sink(client);
  const chosen = published('repnet:flow:chosen', (message: { reason: string }) => message.reason === 'archive_over_threshold');
  const served = await arena.flow();
  served.write(pattern(1_001));
  await chosen;
  await sink.until(1_001);
  const b = await arena.legB();
  await b.admit().catch(() => {});
  await b.serverGone();
  served.end('!');
  client.end();
  await sink.untilClose();
  assert.equal(sink.length, 1_002);
  assert.equal(arena.accepted.length, 1);
});

both('I5: a leg that is reset while the other lives is not heard of', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('one ');
  await sink.until(4);
  const dropped = published('repnet:leg:drop', (message: { role: string }) => message.role === 'client');
  (await arena.legA()).reset();
  await dropped;
  client.end('two');
  await sink.untilClose();
  assert.equal(sink.text(), 'one two');
  assert.deepEqual([sink.errors, sink.closes], [0, 1]);
});

both('I7: a leg that is given up is reset, never ended, and brings nothing any more', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repsyn', b: 'hold', onConnection: (socket) => socket.pipe(socket) });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('only one carries this');
  await sink.until(21);
  const b = await arena.legB();
  await b.clientGone();
  assert.equal(b.up.finished, false);
  client.end();
  await sink.untilClose();
  assert.equal(arena.accepted.length, 1);
});

both('I9: a consumer that pauses holds back what is new, and gets all of it when it resumes', async (t, pairing) => {
  const total = 4 * 1024 * 1024;
  const arena = await Arena.open(t, { pairing, mode: 'repflow', client: { maxBytes: Infinity } });
  const client = arena.connect();
  client.pause();
  const served = await arena.flow();
  served.end(pattern(total));
  await once(client, 'readable');
  // The socket may store its high-water mark and one read from each connection, but not the whole stream.
  assert.ok(client.readableLength <= client.readableHighWaterMark + 2 * 65_536, `${client.readableLength} bytes`);
  const sink = new Sink(client);
  client.resume();
  await sink.untilEnd();
  assert.deepEqual(sink.bytes(), pattern(total));
  client.destroy();
});

both('I10: counts, names and addresses are those of one connection to port N', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  const client = arena.connect();
  assert.equal(client.readyState, 'opening');
  assert.deepEqual([client.pending, client.connecting], [true, true]);
  const sink = new Sink(client);
  await once(client, 'connect');
  assert.equal(client.readyState, 'open');
  assert.deepEqual([client.pending, client.connecting], [false, false]);
  client.write('five!');
  await sink.until(5);
  const served = await arena.flow();
  assert.deepEqual([client.bytesWritten, client.bytesRead, served.bytesRead, served.bytesWritten], [5, 5, 5, 5]);
  assert.deepEqual([client.remoteAddress, client.remotePort, client.remoteFamily], [arena.path.host, arena.path.port, 'IPv4']);
  const own = arena.server.address() as net.AddressInfo;
  assert.deepEqual([served.localPort, served.localAddress], [own.port, own.address]);
  assert.equal((client.address() as net.AddressInfo).port, client.localPort);
  assert.equal(await connections(arena.server), 1);
  const servedClosed = once(served, 'close');
  client.end();
  await sink.untilClose();
  assert.equal(client.readyState, 'closed');
  await servedClosed;
  assert.equal(await connections(arena.server), 0);
});

test('I10: an eager RepSYN flow is a stock socket at the server, with port N as its name', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repsyn', client: { eager: true }, process: { capabilityTtl: 600_000 } });
  await repnet.probe({ host: arena.path.host, port: arena.path.port, repnet: 'repsyn' });
  const client = arena.connect();
  client.end('a question');
  const served = await arena.flow();
  assert.equal(Object.getPrototypeOf(served), net.Socket.prototype);
  assert.equal(served.localPort, (arena.server.address() as net.AddressInfo).port);
  assert.equal(await connections(arena.server), 1);
  const sink = new Sink(served);
  const clientSink = new Sink(client);
  served.resume();
  await sink.untilEnd();
  assert.deepEqual([sink.text(), served.bytesRead, served.bytesWritten], ['a question', 10, 0]);
  served.end();
  await sink.untilClose();
  await clientSink.untilClose();
  assert.equal(await connections(arena.server), 0);
});

const connections = (server: net.Server) =>
  new Promise<number>((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

test('I10: maxConnections counts flows, and the one too many is dropped', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  arena.server.maxConnections = 1;
  const first = arena.connect();
  const sink = new Sink(first);
  first.write('served');
  await sink.until(6);
  const drop = once(arena.server, 'drop') as Promise<[{ localPort: number }]>;
  const second = new Sink(arena.connect({ allowHalfOpen: false }));
  const [dropped] = await drop;
  assert.equal(dropped.localPort, (arena.server.address() as net.AddressInfo).port);
  await second.untilClose();
  assert.equal(arena.accepted.length, 1);
  first.end();
  await sink.untilClose();
});

both('I11: a timeout is counted from what the application sent or received', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow' });
  const client = arena.connect({ timeout: 20 });
  assert.equal(client.timeout, 20);
  await once(client, 'timeout');
  client.setTimeout(0);
  assert.throws(() => client.setTimeout('soon' as unknown as number), { code: 'ERR_INVALID_ARG_TYPE' });
  assert.throws(() => client.setTimeout(-1), { code: 'ERR_OUT_OF_RANGE' });
  client.destroy();
});

test('I11: a server that closes waits for its flow, gives both ports back, then says so', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', onConnection: (socket) => socket.pipe(socket) });
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('a');
  await sink.until(1);
  const { port } = arena.server.address() as net.AddressInfo;
  const closed = once(arena.server, 'close');
  let said = false;
  arena.server.close(() => (said = true));
  client.write('b');
  await sink.until(2);
  assert.equal(said, false);
  client.end();
  await closed;
  assert.equal(said, true);
  for (const free of [port, port + 1]) {
    const other = net.createServer().listen(free, '127.0.0.1');
    await once(other, 'listening');
    other.close();
  }
});

/** Returns a server whose port comes directly after a free port. */
async function busyAfterFree(): Promise<{ busy: net.Server; port: number }> {
  for (;;) {
    const busy = net.createServer().listen(0, '127.0.0.1');
    await once(busy, 'listening');
    const { port } = busy.address() as net.AddressInfo;
    const before = net.createServer().listen(port - 1);
    const free = await once(before, 'listening').then(
      () => true,
      () => false,
    );
    before.close();
    if (free) return { busy, port };
    busy.close();
  }
}

test('I12: where the replica port was asked for, listen() takes both ports or neither, and says which one was taken', async (t) => {
  const { busy, port } = await busyAfterFree();
  t.after(() => busy.close());
  const servers: Array<[server: net.Server, listen: 'all' | number[]]> = [
    [repnet.createServer({ repnet: {} }), 'all'],
    [repnet.createServer(), [port - 1]],
  ];
  t.after(() => repnet.configure({ listen: 'all' }));
  for (const [index, [server, listen]] of servers.entries()) {
    const host = index === 0 ? '127.0.0.1' : undefined;
    repnet.configure({ listen });
    server.on('listening', () => assert.fail('it must not listen'));
    server.listen({ port: port - 1, host });
    const [error] = (await once(server, 'error')) as [NodeJS.ErrnoException & { port: number }];
    assert.deepEqual([error.code, error.port], ['EADDRINUSE', port]);
    assert.equal(server.listening, false);
    const after = net.createServer().listen(port - 1, host);
    await once(after, 'listening');
    after.close();
    await once(after, 'close');
  }
});

test('I12: under the default, a server whose replica port is taken is a plain one, and a warning says so', async (t) => {
  const { busy, port } = await busyAfterFree();
  t.after(() => busy.close());
  for (const host of ['127.0.0.1', 'localhost', undefined]) {
    const warned = once(process, 'warning') as Promise<[Error & { code: string }]>;
    let called = 0;
    const server = repnet.createServer((socket) => socket.end('plain'));
    server.listen({ port: port - 1, host }, () => called++);
    await once(server, 'listening');
    const [warning] = await warned;
    assert.equal(warning.code, 'REPNET_NO_REPLICA_PORT');
    assert.match(warning.message, new RegExp(`^port ${port - 1} has no replica port \\(.*EADDRINUSE.*\\): flows to it run plain$`));
    const client = net.connect(port - 1, '127.0.0.1');
    assert.equal(Buffer.concat(await client.toArray()).toString(), 'plain');
    server.close();
    await once(server, 'close');
    assert.equal(called, 1);
  }
});

test('I12: listen(0) finds two neighbouring ports, at once where there is no name to look up', async () => {
  const servers = Array.from({ length: 50 }, () => repnet.createServer());
  for (const server of servers) {
    let called = 0;
    server.listen(0, () => called++);
    const { port } = server.address() as net.AddressInfo;
    await once(server, 'listening');
    assert.equal((server.address() as net.AddressInfo).port, port);
    assert.equal(called, 1);
    const replica = net.connect(port + 1);
    await once(replica, 'connect');
    replica.destroy();
  }
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
});

test('I12: a server with repnet: false, or on a path, has one port', async (t) => {
  const server = repnet.createServer({ repnet: false }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const neighbour = net.connect((server.address() as net.AddressInfo).port + 1, '127.0.0.1');
  const [error] = (await once(neighbour, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
});

test('I13: an abort while connecting ends both attempts, and nobody hears "connect"', async (t) => {
  const silent = net.createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as net.AddressInfo;
  const attempts: Array<Promise<unknown>> = [];
  const bothThere = new Promise<void>((resolve) => {
    silent.on('connection', (socket) => {
      attempts.push(once(socket, 'close').catch(() => {}));
      socket.on('error', () => {}).resume();
      if (attempts.length === 2) resolve();
    });
  });
  const controller = new AbortController();
  const repnetOption = { mode: 'repflow', assumeCapable: true, replicaPort: port } as const;
  const options = { host: '127.0.0.1', port: port - 1, signal: controller.signal, repnet: repnetOption };
  const client = repnet.connect(options);
  client.on('connect', () => assert.fail('connected'));
  const sink = new Sink(client);
  await bothThere;
  controller.abort();
  await sink.untilClose();
  assert.deepEqual([sink.errors, sink.closes, sink.error?.name], [1, 1, 'AbortError']);
  await Promise.all(attempts);
  const again = repnet.connect({ ...options, signal: undefined });
  again.on('connect', () => assert.fail('connected'));
  again.destroy();
  await once(again, 'close');
});

test('I14: what cannot be replicated is a stock socket: paths, descriptors, a given source port, onread', async (t) => {
  const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as net.AddressInfo;
  repnet.configure({ targets: ['127.0.0.1'] });
  t.after(() => repnet.configure({ targets: [] }));
  const onread = { buffer: Buffer.alloc(10), callback: () => true };
  const options: repnet.TcpNetConnectOpts[] = [
    { port, onread },
    { port, localPort: 0, localAddress: '127.0.0.1' },
    { port, repnet: 'off' },
  ];
  for (const one of options) {
    const socket = repnet.connect({ host: '127.0.0.1', ...one });
    assert.equal(Object.getPrototypeOf(socket), net.Socket.prototype);
    await once(socket, 'connect');
    socket.destroy();
  }
  assert.equal(Object.getPrototypeOf(new repnet.Socket({ onread } as object)), net.Socket.prototype);
  assert.throws(() => repnet.connect({ port: 70_000 }), { code: 'ERR_SOCKET_BAD_PORT' });
});

both('I15: a byte that differs between the legs is an error, at either end', async (t, pairing) => {
  const arena = await Arena.open(t, {
    pairing,
    mode: 'repflow',
    onB: (leg) => leg.up.rewrite((byte, offset) => (offset === arena.head + 7 ? byte ^ 1 : byte)),
  });
  const client = arena.connect();
  client.on('error', () => {});
  const diverged = published<{ role: string }>('repnet:flow:diverged');
  client.write('0123456789');
  const served = new Sink(await arena.flow());
  await served.untilClose();
  assert.equal(served.error?.code, 'ERR_REPNET_DIVERGED');
  assert.deepEqual([(await diverged).role, served.errors], ['server', 1]);
  client.destroy();
});

both('I15: a leg that ends cleanly before the other one is given up and counted, and nothing is lost', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow' });
  const client = arena.connect();
  const served = new Sink(await arena.flow());
  const b = await arena.legB();
  const diverged = published<{ role: string; leg: number; offset: number }>('repnet:flow:diverged');
  client.write('0123456789');
  await served.until(10);
  await b.up.until(arena.head + 10);
  b.up.stall();
  client.write('rest');
  await served.until(14);
  b.up.cut();
  client.end();
  await served.untilEnd();
  const { role, leg, offset } = await diverged;
  assert.deepEqual([role, leg, offset], ['server', 1, 10]);
  served.socket.end();
  await served.untilClose();
  assert.equal(served.text(), '0123456789rest');
  assert.equal(served.errors, 0);
  client.destroy();
});

both('I15: a leg that goes on where the other one has ended is an error', async (t, pairing) => {
  const arena = await Arena.open(t, { pairing, mode: 'repflow' });
  const client = arena.connect();
  client.on('error', () => {});
  const served = new Sink(await arena.flow());
  const [a, b] = [await arena.legA(), await arena.legB()];
  await arena.paired();
  for (const leg of [a, b]) leg.up.allow(arena.head + 10);
  client.write('0123456789rest');
  await served.until(10);
  a.up.cut();
  await served.untilEnd();
  b.up.flow();
  await served.untilClose();
  assert.equal(served.text(), '0123456789');
  assert.equal(served.error?.code, 'ERR_REPNET_DIVERGED');
  client.destroy();
});
