/** Tests of kept-alive flows: each message after an idle time gets a second connection again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { decodeBanner, decodePreamble, encodePreamble, VERSION } from '../../src/wire';
import { Arena, type ArenaOptions, pattern, Sink } from '../harness/arena';
import type { ChaosLeg } from '../harness/chaos';
import { Rejoined } from '../harness/rejoined';
import { published } from '../harness/replication';

const LONG = 200_000;
/** Length in bytes of a hello that rejoins. */
const REJOIN = 56;

const IDLE_MS = 20;
const settings: ArenaOptions = { pairing: 'hello', mode: 'repflow', client: { idleTime: IDLE_MS } };

/**
 * Waits for this number of idle times, one after the other. Node fires timers in the order of their times.
 * So even on a busy machine, the package's timer has made at least this number of checks.
 * The second check after the last moved byte finds that the flow is idle.
 */
async function idleFor(times: number): Promise<void> {
  for (let time = 0; time < times; time++) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
}

const newest = (arena: Arena): ChaosLeg => arena.path.legs.at(-1) as ChaosLeg;
const others = (arena: Arena): ChaosLeg[] => arena.path.legs.slice(0, -1);

test('a connection that settled on one leg has two again for the message after it was idle', async (t) => {
  const arena = await Arena.open(t, { ...settings, onConnection: (socket) => void socket.pipe(socket) });
  const rejoined = new Rejoined(t);
  const before = repnet.stats().legs.rejoined;
  const sink = new Sink(arena.connect());
  for (const round of [1, 2]) {
    sink.socket.write(pattern(LONG));
    await sink.until(round * (LONG + 4) - 4);
    await rejoined.now();
    // The new connection carries bytes from the next message.
    const leg = newest(arena);
    assert.ok(leg.up.passed === REJOIN && leg.down.passed === 32, 'a hello each way');
    sink.socket.write('next');
    await sink.until(round * (LONG + 4));
    await Promise.all([leg.up.until(REJOIN + 4), leg.down.until(32 + 4)]);
    assert.equal(sink.text().slice(-4), 'next');
  }
  assert.ok(repnet.stats().legs.rejoined - before >= 4, 'twice at either end');
  sink.socket.end();
  await sink.untilClose();
  assert.equal(sink.errors, 0);
  assert.equal(arena.accepted.length, 1);
});

test('a second leg that fails while the connection is idle is replaced, although no byte moves', async (t) => {
  const arena = await Arena.open(t, {
    ...settings,
    onConnection: (socket) => void socket.pipe(socket),
    // The first attempts to rejoin fail.
    path: { admit: (_leg, index) => (index === 2 || index === 3 ? 'reset' : 'pass') },
  });
  const rejoined = new Rejoined(t);
  const sink = new Sink(arena.connect());
  sink.socket.write(pattern(LONG));
  await sink.until(LONG);
  await rejoined.now();
  assert.equal(arena.path.legs.length, 5);
  newest(arena).reset();
  await arena.path.leg(5);
  await rejoined.now();
  sink.socket.end('goodbye');
  await sink.untilClose();
  assert.equal(sink.text().slice(LONG), 'goodbye');
});

test('a message survives the loss of the leg that carried the connection until then', async (t) => {
  const arena = await Arena.open(t, { ...settings, onConnection: (socket) => void socket.pipe(socket) });
  const rejoined = new Rejoined(t);
  const sink = new Sink(arena.connect());
  sink.socket.write(pattern(LONG));
  await sink.until(LONG);
  await rejoined.now();
  for (const leg of others(arena)) leg.down.stall();
  sink.socket.write('through the new one');
  await sink.until(LONG + 19);
  for (const leg of others(arena)) leg.reset();
  sink.socket.end(' alone');
  await sink.untilClose();
  assert.equal(sink.text().slice(LONG), 'through the new one alone');
  assert.equal(sink.errors, 0);
});

