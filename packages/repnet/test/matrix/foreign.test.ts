/** Tests of the failure matrix: port N+1 belongs to another service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { Sink } from '../harness/arena';
import { MODES, UNHURRIED } from '../harness/replication';

/** Other services that may use port N+1, with their action on a connection. */
const FOREIGN: Record<string, (socket: net.Socket) => void> = {
  'an echo service': (socket) => socket.pipe(socket),
  'a service that speaks first': (socket) => socket.write('220 mail.example ESMTP ready, a line of more than thirty-two bytes\r\n'),
  'a service that answers with an error': (socket) => socket.on('data', () => socket.end('-ERR unknown command\r\n')),
  'a service that says nothing': () => {},
  'a service that hangs up at once': (socket) => socket.end(),
  'a service that resets at once': (socket) => socket.resetAndDestroy(),
};

async function neighbours(t: TestContext, foreign: (socket: net.Socket) => void): Promise<{ port: number; heard: Buffer[] }> {
  const heard: Buffer[] = [];
  for (;;) {
    const mine = net.createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    mine.listen(0, '127.0.0.1');
    await once(mine, 'listening');
    const { port } = mine.address() as net.AddressInfo;
    const sockets: net.Socket[] = [];
    const other = net.createServer({ allowHalfOpen: true }, (socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.on('data', (data: Buffer) => heard.push(data));
      foreign(socket);
    });
    other.listen(port + 1, '127.0.0.1');
    try {
      await once(other, 'listening');
    } catch {
      mine.close();
      continue;
    }
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      mine.close();
      other.close();
    });
    return { port, heard };
  }
}

for (const [name, behave] of Object.entries(FOREIGN)) {
  for (const mode of MODES) {
    test(`${name} on port N+1 gets no byte of the application (${mode}, hello)`, async (t) => {
      repnet.configure({ ...UNHURRIED, helloTimeout: 50 });
      const { port, heard } = await neighbours(t, behave);
      for (const [text, assumeCapable] of [
        ['first flow', true],
        ['second flow', true],
        ['third flow', false],
      ] as const) {
        const client = repnet.connect({
          host: '127.0.0.1',
          port,
          repnet: { mode, pairing: 'hello', assumeCapable, legDeadline: 50 },
        });
        const sink = new Sink(client);
        client.end(text);
        await sink.untilClose();
        assert.equal(sink.text(), text);
        assert.equal(sink.errors, 0);
      }
      assert.doesNotMatch(Buffer.concat(heard).toString('latin1'), /flow/);
    });
  }
}

test('a target that is not listed hears nothing on port N+1', async (t) => {
  let visits = 0;
  const { port } = await neighbours(t, () => (visits += 1));
  const client = repnet.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  client.end('plain');
  await sink.untilClose();
  assert.equal(sink.text(), 'plain');
  assert.equal(visits, 0);
  assert.ok(client instanceof net.Socket);
});
