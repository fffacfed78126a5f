/** The runner of Node's own tests, on a tree of two small ones made here. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packageFolder } from '../harness/package-folder';
import { complaints, flagsOf, type Known, MODES, report, select } from './run';

const PASSING = `// Flags: --no-warnings
const net = require('net');
const server = net.createServer((socket) => socket.end('hello'));
server.listen(0, '127.0.0.1', () => {
  net.connect(server.address().port, '127.0.0.1').resume().on('close', () => server.close());
});
`;
/** Passes with stock net only: the point of the runner is to notice. */
const STOCK_ONLY = "if ('RepnetError' in require('net')) process.exit(7);\n";
const BROKEN = 'process.exit(1);\n';

function tree(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'repnet-node-suite-test-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

test('the net tests of all three folders are found, and under register those that reach net from elsewhere', (t) => {
  const folder = tree({
    'parallel/test-net-a.js': '',
    'parallel/test-http-b.js': '',
    'parallel/test-fs-c.js': '',
    'pummel/test-net-d.mjs': '',
  });
  t.after(() => rmSync(folder, { recursive: true }));
  assert.deepEqual(select(folder, 'plain', undefined), ['parallel/test-net-a.js', 'pummel/test-net-d.mjs']);
  assert.deepEqual(select(folder, 'register', undefined), ['parallel/test-http-b.js', 'parallel/test-net-a.js', 'pummel/test-net-d.mjs']);
  assert.deepEqual(select(folder, 'plain', /pummel/), ['pummel/test-net-d.mjs']);
});

test('flags are read from the first comment that names them', () => {
  assert.deepEqual(flagsOf('// Copyright\n// Flags: --expose-gc  --no-warnings\n'), ['--expose-gc', '--no-warnings']);
  assert.deepEqual(flagsOf("'use strict';\n"), []);
});

test('what fails with stock net is not counted, what fails with repnet only has to have a reason', () => {
  const outcome = (passed: boolean) => ({ passed, output: '' });
  const stock = new Map([
    ['parallel/test-net-a.js', outcome(true)],
    ['parallel/test-net-b.js', outcome(true)],
    ['parallel/test-net-broken.js', outcome(false)],
  ]);
  const swapped = new Map([
    ['parallel/test-net-a.js', outcome(true)],
    ['parallel/test-net-b.js', outcome(false)],
    ['parallel/test-net-broken.js', outcome(false)],
  ]);
  const result = report('repflow', 'node', stock, swapped, []);
  assert.deepEqual([result.passes, result.stockPasses, result.share], [1, 2, 0.5]);
  assert.deepEqual(complaints(result), [
    'repflow: 50.0 % pass, at least 95 % must',
    'repflow: parallel/test-net-b fails and known.json gives no reason',
  ]);
  const known: Known[] = [{ test: 'parallel/test-net-b', modes: ['repflow'], reason: 'because' }];
  assert.equal(report('repflow', 'node', stock, swapped, known).failures[0]?.reason, 'because');
  assert.equal(report('repsyn', 'node', stock, swapped, known).failures[0]?.reason, undefined);
});

test('a run swaps net in the tests, compares with stock net, and fails on a regression', async (t) => {
  const folder = tree({
    'parallel/test-net-passing.js': PASSING,
    'parallel/test-net-stock-only.js': STOCK_ONLY,
    'parallel/test-net-broken.js': BROKEN,
  });
  t.after(() => rmSync(folder, { recursive: true }));
  const runner = path.join(__dirname, 'run.js');
  const argv = ['--tests', folder, '--mode', 'plain', '--mode', 'repflow', '--mode', 'repsyn'];
  const failed = await promisify(execFile)(process.execPath, [runner, ...argv]).then(
    () => assert.fail('the regression was not noticed'),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  assert.equal(failed.code, 1);
  for (const mode of ['plain', 'repflow', 'repsyn']) {
    assert.match(failed.stdout, new RegExp(`^${mode}: 1 of 2 \\(50\\.0 %\\); 1 fail with stock net too`, 'm'));
  }
  const { stdout } = await promisify(execFile)(process.execPath, [runner, ...argv, '--only', 'passing']);
  assert.match(stdout, /^repsyn: 1 of 1 \(100\.0 %\)$/m);
});

test('every reason in known.json names a test once, a mode, and says something', () => {
  const known = JSON.parse(readFileSync(path.join(packageFolder, 'test/node-suite/known.json'), 'utf8')) as Known[];
  assert.equal(new Set(known.map((entry) => entry.test)).size, known.length);
  for (const { test: name, modes, reason } of known) {
    assert.match(name, /^(parallel|sequential|pummel)\/test-(net|http|https|http2|tls|cluster)-/);
    assert.ok(modes.length > 0 && modes.every((mode) => MODES.includes(mode)));
    assert.ok(reason.length > 20);
  }
});
