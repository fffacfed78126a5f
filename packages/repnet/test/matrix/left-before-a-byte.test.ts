/**
 * Client that leaves the replica port before its first byte and uses port N, for example if the server was too slow.
 * The server's application has already got a connection, which then closes without an error.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Arena, Sink } from '../harness/arena';
import { MODES } from '../harness/replication';

for (const mode of MODES) {
  for (const speaks of [false, true]) {
    const who = speaks ? 'a server that speaks first' : 'a server that waits';
    test(`${who} gets 'close' without 'error' if the client leaves the replica port before its first byte (${mode})`, async (t) => {
      const onConnection = speaks ? (socket: NodeJS.WritableStream): void => void socket.write('220 ready') : () => {};
      const arena = await Arena.open(t, { pairing: 'hello', mode, onConnection, b: 'hold' });
      const client = arena.connect();
      client.on('error', () => {});
      await once(client, 'connect');
      const sink = new Sink(await arena.flow());
      const second = await arena.legB();
      await second.admit();
      (await arena.legA()).resetServer();
      second.resetServer();
      await sink.untilClose();
      assert.equal(sink.errors, 0);
    });
  }

  test(`a server gets an error if the client leaves after its first byte (${mode})`, async (t) => {
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
