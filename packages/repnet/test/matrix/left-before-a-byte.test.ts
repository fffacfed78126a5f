/**
 * Client that leaves the replica port before its first byte, for example because the server was too slow.
 * The server's application has already got a connection. This connection ends without an error.
 * A reset by the client's application is no such end, and is an error, as with Node's own `net`.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type net from 'node:net';
import { type TestContext, test } from 'node:test';
import { Arena, Sink } from '../harness/arena';
import { MODES, type Mode } from '../harness/replication';

/** Answers the client after its end, as a server without `allowHalfOpen` does. */
const endsToo = (socket: net.Socket): void => void socket.on('end', () => socket.end()).resume();
const SERVERS: Array<[string, (socket: net.Socket) => void]> = [
  ['a server that waits', endsToo],
  [
    'a server that speaks first',
    (socket) => {
      socket.write('220 ready');
      endsToo(socket);
    },
  ],
];

/** Opens a path that delivers no banner to the client. The server receives both hellos. */
function withoutBanners(t: TestContext, mode: Mode, onConnection: (socket: net.Socket) => void, client: object): Promise<Arena> {
  return Arena.open(t, {
    pairing: 'hello',
    mode,
    onConnection,
    client: { fallbackDelay: 600_000, ...client },
    onA: (leg) => leg.down.allow(0),
    onB: (leg) => leg.down.allow(0),
  });
}

for (const mode of MODES) {
  for (const [who, onConnection] of SERVERS) {
    for (const [why, limit] of [
      ['the fallback delay', { fallbackDelay: 20 }],
      ['the leg deadline', { legDeadline: 20 }],
    ] as const) {
      test(`${who} gets 'close' without 'error' if its client leaves the replica port after ${why} (${mode})`, async (t) => {
        const arena = await withoutBanners(t, mode, onConnection, limit);
        const client = new Sink(arena.connect());
        const left = new Sink(await arena.flow(0));
        await left.untilClose();
        assert.deepEqual([left.errors, left.length, left.ended], [0, 0, true]);
        client.socket.end('by the port itself');
        const served = new Sink(await arena.flow(1));
        await Promise.all([served.untilClose(), client.untilClose()]);
        assert.equal(served.text(), 'by the port itself');
        assert.deepEqual([served.errors, client.errors], [0, 0]);
      });
    }

    test(`${who} gets 'close' without 'error' if its client is destroyed before 'connect' (${mode})`, async (t) => {
      const arena = await withoutBanners(t, mode, onConnection, {});
      const client = arena.connect();
      const left = new Sink(await arena.flow());
      client.destroy();
      await left.untilClose();
      assert.equal(left.errors, 0);
    });

    test(`${who} gets an error if its client is reset before its first byte (${mode})`, async (t) => {
      const arena = await Arena.open(t, { pairing: 'hello', mode, onConnection });
      const client = arena.connect();
      await once(client, 'connect');
      const sink = new Sink(await arena.flow());
      client.resetAndDestroy();
      await sink.untilClose();
      assert.equal(sink.error?.code, 'ECONNRESET');
    });
  }

  test(`a server gets an error if its connections are reset after the first byte (${mode})`, async (t) => {
    const arena = await Arena.open(t, { pairing: 'hello', mode, b: 'hold' });
    const client = arena.connect();
    client.on('error', () => {});
    await once(client, 'connect');
    const sink = new Sink(await arena.flow());
    client.write('x');
    await sink.until(1);
    const second = await arena.legB();
    await second.admit();
    (await arena.legA()).resetServer();
    second.resetServer();
    await sink.untilClose();
    assert.equal(sink.error?.code, 'ECONNRESET');
  });
}
