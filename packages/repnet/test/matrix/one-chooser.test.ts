/**
 * Tests that only the client gives up a connection because of a flow's size.
 * If both ends chose, they could choose different connections, and the flow would lose both.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import repnet from 'repnet';
import { Arena, pattern, Sink } from '../harness/arena';
import { PAIRINGS, published } from '../harness/replication';

const LAG_CAP = 65_536;

/**
 * Opens a flow with two connections that has sent its request.
 * Connection B delivers at most ten bytes to the client after the hello.
 */
async function lagging(arena: Arena) {
  const client = arena.connect();
  const sink = new Sink(client);
  client.write('?');
  const [a, b] = [await arena.legA(), await arena.legB()];
  await arena.paired();
  b.down.allow(arena.head + 10);
  return { client, sink, a, b };
}

for (const pairing of PAIRINGS) {
  test(`a server whose slower leg is full does not choose: the client's choice holds (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode: 'repflow', server: { lagCap: LAG_CAP } });
    const dropped = repnet.stats().legs.dropped.lag_over_cap ?? 0;
    const sent = pattern(20_000_000);
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    const served = await arena.flow();
    // At the server, connection A is full first. At the client, connection B is the slower one.
    a.down.allow(arena.head + 90_000);
    b.down.allow(arena.head + 10_000);
    const settled = published<{ leg: number; role: string }>('repnet:flow:chosen', (message) => message.role === 'client');
    served.end(sent);
    await sink.until(90_000);
    assert.equal(repnet.stats().legs.dropped.lag_over_cap ?? 0, dropped);
    a.down.flow();
    assert.equal((await settled).leg, 0);
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    client.end();
    await sink.untilClose();
    assert.equal(sink.errors, 0);
  });

  test(`a client gives up the leg that is behind with the answer by more than its lag cap (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode: 'repflow', client: { maxBytes: Infinity, lagCap: LAG_CAP } });
    const sent = pattern(4_000_000);
    const { client, sink } = await lagging(arena);
    const dropped = published<{ reason: string; leg: number }>('repnet:leg:drop', (message) => message.reason === 'lag_over_cap');
    (await arena.flow()).end(sent);
    assert.equal((await dropped).leg, 1);
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    client.destroy();
  });

  test(`a FIN that comes early on the leg that is behind costs that leg, not the flow (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode: 'repflow' });
    const diverged = repnet.stats().flows.diverged;
    const { client, sink, b } = await lagging(arena);
    const served = await arena.flow();
    served.write(pattern(500));
    await sink.until(500);
    await b.down.until(arena.head + 10);
    b.down.cut();
    await b.clientGone();
    served.end(pattern(1_000).subarray(500));
    await sink.untilEnd();
    client.end();
    await sink.untilClose();
    assert.ok(pattern(1_000).equals(sink.bytes()));
    assert.equal(sink.errors, 0);
    assert.equal(repnet.stats().flows.diverged - diverged, 1, 'it is counted all the same');
  });

  test(`a FIN that comes early on the only leg left is an error, never an end (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode: 'repflow' });
    const { sink, a, b } = await lagging(arena);
    (await arena.flow()).write(pattern(500));
    await sink.until(500);
    await b.down.until(arena.head + 10);
    a.reset();
    await a.clientGone();
    b.down.cut();
    await sink.untilClose();
    assert.equal(sink.ended, false);
    assert.equal(sink.error?.code, 'ERR_REPNET_DIVERGED');
  });
}
