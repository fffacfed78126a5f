/** Tests of the configuration of repnet-proxy: every error names its key. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parseCommandLine, parseConfig } from 'repnet/proxy';

const ROUTE = { name: 'redis', listen: '127.0.0.1:6379', to: '10.0.0.7:7379', replicate: 'out' };

test('a minimal configuration gets the documented defaults', () => {
  assert.deepEqual(parseConfig({ routes: [ROUTE] }), {
    routes: [
      {
        name: 'redis',
        listen: { host: '127.0.0.1', port: 6379 },
        to: { host: '10.0.0.7', port: 7379 },
        replicate: 'out',
        keepaliveIdle: 60_000,
        idleTimeout: Number.POSITIVE_INFINITY,
        settings: {},
      },
    ],
    admin: { host: '127.0.0.1', port: 9464 },
    drainTimeout: 10_000,
  });
});

const FAULTS: Array<[what: string, config: unknown, key: string]> = [
  ['no routes', {}, 'routes'],
  ['an empty list of routes', { routes: [] }, 'routes'],
  ['an unknown key', { routes: [ROUTE], rotues: 1 }, 'rotues'],
  ['an unknown key of a route', { routes: [{ ...ROUTE, mod: 'repsyn' }] }, 'routes[0].mod'],
  ['an address without a port', { routes: [{ ...ROUTE, listen: 'localhost' }] }, 'routes[0].listen'],
  ['a port that is too high', { routes: [{ ...ROUTE, listen: '127.0.0.1:65536' }] }, 'routes[0].listen'],
  ['a setting that flows do not have', { routes: [{ ...ROUTE, budget: 0.5 }] }, 'routes[0].budget'],
  ['a target port of 0', { routes: [{ ...ROUTE, to: '10.0.0.7:0' }] }, 'routes[0].to'],
  ['brackets around something else than IPv6', { routes: [{ ...ROUTE, to: '[redis]:6379' }] }, 'routes[0].to'],
  ['a side that does not exist', { routes: [{ ...ROUTE, replicate: 'both' }] }, 'routes[0].replicate'],
  ['a mode that does not exist', { routes: [ROUTE, { ...ROUTE, name: 'b', listen: '[::1]:1', mode: 'fast' }] }, 'routes[1].mode'],
  ['a name that would break a label', { routes: [{ ...ROUTE, name: 'a"b' }] }, 'routes[0].name'],
  ['two routes of one name', { routes: [ROUTE, { ...ROUTE, listen: '127.0.0.1:6380' }] }, 'routes[1].name'],
  ['two routes on one address', { routes: [ROUTE, { ...ROUTE, name: 'b' }] }, 'routes[1].listen'],
  [
    'a route on the second port of another',
    {
      routes: [
        { ...ROUTE, replicate: 'in' },
        { ...ROUTE, name: 'b', listen: '127.0.0.1:6380' },
      ],
    },
    'routes[1].listen',
  ],
  ['a fraction of a byte', { routes: [{ ...ROUTE, maxBytes: 0.5 }] }, 'routes[0].maxBytes'],
  ['a time that the kernel does not count', { routes: [{ ...ROUTE, keepaliveIdle: 10 }] }, 'routes[0].keepaliveIdle'],
  ['a number of probes, which Node sets', { routes: [{ ...ROUTE, keepaliveProbes: 3 }] }, 'routes[0].keepaliveProbes'],
  ['a negative time', { routes: [ROUTE], drainTimeout: -1 }, 'drainTimeout'],
  ['an admin address that a route has', { routes: [ROUTE], admin: '127.0.0.1:6379' }, 'admin'],
];

for (const [what, config, key] of FAULTS) {
  test(`${what} is an error that names ${key}`, () => {
    assert.throws(() => parseConfig(config), {
      code: 'ERR_REPNET_CONFIG',
      message: new RegExp(`^repnet-proxy: "${key.replaceAll(/[[\].]/g, '\\$&')}" is `),
    });
  });
}

test('flags make the same configuration as a file, and win over it', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'repnet-proxy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'proxy.json');
  writeFileSync(file, JSON.stringify({ routes: [ROUTE], drainTimeout: 5 }));
  const fromFile = parseCommandLine(['--config', file]).config;
  const fromFlags = parseCommandLine([
    '--route',
    'name=redis,listen=127.0.0.1:6379,to=10.0.0.7:7379,replicate=out',
    '--drain-timeout',
    '5',
  ]).config;
  assert.deepEqual(fromFlags, fromFile);
  const changed = parseCommandLine(['--config', file, '--drain-timeout', '7', '--no-admin', '--check']);
  assert.equal(changed.action, 'check');
  assert.equal(changed.config?.drainTimeout, 7);
  assert.equal(changed.config?.admin, false);
});

test('a file that is missing, is no JSON, or a flag that is unknown is an error that names it', () => {
  for (const argv of [
    ['--config', '/nonexistent/proxy.json'],
    ['--config', __filename],
  ]) {
    assert.throws(() => parseCommandLine(argv), { code: 'ERR_REPNET_CONFIG', message: /"--config" is / });
  }
  assert.throws(() => parseCommandLine(['--rout', 'x']), { code: 'ERR_REPNET_CONFIG', message: /--rout/ });
  assert.throws(() => parseCommandLine(['--route', 'listen']), /--route \(number 1\)/);
});
