/** Tests of the ways in which a program can load the package. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import repnet from 'repnet';
import { KEYS } from '../../src/settings';
import { packageFolder } from '../harness/package-folder';

test('everything that net exports is there, and it is the same wherever repnet has nothing of its own', () => {
  const own = ['connect', 'createConnection', 'createServer', 'Server', 'Socket', 'Stream'];
  for (const name of Object.getOwnPropertyNames(net)) {
    const [theirs, ours] = [net, repnet].map((module) => (module as unknown as Record<string, unknown>)[name]);
    if (own.includes(name)) assert.equal(typeof ours, 'function', name);
    else assert.equal(ours, theirs, name);
  }
});

test('a process that waits for nothing but the answer of a probe gets it', () => {
  const script = `
    const net = require('repnet');
    net.configure({ targets: ['127.0.0.1:1'] });
    net.probe({ host: '127.0.0.1', port: 1 }).then(console.log);
  `;
  assert.equal(execFileSync(process.execPath, ['--eval', script], { cwd: packageFolder, encoding: 'utf8' }), 'false\n');
});

test('ESM and CJS share one state, and the named exports are the same things', async () => {
  const dynamic = (await import('repnet')) as unknown as { default: typeof repnet };
  repnet.configure({ legDeadline: 1_234 });
  assert.equal(dynamic.default.configuration().legDeadline, 1_234);
  const script = `
    import net, * as named from 'repnet';
    import { createRequire } from 'node:module';
    const required = createRequire(import.meta.url)('repnet');
    for (const [name, value] of Object.entries(named)) if (name !== 'default' && required[name] !== value) throw new Error(name);
    if (net !== required) throw new Error('default');
  `;
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: packageFolder, stdio: 'inherit' });
});

test('with nothing listed, sockets and servers are what net makes', async () => {
  repnet.configure({ targets: [] });
  const socket = new repnet.Socket();
  assert.equal(Object.getPrototypeOf(socket), net.Socket.prototype);
  assert.ok(socket instanceof repnet.Socket);
  assert.ok(socket instanceof repnet.Stream);
  assert.ok(repnet.createServer() instanceof net.Server);
  assert.ok(net.createServer() instanceof repnet.Server);
  class Mine extends repnet.Socket {}
  const mine = new Mine();
  assert.ok(mine instanceof Mine);
  assert.ok(mine instanceof net.Socket);
  assert.equal(socket instanceof Mine, false);
});

test('with targets listed, a socket decides when it connects, and is a Socket all the same', () => {
  repnet.configure({ targets: ['10.0.0.0/8'] });
  const socket = new repnet.Socket();
  assert.ok(socket instanceof repnet.Socket);
  assert.equal(socket instanceof net.Socket, false);
  const prototype = net.Socket.prototype as unknown as Record<string, unknown>;
  const missing = Object.keys(prototype).filter((name) => !name.startsWith('_') && !(name in socket));
  assert.deepEqual(missing, []);
  socket.destroy();
  repnet.configure({ targets: [] });
});

test('the README lists every setting with its default', () => {
  const readme = readFileSync(path.join(packageFolder, 'README.md'), 'utf8');
  for (const [name, key] of Object.entries(KEYS)) {
    const row = readme.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
    assert.ok(row, `no row for ${name}`);
    const shown =
      key.default === undefined ? 'N+1' : typeof key.default === 'number' ? key.default.toLocaleString('en') : String(key.default);
    assert.ok(row.includes(shown), `${name}: ${shown} in ${row}`);
  }
});

test("a host with a null byte gets Node's own answer", () => {
  const options = { host: '127.0.0.1\0.example', port: 1 };
  const refusal = (connect: () => net.Socket): unknown => {
    try {
      connect()
        .on('error', () => {})
        .destroy();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(
    refusal(() => repnet.connect({ ...options, repnet: 'repflow' })),
    refusal(() => net.connect(options)),
  );
});
