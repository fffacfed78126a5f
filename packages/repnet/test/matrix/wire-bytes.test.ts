/**
 * Bytes of TCP payload that a server sends for one answer, counted on the path.
 * RepSYN sends the answer once, and RepFlow sends it twice, however the server's application writes it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { Arena, pattern } from '../harness/arena';
import { MODES, type Mode, PAIRINGS, type Pairing, published } from '../harness/replication';

const ANSWER = pattern(20_000);

/** Ways in which the application of a server answers a request. */
const STYLES: Record<string, (socket: net.Socket) => void> = {
  'inside its handler': (socket) => socket.once('data', () => socket.end(ANSWER)),
  later: (socket) => socket.once('data', () => setImmediate(() => socket.end(ANSWER))),
  'from a stream': (socket) => {
    const pieces = Array.from({ length: 20 }, (_, index) => ANSWER.subarray(index * 1_000, (index + 1) * 1_000));
    socket.once('data', () => Readable.from(pieces).pipe(socket));
  },
  'over http': (socket) => {
    const web = http.createServer((_request, response) => response.setHeader('connection', 'close').end(ANSWER));
    web.emit('connection', socket);
  },
};

/** Returns the number of bytes that the server sends on all connections of one flow. */
async function sent(t: TestContext, style: string, pairing: Pairing, mode: Mode | 'off'): Promise<number> {
  // With pairing by port, a RepSYN server learns the client's choice only if there is no other connection.
  const b = pairing === 'port' && mode === 'repsyn' ? 'hold' : 'pass';
  const client = { mode, confirmTimeout: 60_000 };
  const arena = await Arena.open(t, { pairing, mode: mode === 'off' ? 'repflow' : mode, b, client, onConnection: STYLES[style] as never });
  const both = mode === 'off' || b === 'hold' ? [] : [published<{ role: string }>('repnet:leg:pair', ({ role }) => role === 'server')];
  const socket = arena.connect();
  await Promise.all([once(socket, 'connect'), ...both]);
  socket.resume();
  socket.end('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
  await once(socket, 'close');
  await Promise.all(arena.path.legs.map((leg) => leg.serverGone()));
  return arena.path.legs.reduce((sum, { down }) => sum + down.taken, 0);
}

for (const style of Object.keys(STYLES)) {
  for (const pairing of PAIRINGS) {
    for (const mode of MODES) {
      const [least, most] = mode === 'repsyn' ? [1, 1.1] : [1.9, 2.15];
      test(`a server that answers ${style} sends between ${least} and ${most} times of plain (${mode}, ${pairing})`, async (t) => {
        const plain = await sent(t, style, pairing, 'off');
        const ratio = (await sent(t, style, pairing, mode)) / plain;
        assert.ok(ratio >= least && ratio <= most, `ratio ${ratio.toFixed(3)}`);
      });
    }
  }
}
