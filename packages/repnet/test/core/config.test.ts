/** Tests of the sources of the configuration, and of the messages about wrong configurations. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { environmentName, loadConfig, type Options, withOptions } from '../../src/config';
import { DEFAULTS, KEYS } from '../../src/settings';

function folder(t: TestContext, config?: string): string {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'repnet-config-'));
  t.after(() => rmSync(directory, { recursive: true }));
  if (config !== undefined) writeFileSync(path.join(directory, 'repnet.config.json'), config);
  return directory;
}

const refused = (message: RegExp) => ({ code: 'ERR_REPNET_CONFIG', message });

test('without file and environment nothing is listed and every key has its default', (t) => {
  const { rules, ...settings } = loadConfig({}, folder(t));
  assert.deepEqual(settings, DEFAULTS);
  assert.deepEqual(rules, []);
});

test('code goes over environment, environment over file, file over defaults', (t) => {
  const directory = folder(t, JSON.stringify({ maxBytes: 1, legDeadline: 2, lagCap: 100_000, targets: ['a:1'] }));
  const config = loadConfig({ REPNET_LEG_DEADLINE: '20', REPNET_LAG_CAP: '200000', REPNET_TARGETS: 'b:1, c:2' }, directory);
  const final = withOptions(config, { lagCap: 300_000 });
  assert.equal(final.maxBytes, 1);
  assert.equal(final.legDeadline, 20);
  assert.equal(final.lagCap, 300_000);
  assert.equal(final.mode, 'repflow');
  assert.deepEqual(
    final.rules.map((rule) => rule.text),
    ['b:1', 'c:2'],
  );
});

test('REPNET_CONFIG names another file, which has to exist then', (t) => {
  const directory = folder(t);
  writeFileSync(path.join(directory, 'other.json'), '{"mode": "repsyn"}');
  assert.equal(loadConfig({ REPNET_CONFIG: 'other.json' }, directory).mode, 'repsyn');
  assert.throws(
    () => loadConfig({ REPNET_CONFIG: 'none.json' }, directory),
    refused(/none\.json \(named by REPNET_CONFIG\) cannot be read/),
  );
});

test('every key can be set from the environment, in its own words', (t) => {
  const texts: Record<string, string> = {
    mode: 'repsyn',
    pairing: 'port',
    replicaPort: '7001',
    assumeCapable: 'true',
    listen: '80,81',
    budget: '0.5',
    confirmTimeout: '7',
    eager: 'true',
    adaptive: 'false',
    secondLegFrom: 'anywhere',
  };
  const directory = folder(t);
  for (const [name, key] of Object.entries(KEYS)) {
    const text = texts[name] ?? '65537';
    const config = loadConfig({ [environmentName(name)]: text }, directory);
    assert.notDeepEqual(config[name as keyof typeof KEYS], key.default, name);
  }
  assert.deepEqual(loadConfig({ REPNET_LISTEN: '80,81' }, directory).listen, [80, 81]);
  assert.equal(loadConfig({ REPNET_MAX_BYTES: 'Infinity' }, directory).maxBytes, Number.POSITIVE_INFINITY);
});

test('a wrong value is an error that names the place, the key, what was found and what is allowed', (t) => {
  const wrong: Array<[config: unknown, message: RegExp]> = [
    [{ maxBytes: 'lots' }, /"maxBytes" is "lots"; allowed: an integer from 0 to \d+, or "Infinity"/],
    [{ maxBytes: 1.5 }, /"maxBytes" is 1\.5/],
    [{ legDeadline: 0 }, /"legDeadline" is 0; allowed: an integer from 1/],
    [{ legDeadline: null }, /"legDeadline" is null/],
    [{ budget: 2 }, /"budget" is 2; allowed: a number from 0 to 1/],
    [{ mode: 'fast' }, /"mode" is "fast"; allowed: "repflow", "repsyn", "off"/],
    [{ assumeCapable: 'yes' }, /"assumeCapable" is "yes"; allowed: true or false/],
    [{ listen: [0] }, /"listen" is \[0\]; allowed: "all", "none", or a list of ports/],
    [{ maxBites: 1 }, /"maxBites" is not a setting here; allowed: mode, .*targets/],
    [{ targets: 'a' }, /"targets" is "a"; allowed: a list of targets/],
    [{ targets: ['a', 'b:0'] }, /"targets\[1\]" is "b:0"; allowed: a port from 1 to 65535/],
    [{ targets: [{ host: 'a' }] }, /"targets\[0\]\.target" is undefined/],
    [{ targets: [{ target: 'a', budget: 1 }] }, /"targets\[0\]\.budget" is not a setting here/],
    [{ targets: [{ target: 'a', maxBytes: -1 }] }, /"targets\[0\]\.maxBytes" is -1/],
    [[], /"\(the whole\)" is \[\]/],
  ];
  for (const [config, message] of wrong) {
    const directory = folder(t, JSON.stringify(config));
    assert.throws(() => loadConfig({}, directory), refused(message));
    assert.throws(() => loadConfig({}, directory), refused(/repnet\.config\.json: /));
    assert.throws(() => withOptions(loadConfig({}, folder(t)), config as Options), refused(/^configure\(\): /));
  }
  assert.throws(() => loadConfig({}, folder(t, '{')), refused(/repnet\.config\.json is not JSON/));
  assert.throws(() => loadConfig({ REPNET_MAX_BYTES: 'x' }, folder(t)), refused(/environment: "REPNET_MAX_BYTES" is "x"/));
});