test('what is written while the new leg is on its way is sent on it too, and has to be the same there', async (t) => {
  const arena = await Arena.open(t, {
    ...settings,
    path: {
      admit: (_leg, index) => (index === 2 ? 'hold' : 'pass'),
      onLeg: (leg, index) => {
        if (index === 2) leg.up.rewrite((byte, offset) => (offset === REJOIN + 2 ? byte ^ 1 : byte));
      },
    },
  });
  const rejoined = new Rejoined(t);
  const sink = new Sink(arena.connect());
  sink.socket.write(pattern(LONG));
  const served = new Sink(await arena.flow());
  await served.until(LONG);
  const third = await arena.path.leg(2);
  await third.up.untilTaken(REJOIN);
  for (const leg of others(arena)) leg.up.stall();
  sink.socket.write('held back');
  const diverged = published<{ role: string }>('repnet:flow:diverged');
  await third.admit();
  await rejoined.now();
  for (const leg of others(arena)) leg.up.flow();
  assert.equal((await diverged).role, 'server');
  await served.untilClose();
  assert.equal(served.error?.code, 'ERR_REPNET_DIVERGED');
  sink.socket.destroy();
});

/** Opens a flow to an echo service. Its second leg does not get the last answer. */
async function secondBehind(arena: Arena): Promise<{ sink: Sink; a: ChaosLeg; b: ChaosLeg }> {
  const sink = new Sink(arena.connect());
  sink.socket.write('one');
  const [a, b] = [await arena.legA(), await arena.legB()];
  await arena.paired();
  await Promise.all([a.down.until(32 + 3), b.down.until(32 + 3)]);
  b.down.stall();
  sink.socket.write('two');
  await sink.until(6);
  return { sink, a, b };
}

test('a leg that is behind when the connection is idle gives its place to a new one', async (t) => {
  const arena = await Arena.open(t, { ...settings, onConnection: (socket) => void socket.pipe(socket) });
  const rejoined = new Rejoined(t);
  const dropped = published<{ role: string; reason: string; leg: number }>('repnet:leg:drop', (message) => message.reason === 'behind');
  const { sink } = await secondBehind(arena);
  const { leg, role } = await dropped;
  assert.deepEqual([leg, role], [1, 'client']);
  await rejoined.now();
  sink.socket.end();
  await sink.untilClose();
  assert.equal(sink.text(), 'onetwo');
});

/** Opens a flow whose second leg is behind, and whose client has begun to replace this leg. */
async function replacing(
  t: TestContext,
  path: ArenaOptions['path'],
): Promise<{ arena: Arena; sink: Sink; a: ChaosLeg; b: ChaosLeg; c: ChaosLeg }> {
  const arena = await Arena.open(t, { ...settings, path, onConnection: (socket) => void socket.pipe(socket) });
  const { sink, a, b } = await secondBehind(arena);
  const c = await arena.path.leg(2);
  await c.up.untilTaken(REJOIN);
  return { arena, sink, a, b, c };
}

test('both ends know a new leg by the same message, also after a replacement that has failed', async (t) => {
  const { sink, b, c } = await replacing(t, { admit: (_leg, index) => (index === 2 ? 'hold' : 'pass') });
  const paired = (role: string): Promise<{ role: string; message: number }> =>
    published('repnet:leg:pair', (message) => message.role === role);
  const both = [paired('client'), paired('server')] as const;
  // The replacement fails, and then the slower leg. A new leg takes its place.
  c.reset();
  b.reset();
  const [client, server] = await Promise.all(both);
  assert.equal(client.message, server.message);
  sink.socket.destroy();
});

/** Resolves when a leg with this number was given up at this end. */
const gone = (role: string, leg: number): Promise<unknown> =>
  published<{ role: string; leg: number }>('repnet:leg:drop', (message) => message.role === role && message.leg === leg);

test('the faster leg is reset while the other one is being replaced: the slower one carries the flow', async (t) => {
  const { arena, sink, a, b, c } = await replacing(t, { admit: (_leg, index) => (index === 2 ? 'hold' : 'pass') });
  const both = [gone('client', 0), gone('server', 0)];
  a.reset();
  await Promise.all(both);
  b.down.flow();
  await c.admit();
  sink.socket.end(' three');
  await sink.untilClose();
  assert.deepEqual([sink.text(), sink.errors, arena.accepted.length], ['onetwo three', 0, 1]);
});

test('the server has replaced the slower leg, and then the faster one is reset: the new one carries the flow', async (t) => {
  const replaced = gone('server', 1);
  const { arena, sink, a, c } = await replacing(t, {
    onLeg: (leg, index) => {
      if (index === 2) leg.down.allow(0);
    },
  });
  const slower = gone('client', 1);
  await replaced;
  // The client sees the reset of the slower leg first, then the reset of the faster leg, and then the banner.
  await slower;
  a.reset();
  await a.clientGone();
  c.down.allow(Infinity);
  await gone('client', 1);
  sink.socket.end(' three');
  await sink.untilClose();
  assert.deepEqual([sink.text(), sink.errors, arena.accepted.length], ['onetwo three', 0, 1]);
});

