/** Tests of the failure matrix: the second connection arrives late or never. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { encodePreamble, VERSION } from '../../src/wire';
import { Arena, Sink } from '../harness/arena';
import { PAIRINGS, published } from '../harness/replication';

for (const pairing of PAIRINGS) {
  const mode = 'repflow';

  test(`a server that writes before the second leg pairs replays its archive on it (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, b: 'hold' });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const served = await arena.flow();
    served.write('archived ');
    await sink.until(9);
    const [a, b] = [await arena.legA(), await arena.legB()];
    a.down.stall();
    await b.admit();
    await b.down.until(arena.head + 9);
    served.write('and live');
    await sink.until(17);
    assert.equal(sink.text(), 'archived and live');
    client.destroy();
  });

  test(`a server that ended before the second leg pairs gives it the archive and the FIN (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, b: 'hold', onA: (leg) => leg.down.allow(pairing === 'hello' ? 32 : 0) });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const served = await arena.flow();
    served.end('all of it');
    const b = await arena.legB();
    await b.admit();
    await b.down.untilFinished();
    await sink.untilEnd();
    assert.equal(sink.text(), 'all of it');
    client.destroy();
  });

  test(`a second leg of a flow that has finished is reset by its tombstone, the request runs once (${pairing})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing,
      mode,
      b: 'hold',
      onConnection: (socket) => socket.on('data', (data) => socket.end(data)),
    });
    const client = arena.connect();
    const sink = new Sink(client);
    client.end('run me once');
    await sink.untilClose();
    assert.equal(sink.text(), 'run me once');
    assert.equal(sink.errors, 0);
    const served = await arena.flow();
    if (!served.closed) await once(served, 'close');
    const b = await arena.legB();
    await b.admit().catch(() => {});
    await b.serverGone();
    assert.equal(arena.accepted.length, 1);
  });

  test(`a second leg that comes after the waiting-list timeout is reset, the flow goes on (${pairing})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing,
      mode,
      b: 'hold',
      process: { waitingListTimeout: 20 },
      onConnection: (socket) => socket.pipe(socket),
    });
    const timedOut = published<{ reason: string }>('repnet:flow:chosen', ({ reason }) => reason === 'waiting_list_timeout');
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('before');
    await sink.until(6);
    await timedOut;
    const b = await arena.legB();
    await b.admit().catch(() => {});
    await b.serverGone();
    client.write(' and after');
    await sink.until(16);
    assert.equal(sink.text(), 'before and after');
    assert.equal(arena.accepted.length, 1);
    client.destroy();
  });

  test(`a flow whose second leg came first goes on when too much is written for the other one, and it is late (${pairing})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing,
      mode,
      a: 'hold',
      server: { archiveCap: 1_000 },
      process: { waitingListTimeout: 20 },
      onConnection: (socket) => {
        if (arena.accepted.length === 1) socket.write('x'.repeat(2_000));
        socket.pipe(socket);
      },
    });
    const sink = new Sink(arena.connect());
    await sink.until(2_000);
    // Another client opens only one connection.
    // Timers fire in order, so when its flow has waited long enough, the first flow has waited long enough, too.
    const timedOut = published<{ reason: string }>('repnet:flow:chosen', ({ reason }) => reason === 'waiting_list_timeout');
    const stranger = net.connect({ host: arena.path.host, port: arena.path.port + (pairing === 'hello' ? 1 : 0) });
    if (pairing === 'hello') stranger.write(encodePreamble({ version: VERSION, probe: false, mode, leg: 0, flowId: '1'.repeat(32) }));
    await timedOut;
    stranger.destroy();
    sink.socket.end('the end');
    await sink.untilClose();
    assert.deepEqual([sink.text().slice(2_000), sink.errors], ['the end', 0]);
  });
}
