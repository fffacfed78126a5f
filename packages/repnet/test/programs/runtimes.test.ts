/** Tests of bundles, and of runtimes that are not Node. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { packageFolder } from '../harness/package-folder';

const run = promisify(execFile);

const PROGRAM = `
  import net from 'repnet';
  net.configure({ targets: ['127.0.0.0/8'], assumeCapable: true, fallbackDelay: Infinity, legDeadline: 600_000 });
  const server = net.createServer({ repnet: {} }, (socket) => socket.pipe(socket)).listen(0, '127.0.0.1', () => {
    const socket = net.connect(server.address().port, '127.0.0.1', () => socket.end('answered'));
    socket.on('data', (chunk) => process.stdout.write(chunk + ' ' + net.stats().flows.opened));
    socket.on('close', () => server.close());
  });`;

for (const format of ['esm', 'cjs'] as const) {
  test(`a bundle of esbuild in the format ${format} works`, async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'repnet-bundle-'));
    t.after(() => rm(folder, { recursive: true }));
    const outfile = path.join(folder, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs');
    const stdin = { contents: PROGRAM, resolveDir: packageFolder };
    await build({ stdin, outfile, format, bundle: true, platform: 'node', logLevel: 'silent' });
    assert.equal((await run(process.execPath, [outfile])).stdout, 'answered 1');
  });
}

for (const [name, key] of [
  ['Bun', 'bun'],
  ['Deno', 'deno'],
]) {
  for (const entry of ['repnet', 'repnet/register', 'repnet/proxy']) {
    test(`${entry} refuses to be loaded by ${name}, in one sentence`, async () => {
      const program = `
        Object.defineProperty(process, 'versions', { value: { ...process.versions, ${key}: '1.2.3' } });
        try { require('${entry}'); } catch (error) { process.stdout.write(error.code + ' ' + error.message); }`;
      const { stdout } = await run(process.execPath, ['-e', program], { cwd: packageFolder });
      assert.equal(stdout, `ERR_REPNET_RUNTIME repnet needs Node 20.19 or later and does not work with ${name} (this is ${name} 1.2.3)`);
    });
  }
}
