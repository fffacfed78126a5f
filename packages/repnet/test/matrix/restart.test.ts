/** Server that stops and starts again: its first new connection is replicated again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type net from 'node:net';
import { test } from 'node:test';
import repnet from 'repnet';
import { UNHURRIED } from '../harness/replication';

async function start(port: number): Promise<net.Server> {
  const server = repnet.createServer({ repnet: {} }, (socket) => socket.pipe(socket)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Sends a byte and waits for its echo. @returns the code of the error, if there is one */
async function exchange(port: number, assumeCapable: boolean): Promise<string | undefined> {
  const socket = repnet.connect({ port, host: '127.0.0.1', repnet: { assumeCapable } });
  let code: string | undefined;
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code;
  });
  socket.on('data', () => socket.end());
  socket.write('x');
  await new Promise((resolve) => socket.once('close', resolve));
  return code;
}

for (const assumeCapable of [false, true]) {
  const which = assumeCapable ? 'an assumed' : 'a probed';
  test(`the first connection after a restart of ${which} target is raced`, async () => {
    repnet.configure({ ...UNHURRIED, capabilityTtl: 600_000 });
    const first = await start(0);
    const { port } = first.address() as net.AddressInfo;
    if (!assumeCapable) assert.ok(await repnet.probe({ host: '127.0.0.1', port, repnet: {} }));
    assert.equal(await exchange(port, assumeCapable), undefined);
    await once(first.close(), 'close');
    assert.equal(await exchange(port, assumeCapable), 'ECONNREFUSED');
    const second = await start(port);
    const { opened, plain } = repnet.stats().flows;
    assert.equal(await exchange(port, assumeCapable), undefined);
    const after = repnet.stats().flows;
    assert.equal(after.opened - opened, 1);
    assert.deepEqual(after.plain, plain);
    await once(second.close(), 'close');
  });
}

test('a probe of a target that is down says no, and the first connection after its start is raced', async () => {
  repnet.configure({ ...UNHURRIED, capabilityTtl: 600_000 });
  const first = await start(0);
  const { port } = first.address() as net.AddressInfo;
  await once(first.close(), 'close');
  assert.equal(await repnet.probe({ host: '127.0.0.1', port, repnet: {} }), false);
  const second = await start(port);
  const { opened } = repnet.stats().flows;
  assert.equal(await exchange(port, true), undefined);
  assert.equal(repnet.stats().flows.opened - opened, 1);
  await once(second.close(), 'close');
});

test('a target that refuses only the replica port is remembered as one without repnet', async (t) => {
  repnet.configure({ ...UNHURRIED, capabilityTtl: 600_000 });
  const server = repnet.createServer({ repnet: false }, (socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const { fallback, incapable } = repnet.stats().flows.plain;
  assert.equal(await exchange(port, true), undefined);
  assert.equal(await exchange(port, true), undefined);
  const { plain } = repnet.stats().flows;
  assert.deepEqual([plain.fallback - fallback, plain.incapable - incapable], [1, 1]);
});
