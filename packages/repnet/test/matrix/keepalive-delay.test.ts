/** Delay of TCP's keepalive on each connection of a flow, read from the kernel. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type net from 'node:net';
import { test } from 'node:test';
import repnet from 'repnet';
import { published, UNHURRIED } from '../harness/replication';

/**
 * Returns the remaining seconds of the keepalive timers of established connections.
 *
 * @param end whether `port` is the local or the remote port of the connections
 */
function keepaliveTimers(end: 'local' | 'remote', port: number): number[] {
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const found: number[] = [];
  for (const row of rows) {
    const [, local = '', remote = '', state, , timer = ''] = row.trim().split(/\s+/);
    const [kind, ticks = ''] = timer.split(':');
    // State 01 is "established", and timer 02 is the keepalive timer. The kernel counts 100 ticks a second.
    if ((end === 'local' ? local : remote).endsWith(wanted) && state === '01' && kind === '02')
      found.push(Number.parseInt(ticks, 16) / 100);
  }
  return found;
}

/** Waits until keepalive is the only timer on both connections. */
async function timersOfBoth(end: 'local' | 'remote', port: number): Promise<number[]> {
  for (;;) {
    const timers = keepaliveTimers(end, port);
    if (timers.length === 2) return timers;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const onLinux = { skip: process.platform !== 'linux' };

test('both connections of a server have its keepAliveInitialDelay', onLinux, async (t) => {
  repnet.configure(UNHURRIED);
  const server = repnet
    .createServer({ keepAlive: true, keepAliveInitialDelay: 300_000 }, (socket) => socket.resume())
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const paired = published<{ role: string }>('repnet:leg:pair', ({ role }) => role === 'server');
  const socket = repnet.connect({ port, host: '127.0.0.1', repnet: { mode: 'repflow', assumeCapable: true } });
  t.after(() => void socket.destroy());
  await paired;
  for (const seconds of await timersOfBoth('local', port + 1)) assert.ok(seconds > 200 && seconds <= 300, `${seconds} s`);
});

for (const made of ['option', 'method'] as const) {
  test(`both connections of a client have the delay of its keepalive (${made})`, onLinux, async (t) => {
    repnet.configure(UNHURRIED);
    const server = repnet.createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close());
    const { port } = server.address() as net.AddressInfo;
    const paired = published<{ role: string }>('repnet:leg:pair', ({ role }) => role === 'client');
    const options = made === 'option' ? { keepAlive: true, keepAliveInitialDelay: 300_000 } : {};
    const socket = repnet.connect({ port, host: '127.0.0.1', ...options, repnet: { mode: 'repflow', assumeCapable: true } });
    t.after(() => void socket.destroy());
    if (made === 'method') socket.setKeepAlive(true, 300_000);
    await paired;
    for (const seconds of await timersOfBoth('remote', port + 1)) assert.ok(seconds > 200 && seconds <= 300, `${seconds} s`);
  });
}