for (const first of ['banner', 'reset of the slower leg'] as const) {
  test(`the faster leg is reset when the server has replaced the other one, and the ${first} comes first: the new one carries the flow`, async (t) => {
    const replaced = gone('server', 1);
    const { arena, sink, a, b, c } = await replacing(t, {
      onLeg: (leg, index) => {
        if (index === 2) leg.down.allow(0);
      },
    });
    await replaced;
    const lost = gone('client', 0);
    a.reset();
    await lost;
    if (first === 'banner') c.down.allow(Infinity);
    else {
      await b.clientGone();
      c.down.allow(Infinity);
    }
    await gone('client', 1);
    sink.socket.end(' three');
    await sink.untilClose();
    assert.deepEqual([sink.text(), sink.errors, arena.accepted.length], ['onetwo three', 0, 1]);
  });
}

test('messages with idleness between them never settle, however many there are', async (t) => {
  const arena = await Arena.open(t, { ...settings, onConnection: (socket) => void socket.pipe(socket) });
  const settled = repnet.stats().legs.dropped.bytes_over_limit;
  const sink = new Sink(arena.connect());
  const legs = [await arena.legA(), await arena.legB()];
  await arena.paired();
  const request = pattern(30_000);
  for (let sent = 1; sent <= 6; sent++) {
    sink.socket.write(request);
    await sink.until(sent * request.length);
    await Promise.all(legs.map((leg) => leg.down.until(32 + sent * request.length)));
    await idleFor(3);
  }
  assert.equal(repnet.stats().legs.dropped.bytes_over_limit, settled);
  sink.socket.end();
  await sink.untilClose();
});

test('a server that has begun to speak refuses the new leg, and the connection goes on as it is', async (t) => {
  const arena = await Arena.open(t, { ...settings, path: { admit: (_leg, index) => (index === 2 ? 'hold' : 'pass') } });
  const sink = new Sink(arena.connect());
  sink.socket.write(pattern(LONG));
  const served = await arena.flow();
  served.resume();
  const third = await arena.path.leg(2);
  await third.up.untilTaken(REJOIN);
  served.write('unasked');
  await sink.until(7);
  await third.admit();
  await third.clientGone();
  sink.socket.end('bye');
  served.end(' and whole');
  await sink.untilClose();
  assert.equal(sink.text(), 'unasked and whole');
  assert.equal(sink.errors, 0);
});

test('who knows a flow but not where it stands, or comes from elsewhere, does not rejoin it', async (t) => {
  const arena = await Arena.open(t, { ...settings, client: { idleTime: Infinity }, onConnection: (socket) => void socket.pipe(socket) });
  const sink = new Sink(arena.connect());
  sink.socket.write(pattern(LONG));
  await sink.until(LONG);
  await Promise.race(arena.path.legs.map((leg) => leg.clientGone()));
  const hello = decodePreamble((await arena.legA()).up.start);
  assert.ok(typeof hello === 'object');
  const { flowId } = hello;
  const { port } = arena.server.address() as net.AddressInfo;
  const ask = async (localAddress: string, received: number, leg: number): Promise<string> => {
    const stranger = net.connect({ host: '127.0.0.1', port: port + 1, localAddress, allowHalfOpen: true });
    const rejoin = { message: 1, sent: LONG, received };
    stranger.write(encodePreamble({ version: VERSION, probe: false, mode: 'repflow', leg, flowId, rejoin }));
    const [banner] = (await once(stranger, 'data')) as [Buffer];
    stranger.destroy();
    const decoded = decodeBanner(banner);
    return typeof decoded === 'object' ? decoded.status : decoded;
  };
  for (const leg of [0, 1]) {
    assert.equal(await ask('127.0.0.3', LONG - 1, leg), 'busy', 'another offset');
    assert.equal(await ask('127.0.0.9', LONG, leg), 'busy', 'another address');
  }
  sink.socket.end(' still whole');
  await sink.untilClose();
  assert.equal(sink.length, LONG + 12);
});
