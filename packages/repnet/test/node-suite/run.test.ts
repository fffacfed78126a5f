/** Tests of the runner of Node's own tests, on a tree of two small tests that this file creates. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packageFolder } from '../harness/package-folder';
import { complaints, type Known, lines, type Run, report } from './report';
import type { Outcome } from './suite';
import { page } from './table';
import { familyOf, flagsOf, MODES, select, versionOf } from './tests';

const PASSING = `// Flags: --no-warnings
const net = require('net');
const server = net.createServer((socket) => socket.end('hello'));
server.listen(0, '127.0.0.1', () => {
  net.connect(server.address().port, '127.0.0.1').resume().on('close', () => server.close());
});
`;
/** Text of a test that passes only with stock net. The runner has to detect this. */
const STOCK_ONLY = "if ('RepnetError' in require('net')) process.exit(7);\n";
const BROKEN = 'process.exit(1);\n';
const HTTP = `const http = require('http');
const server = http.createServer((request, response) => response.end());
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  http.get({ port, host: '127.0.0.1', agent: false }, (response) => response.resume().on('end', () => server.close()));
});
`;

function tree(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'repnet-node-suite-test-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

test('each mode finds the tests of its modules in all three folders', (t) => {
  const folder = tree({
    'parallel/test-net-a.js': '',
    'parallel/test-http.js': '',
    'parallel/test-http2-b.js': '',
    'parallel/test-fs-c.js': '',
    'pummel/test-net-d.mjs': '',
  });
  t.after(() => rmSync(folder, { recursive: true }));
  assert.deepEqual(select(folder, 'plain', undefined), ['parallel/test-net-a.js', 'pummel/test-net-d.mjs']);
  assert.deepEqual(select(folder, 'register', undefined), [
    'parallel/test-http.js',
    'parallel/test-http2-b.js',
    'parallel/test-net-a.js',
    'pummel/test-net-d.mjs',
  ]);
  assert.deepEqual(select(folder, 'plain', /pummel/), ['pummel/test-net-d.mjs']);
  assert.deepEqual(['test-http2-b.js', 'test-https.mjs', 'test-fs-c.js'].map(familyOf), ['http2', 'https', undefined]);
});

test('of other modules than net, only tests that open a socket run with replication forced', (t) => {
  const folder = tree({
    'parallel/test-net-isip.js': "require('net').isIP('');",
    'parallel/test-http-server.js': 'server.listen(0);',
    'parallel/test-http-parser.js': 'parser.execute(buffer);',
    'parallel/test-tls-client.js': "tls.connect({ host: 'example.org' });",
    'parallel/test-tls-pair.js': "const { connect } = require(fixtures.path('tls-connect'));",
  });
  t.after(() => rmSync(folder, { recursive: true }));
  const opening = ['parallel/test-http-server.js', 'parallel/test-net-isip.js', 'parallel/test-tls-client.js', 'parallel/test-tls-pair.js'];
  assert.deepEqual(select(folder, 'repflow', undefined), opening);
  assert.deepEqual(select(folder, 'repsyn', undefined), opening);
  assert.equal(select(folder, 'register', undefined).length, 5);
});

test('flags are read from the first comment that names them', () => {
  assert.deepEqual(flagsOf('// Copyright\n// Flags: --expose-gc  --no-warnings\n'), ['--expose-gc', '--no-warnings']);
  assert.deepEqual(flagsOf("'use strict';\n"), []);
});

test('the version of the tests is that of the tree around them', (t) => {
  const header = ['#define NODE_MAJOR_VERSION 22', '#define NODE_MINOR_VERSION 3', '#define NODE_PATCH_VERSION 10'];
  const folder = tree({ 'src/node_version.h': `${header.join('\n')}\n`, 'test/parallel/test-net-a.js': '' });
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(versionOf(path.join(folder, 'test')), '22.3.10');
  assert.equal(versionOf(folder), undefined);
});

const passed: Outcome = { passed: true, output: '', tries: 1, flows: 1 };
const failed: Outcome = { passed: false, output: '', tries: 3, flows: 0 };

/** Run with three tests: one passes, one passes only with stock Node, and one fails with both. */
const example: Run = {
  mode: 'repflow',
  version: '20.20.2',
  swapped: new Map([
    ['parallel/test-net-a.js', passed],
    ['parallel/test-http-b.js', failed],
    ['parallel/test-net-broken.js', failed],
  ]),
  stock: new Map([
    ['parallel/test-http-b.js', passed],
    ['parallel/test-net-broken.js', failed],
  ]),
  known: [],
};

test('what fails with stock Node is not counted, what fails with repnet only has to have a reason', () => {
  const result = report(example);
  assert.deepEqual([result.passes, result.of, result.replicated], [1, 2, 1]);
  assert.deepEqual(result.families, { net: { passes: 1, of: 1 }, http: { passes: 0, of: 1 } });
  assert.deepEqual(result.leftOut, ['parallel/test-net-broken']);
  assert.deepEqual(complaints(result), [
    'repflow: 50.0 % pass, at least 95 % must',
    'repflow: parallel/test-http-b fails and known.json gives no reason',
  ]);
});

test('a reason is for some modes, and maybe for some versions of Node', () => {
  const test = 'parallel/test-http-b';
  const reasonWith = (known: Known) => report({ ...example, known: [known] }).failures[0]?.reason;
  assert.equal(reasonWith({ test, modes: ['repflow'], reason: 'because' }), 'because');
  assert.equal(reasonWith({ test, modes: ['repsyn'], reason: 'because' }), undefined);
  assert.equal(reasonWith({ test, modes: ['repflow'], nodes: [20, 22], reason: 'because' }), 'because');
  assert.equal(reasonWith({ test, modes: ['repflow'], nodes: [24], reason: 'because' }), undefined);
});

test('a reason for a test that passes is named, and no error: some fail only now and then', () => {
  const known: Known[] = [{ test: 'parallel/test-net-a', modes: ['repflow'], reason: 'because' }];
  const result = report({ ...example, known });
  assert.match(lines(result).join('\n'), /^ {2}passed, although known\.json says why they fail: parallel\/test-net-a$/m);
  assert.doesNotMatch(complaints(result).join('\n'), /test-net-a/);
});

test('the page has a row a run, and every test that fails once', () => {
  const other = report({ ...example, mode: 'repsyn', version: '24.21.0', testsVersion: '24.20.1' });
  const text = page([report(example), other], [{ test: 'parallel/test-http-b', modes: ['repsyn'], reason: 'because' }]);
  assert.match(text, /^\| 20\.20\.2 \| unknown \| RepFlow forced \| 1 of 1 \| 0 of 1 \|/m);
  assert.match(text, /^\| 24\.21\.0 \| 24\.20\.1 \| RepSYN forced \| .* \| 1 of 2 \(50\.0 %\) \| 1 \| {2}\|$/m);
  assert.match(text, /^\| `parallel\/test-http-b` \| repflow 20, repsyn 24 \| {2}\| because \|$/m);
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
    assert.match(failed.stdout, new RegExp(`^${mode}: 1 of 2 \\(50\\.0 %\\)$`, 'm'));
  }
  assert.match(failed.stdout, /left out, as they fail with stock Node too: parallel\/test-net-broken$/m);
  const { stdout } = await promisify(execFile)(process.execPath, [runner, ...argv, '--only', 'passing']);
  assert.match(stdout, /^repsyn: 1 of 1 \(100\.0 %\)\n {2}1 of them opened a replicated flow$/m);
});

