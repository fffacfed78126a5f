/** Tests of a connection's end of stream: a reset that arrives together with data is not an end. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { Leg, resetSocket } from '../../src/leg';

/** Connects while the event loop is busy, so that one poll reports all actions of the server. */
function outcome(port: number, endFirst: boolean): Promise<string> {
  return new Promise((resolve) => {
    let received = 0;
    const socket = net.connect(port, '127.0.0.1');
    new Leg(socket, 0, {
      legData: (_, chunk) => {
        received += chunk.length;
        return true;
      },
      legEof: (leg) => {
        resolve(`end after ${received}`);
        leg.close();
      },
      legFailed: (_, error) => resolve((error as NodeJS.ErrnoException).code ?? error.message),
      legClosed: () => {},
    });
    if (endFirst) socket.end('question');
    socket.on('connect', () => setImmediate(spin));
  });
}

function spin(): void {
  const until = performance.now() + 3;
  while (performance.now() < until);
}

for (const moment of ['at-once', 'after-fin']) {
  for (const [kind, expected] of [
    ['cut', 'ECONNRESET'],
    ['fin', 'end after 1000'],
  ] as const) {
    test(`a ${kind === 'cut' ? 'reset' : 'FIN'} ${moment === 'after-fin' ? 'after our own FIN' : 'before our own FIN'} is seen as what it is, 100 times`, async (t) => {
      const server: ChildProcess = fork(path.join(__dirname, 'fixtures', 'cutting-server.js'), [kind, moment]);
      t.after(() => server.kill());
      const [port] = (await once(server, 'message')) as [number];
      for (let run = 0; run < 100; run++) assert.equal(await outcome(port, moment === 'after-fin'), expected);
    });
  }
}

test('a socket can be reset at any time: connecting, open, while its FIN is on its way, after it', async (t) => {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as net.AddressInfo;
  const moments: Array<(socket: net.Socket) => Promise<unknown>> = [
    async () => {},
    (socket) => once(socket, 'connectionAttempt'),
    (socket) => once(socket, 'connect'),
    async (socket) => {
      await once(socket, 'connect');
      socket.end();
    },
    async (socket) => {
      await once(socket, 'connect');
      socket.end();
      await once(socket, 'finish');
    },
  ];
  for (const [index, moment] of moments.entries()) {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', (error) => assert.fail(`moment ${index}: ${error.message}`));
    await moment(socket);
    const closed = once(socket, 'close');
    resetSocket(socket);
    await closed;
  }
});
