/**
 * Promises of Node's `net`.
 * Each scenario runs with Node's own `net`, and with repnet in every way in which a program can load it.
 * Each run is a separate process. All results must be equal. PROMISES.md lists the promises.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import repnet from 'repnet';
import { packageFolder } from '../harness/package-folder';
import { UNHURRIED_ENV } from '../harness/replication';
import { scenarios } from './list';
import type { Played } from './play';

/** Ways to load `net`, each with modes of replication. */
const WAYS = [
  ['register', 'repflow'],
  ['register', 'repsyn'],
  ['require', 'repflow'],
  ['require', 'repsyn'],
  ['import', 'repflow'],
  ['import', 'repsyn'],
] as const;

/** Returns a port whose next port is free, too. */
async function freePair(): Promise<number> {
  const server = repnet.createServer({ repnet: {} }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  await once(server.close(), 'close');
  return port;
}

/** Starts a server of Node that answers one message. */
async function answering(t: TestContext): Promise<number> {
  const server = net.createServer((socket) => socket.once('data', (chunk) => socket.end(`echo ${chunk}`)).on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

async function play(t: TestContext, way: string, env: Record<string, string> = {}): Promise<Record<string, Played>> {
  const port = await freePair();
  const listed = way === 'stock' ? {} : { REPNET_TARGETS: `127.0.0.1:${port},localhost:${port}`, REPNET_LISTEN: String(port) };
  const program = path.join(packageFolder, 'build/test/promises/play.js');
  const load = way === 'register' ? ['--import', 'repnet/register'] : [];
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...load, program, way, String(port), String(await answering(t))],
    {
      cwd: packageFolder,
      env: { ...process.env, ...UNHURRIED_ENV, REPNET_ASSUME_CAPABLE: 'true', ...listed, ...env },
      maxBuffer: 2 ** 24,
    },
  );
  assert.equal(stderr, '');
  return JSON.parse(stdout) as Record<string, Played>;
}

test('every promise of net holds under register, require and import', async (t) => {
  const expected = await play(t, 'stock');
  for (const [way, mode] of WAYS) {
    const found = await play(t, way, { REPNET_MODE: mode });
    for (const [name, { unraced }] of Object.entries(scenarios)) {
      await t.test(`${name} (${way}, ${mode})`, () => {
        assert.deepEqual(found[name]?.log, expected[name]?.log);
        if (!unraced) assert.ok((found[name]?.raced ?? 0) > 0, 'the flow was raced');
      });
    }
  }
});

test('PROMISES.md lists every scenario with its promise', () => {
  const page = readFileSync(path.join(packageFolder, 'PROMISES.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (.*) \| `(.*)` \|$/gm)].map(([, promise, name]) => [name, promise]);
  const wanted = Object.entries(scenarios).map(([name, { promise }]) => [name, promise.replaceAll('|', '\\|')]);
  assert.deepEqual(rows, wanted);
});
