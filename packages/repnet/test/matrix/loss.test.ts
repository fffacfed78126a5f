/** Tests of the failure matrix: a connection fails, carries wrong bytes, or stops in the middle of a flow. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Arena, pattern, Sink } from '../harness/arena';
import { bytesInUse } from '../harness/memory';
import { MODES, PAIRINGS, published } from '../harness/replication';

for (const pairing of PAIRINGS) {
  const mode = 'repflow';

  test(`the client goes on with the leg that is behind when the other one dies (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode });
    const sent = pattern(1000);
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    a.down.allow(arena.head + 600);
    b.down.allow(arena.head + 100);
    const served = await arena.flow();
    served.end(sent);
    await sink.until(600);
    await b.down.until(arena.head + 100);
    a.reset();
    await a.clientGone();
    b.down.flow();
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    assert.equal(sink.errors, 0);
    client.destroy();
  });

  test(`the server goes on with the leg that is behind when the other one dies (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode });
    const sent = pattern(1000);
    const client = arena.connect();
    const clientSink = new Sink(client);
    client.write(sent.subarray(0, 50));
    const served = await arena.flow();
    const sink = new Sink(served);
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    await Promise.all([a.up.until(arena.head + 50), b.up.until(arena.head + 50)]);
    a.up.allow(arena.head + 600);
    b.up.allow(arena.head + 100);
    client.end(sent.subarray(50));
    await sink.until(600);
    await b.up.until(arena.head + 100);
    a.reset();
    await a.serverGone();
    b.up.flow();
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    served.end('thanks');
    await clientSink.untilEnd();
    assert.equal(clientSink.text(), 'thanks');
    assert.equal(sink.errors + clientSink.errors, 0);
  });

  test(`a leg that is reset with unread bytes in the kernel loses none of them (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, client: { maxBytes: 64 * 1024 * 1024 } });
    const sent = pattern(1_000_000);
    const client = arena.connect();
    const sink = new Sink(client);
    client.pause();
    client.write('?');
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    b.down.stall();
    const served = await arena.flow();
    served.end(sent);
    await a.down.until(arena.head + sent.length);
    assert.ok(sink.length < sent.length);
    a.reset();
    await a.clientGone();
    b.down.flow();
    client.resume();
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    assert.equal(sink.errors, 0);
    client.destroy();
  });

  test(`bytes that differ between the legs are an error, never silence (${pairing})`, async (t) => {
    const arena = await Arena.open(t, {
      pairing,
      mode,
      onB: (leg) => leg.down.rewrite((byte, offset) => (offset === (pairing === 'hello' ? 32 : 0) + 3 ? byte ^ 0xff : byte)),
    });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const served = await arena.flow();
    await arena.paired();
    served.write('0123456789');
    await sink.untilClose();
    assert.equal(sink.error?.code, 'ERR_REPNET_DIVERGED');
    assert.equal(sink.errors, 1);
  });

  test(`a leg that stands still is reset when its lag passes the cap, the flow goes on (${pairing})`, async (t) => {
    const total = 128 * 1024 * 1024;
    const arena = await Arena.open(t, { pairing, mode, client: { maxBytes: 1024 * 1024 * 1024, lagCap: 1024 * 1024 } });
    const client = arena.connect();
    client.resume();
    client.write('x');
    const served = await arena.flow();
    let received = 0;
    served.on('data', (chunk: Buffer) => (received += chunk.length));
    const b = await arena.legB();
    await arena.paired();
    await b.up.until(arena.head + 1);
    b.up.stall();
    const dropped = published<{ reason: string }>('repnet:leg:drop', ({ reason }) => reason === 'lag_over_cap');
    const chunk = pattern(256 * 1024);
    const before = bytesInUse();
    let most = 0;
    for (let sent = 0; sent < total; sent += chunk.length) {
      if (!client.write(chunk)) await once(client, 'drain');
      if (sent % (64 * chunk.length) === 0) most = Math.max(most, bytesInUse() - before);
    }
    client.end();
    await once(served, 'end');
    assert.equal(received, total + 1);
    await dropped;
    // A stopped path does not notice the reset, so the path is opened first.
    b.up.flow();
    await b.clientGone();
    // The held bytes are the lag cap, buffers on the path, and garbage that V8 frees late (32 MiB).
    // Together they are much less than the sent bytes.
    assert.ok(most < total / 2, `${most} bytes were held`);
    client.destroy();
  });

  test(`both legs reset by the peer are one ECONNRESET and one close (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const served = await arena.flow();
    const servedSink = new Sink(served);
    const [a, b] = [await arena.legA(), await arena.legB()];
    await Promise.all([a.up.until(arena.head + 1), b.up.until(arena.head + 1), servedSink.until(1)]);
    a.reset();
    b.reset();
    await Promise.all([sink.untilClose(), servedSink.untilClose()]);
    assert.equal(sink.error?.code, 'ECONNRESET');
    assert.deepEqual([sink.errors, sink.closes, sink.ended], [1, 1, false]);
    assert.equal(servedSink.error?.code, 'ECONNRESET');
    assert.deepEqual([servedSink.errors, servedSink.closes, servedSink.ended], [1, 1, false]);
  });

  test(`a paused consumer gets the stream once when the slow leg has overtaken the fast one (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, client: { maxBytes: 64 * 1024 * 1024 } });
    const sent = pattern(2_000_000);
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('?');
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    a.down.allow(arena.head + 300_000);
    b.down.allow(arena.head + 10);
    const served = await arena.flow();
    client.pause();
    served.end(sent);
    await a.down.until(arena.head + 300_000);
    b.down.flow();
    await b.down.until(arena.head + 400_000);
    client.resume();
    await sink.untilEnd();
    assert.ok(sent.equals(sink.bytes()));
    client.destroy();
  });

  test(`a black hole after the other leg was dropped is what it is on plain TCP: silence, then a timeout (${pairing})`, async (t) => {
    const arena = await Arena.open(t, { pairing, mode, onConnection: (socket) => socket.pipe(socket) });
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('1');
    await sink.until(1);
    const [a, b] = [await arena.legA(), await arena.legB()];
    await arena.paired();
    b.reset();
    await b.clientGone();
    a.down.stall();
    client.write('2');
    client.setTimeout(20);
    await once(client, 'timeout');
    assert.equal(sink.errors, 0);
    assert.equal(client.destroyed, false);
    client.setTimeout(0);
    a.down.flow();
    await sink.until(2);
    assert.equal(sink.text(), '12');
    client.destroy();
  });
}

for (const pairing of PAIRINGS) {
  for (const mode of MODES) {
    test(`a client that has half-closed reads on until the server is done (${mode}, ${pairing})`, async (t) => {
      const arena = await Arena.open(t, { pairing, mode });
      const client = arena.connect();
      const sink = new Sink(client);
      client.end('question');
      const served = await arena.flow();
      const servedSink = new Sink(served);
      await servedSink.untilEnd();
      assert.equal(servedSink.text(), 'question');
      for (const part of ['one ', 'two ', 'three']) {
        served.write(part);
        await sink.until(sink.length + part.length);
      }
      assert.equal(sink.ended, false);
      served.end();
      await sink.untilClose();
      assert.equal(sink.text(), 'one two three');
      assert.equal(sink.errors, 0);
      if (mode === 'repflow') {
        const [a, b] = [await arena.legA(), await arena.legB()];
        assert.ok(a.up.finished && b.up.finished, 'the FIN went out on both legs');
      }
    });

    test(`a reset of every leg that is left reaches the application once (${mode}, ${pairing})`, async (t) => {
      const arena = await Arena.open(t, { pairing, mode, onConnection: (socket) => socket.pipe(socket) });
      const client = arena.connect();
      const sink = new Sink(client);
      client.write('x');
      await sink.until(1);
      for (const leg of arena.path.legs) leg.reset();
      await sink.untilClose();
      assert.deepEqual([sink.errors, sink.closes, sink.error?.code], [1, 1, 'ECONNRESET']);
    });
  }
}