test('where replication is forced, a request of http is replicated', async (t) => {
  const folder = tree({ 'parallel/test-http-get.js': HTTP });
  t.after(() => rmSync(folder, { recursive: true }));
  const argv = ['--tests', folder, '--mode', 'repflow', '--mode', 'repsyn'];
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(__dirname, 'run.js'), ...argv]);
  for (const mode of ['repflow', 'repsyn']) {
    assert.match(stdout, new RegExp(`^${mode}: 1 of 1 \\(100\\.0 %\\)\n {2}1 of them opened a replicated flow$`, 'm'));
  }
});

test('every reason in known.json names a test of a mode, and says something', () => {
  const known = JSON.parse(readFileSync(path.join(packageFolder, 'test/node-suite/known.json'), 'utf8')) as Known[];
  for (const { test: name, modes, nodes, reason } of known) {
    assert.match(name, /^(parallel|sequential|pummel)\/test-(net|http|https|http2|tls|cluster)(-|$)/);
    assert.ok(modes.length > 0 && modes.every((mode) => MODES.includes(mode)));
    assert.ok(nodes === undefined || (nodes.length > 0 && nodes.every((major) => [20, 22, 24].includes(major))));
    assert.ok(reason.length > 20);
  }
  const cases = known.flatMap(({ test: name, modes, nodes = [20, 22, 24] }) =>
    modes.flatMap((mode) => nodes.map((node) => `${name} ${mode} ${node}`)),
  );
  assert.equal(new Set(cases).size, cases.length, 'a case has two reasons');
});
