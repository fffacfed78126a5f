/**
 * Tests of flows whose stored capability is wrong.
 * Banners are late, ports stop answering, or there are long pauses between flows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import repnet from 'repnet';
import { CapabilityCache } from '../../src/capability';
import { Arena, Sink } from '../harness/arena';
import { MODES, published } from '../harness/replication';

const plainFlows = () => repnet.stats().flows.plain;

for (const mode of MODES) {
  test(`a replica port that goes silent costs a flow its fallback delay, not its leg deadline (${mode})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing: 'hello',
      mode,
      client: { fallbackDelay: 20 },
      process: { capabilityTtl: 600_000 },
      path: { admit: (leg) => (leg.door === 'replica' ? 'hold' : 'pass') },
      onConnection: (socket) => void socket.pipe(socket),
    });
    const before = plainFlows();
    // The leg deadline of these flows is ten minutes, so it does not cause the fallback.
    const sink = new Sink(arena.connect());
    sink.socket.end('first');
    await sink.untilClose();
    assert.equal(sink.text(), 'first');
    assert.equal(plainFlows().silent - before.silent, 1);
    // Later flows use only the service's port, until the next probe of the replica port.
    const next = new Sink(arena.connect({ client: { fallbackDelay: Infinity } }));
    next.socket.end('next');
    await next.untilClose();
    assert.equal(next.text(), 'next');
    assert.equal(plainFlows().doubtful - before.doubtful, 1);
    assert.equal(arena.accepted.length, 2, 'each flow reached the application once');
  });
}

/** Keeps this process busy for a number of turns of the event loop. It never waits for an event in these turns. */
async function stayBusy(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const until = performance.now() + 2;
    while (performance.now() < until);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a process that is too busy to read a banner does not give up the replica port', async (t) => {
  const arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repflow',
    client: { fallbackDelay: 8 },
    path: { admit: () => 'hold' },
    onConnection: (socket) => void socket.pipe(socket),
  });
  const before = plainFlows();
  const sink = new Sink(arena.connect());
  sink.socket.end('late');
  const legs = [await arena.legA(), await arena.legB()];
  // The delay passes here, but the server gets no connection in this time.
  await stayBusy(12);
  for (const leg of legs) void leg.admit();
  while (arena.accepted.length === 0) await stayBusy(1);
  await sink.untilClose();
  assert.equal(sink.text(), 'late');
  assert.equal(plainFlows().silent - before.silent, 0);
});

test('a probe waits for as long as a leg may take: a SYN that was lost once does not write a target off', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repflow', a: 'hold', process: { helloTimeout: 10 } });
  // A held connection does not reach the server, so the server's timeout for a hello does not start.
  const probe = repnet.probe({ host: arena.path.host, port: arena.path.port, repnet: { legDeadline: 600_000 } });
  const leg = await arena.path.leg(0);
  await leg.up.untilTaken(32);
  await leg.admit();
  assert.equal(await probe, true);
});

test('a target that was found capable stays so when its time is over; only eager flows need a banner that is fresh', async () => {
  const cache = new CapabilityCache(1);
  cache.learn('10.0.0.1', 7001, true, 'probed');
  cache.learn('10.0.0.2', 7001, false, 'foreign');
  while (cache.of('10.0.0.2', 7001) !== 'unknown') await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(cache.of('10.0.0.1', 7001), 'capable');
  assert.equal(cache.isFresh('10.0.0.1', 7001), false);
  cache.learn('10.0.0.1', 7001, false, 'refused');
  assert.equal(cache.of('10.0.0.1', 7001), 'incapable');
});

test('RepSYN races the banners: a connection that is up first, and slow then, loses', async (t) => {
  const arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repsyn',
    onA: (leg) => leg.down.allow(0),
    onConnection: (socket) => void socket.pipe(socket),
  });
  const sink = new Sink(arena.connect());
  sink.socket.write('by the other one');
  await sink.until(16);
  const [a, b] = [await arena.legA(), await arena.legB()];
  assert.deepEqual([a.up.passed, b.up.passed], [32, 32 + 16], 'the loser carries its hello and nothing more');
  sink.socket.end();
  await sink.untilClose();
  assert.equal(arena.accepted.length, 1);
});

test('the loser of a RepSYN flow leaves without an error at either end', async (t) => {
  const arena = await Arena.open(t, { pairing: 'hello', mode: 'repsyn', onConnection: (socket) => void socket.pipe(socket) });
  const drops: Array<Error | undefined> = [];
  const seen = published<{ reason: string }>('repnet:leg:drop', (message) => {
    drops.push((message as unknown as { error: Error | undefined }).error);
    return drops.length === 2;
  });
  const sink = new Sink(arena.connect());
  sink.socket.write('question');
  await Promise.all([sink.until(8), seen]);
  const legs = [await arena.legA(), await arena.legB()];
  // The server sends a FIN on the connection that lost, and the client then resets it.
  // A FIN from the client would be wrong, because a server could mistake it for the end of the flow.
  // The server's end is already closed when the reset arrives, so neither end reports an error.
  const loser = legs.find((leg) => leg.up.passed === 32) ?? assert.fail('no loser');
  await Promise.all([loser.clientGone(), loser.serverGone()]);
  assert.deepEqual([loser.down.finished, loser.up.finished, drops], [true, false, [undefined, undefined]]);
  sink.socket.end();
  await sink.untilClose();
});
