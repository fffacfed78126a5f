/** Tests of the failure matrix, rows with limits: sizes, descriptors, and a server that closes. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Arena, pattern, Sink } from '../harness/arena';
import { PAIRINGS } from '../harness/replication';

for (const pairing of PAIRINGS) {
  const mode = 'repflow';

  test(`a pooled connection settles on one leg when all its requests together pass maxBytes (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, onConnection: (socket) => socket.pipe(socket) });
    const client = arena.connect();
    const sink = new Sink(client);
    const request = pattern(15_000);
    for (let sent = 1; sent <= 8; sent += 1) {
      client.write(request);
      await sink.until(sent * request.length);
    }
    await Promise.race(arena.path.legs.map((leg) => leg.clientGone()));
    client.end(request);
    await sink.untilClose();
    assert.equal(sink.length, 9 * request.length);
    assert.equal(sink.errors, 0);
  });

  test(`with maxBytes: Infinity both legs carry a long-lived connection to its end (${pairing})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing,
      mode,
      client: { maxBytes: Infinity },
      onConnection: (socket) => socket.pipe(socket),
    });
    const client = arena.connect();
    const sink = new Sink(client);
    const request = pattern(15_000);
    const rounds = 20;
    for (let sent = 1; sent <= rounds; sent += 1) {
      client.write(request);
      await sink.until(sent * request.length);
    }
    const [a, b] = [await arena.legA(), await arena.legB()];
    await Promise.all([a, b].map((leg) => leg.down.until(arena.head + rounds * request.length)));
    client.end();
    await sink.untilClose();
    assert.equal(sink.errors, 0);
  });

  test(`no descriptor left for the second leg: the flow runs on one, and it is counted (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, onConnection: (socket) => socket.pipe(socket) });
    // Node raises the soft limit when it starts, so the client's process gets a hard limit.
    const script = path.join(__dirname, 'few-descriptors.js');
    const { stdout } = await promisify(execFile)('sh', [
      ...['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, script],
      ...[arena.path.host, String(arena.path.port), pairing],
    ]);
    assert.deepEqual(JSON.parse(stdout), { answer: 'served', errors: 0, established: 1, dropped: 1 });
    assert.equal(arena.accepted.length, 1);
  });

  test(`a server that closes with a leg outstanding finishes its flow, then closes (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, b: 'hold' });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('still ');
    const served = await arena.flow();
    served.pipe(served);
    await sink.until(6);
    let closed = false;
    const close = once(arena.server, 'close').then(() => (closed = true));
    arena.server.close();
    const b = await arena.legB();
    await b.admit().catch(() => {});
    client.write('here');
    await sink.until(10);
    assert.equal(closed, false);
    client.end();
    await sink.untilClose();
    await close;
    assert.equal(sink.text(), 'still here');
    assert.equal(arena.accepted.length, 1);
  });
}
