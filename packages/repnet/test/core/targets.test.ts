/** Tests of the targets that a rule matches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRule, parseTarget, type TargetRule } from '../../src/targets';

function rule(text: string): TargetRule {
  const parsed = parseTarget(text);
  if (typeof parsed === 'string') assert.fail(`${text}: ${parsed}`);
  return { ...parsed, overrides: {} };
}

const MATCHES: Array<[rule: string, host: string, port: number, matches: boolean]> = [
  ['db.internal', 'db.internal', 1, true],
  ['db.internal', 'DB.Internal', 5432, true],
  ['db.internal', 'db2.internal', 5432, false],
  ['db.internal:5432', 'db.internal', 5432, true],
  ['db.internal:5432', 'db.internal', 5433, false],
  ['db.internal:5432-5434', 'db.internal', 5434, true],
  ['db.internal:5432-5434', 'db.internal', 5435, false],
  ['*.cache.internal:11211', 'a.cache.internal', 11211, true],
  ['*.cache.internal:11211', 'a.b.cache.internal', 11211, false],
  ['**.cache.internal', 'a.b.cache.internal', 1, true],
  ['node-?', 'node-7', 80, true],
  ['node-?', 'node-17', 80, false],
  ['10.1.0.0/16:6379', '10.1.200.3', 6379, true],
  ['10.1.0.0/16:6379', '10.2.0.1', 6379, false],
  ['10.1.0.0/16', 'ten.internal', 80, false],
  ['10.1.2.3', '10.1.2.3', 80, true],
  ['10.1.2.3', '10.1.2.4', 80, false],
  ['[fd00::/8]:80', 'fd12::1', 80, true],
  ['[fd00::/8]:80', 'fe80::1', 80, false],
  ['fd00::/8', 'fd00::5', 9, true],
  ['[::1]:80', '::1', 80, true],
  ['::1', '::1', 80, true],
  [':8080', 'anything', 8080, true],
  ['*:8080', '10.0.0.1', 8081, false],
  ['*', 'x', 1, true],
];

test('a rule matches the hosts, addresses and ports that it names, and no others', () => {
  for (const [text, host, port, matches] of MATCHES)
    assert.equal(findRule([rule(text)], host, port) !== undefined, matches, `${text} on ${host} port ${port}`);
});

test('what is no target is refused with a sentence that says what is allowed', () => {
  for (const text of [
    '',
    'host:0',
    'host:70000',
    'host:9-8',
    'host:http',
    '10.0.0.0/33',
    '10.0.0/8',
    'fd00::/129',
    'a b',
    'http://host',
    'host/24',
  ]) {
    assert.equal(typeof parseTarget(text), 'string', text);
  }
});

test('the first rule that matches counts', () => {
  const rules = [rule('10.0.0.1'), rule('10.0.0.0/8'), rule('*')];
  assert.equal(findRule(rules, '10.0.0.1', 80)?.text, '10.0.0.1');
  assert.equal(findRule(rules, '10.9.9.9', 80)?.text, '10.0.0.0/8');
  assert.equal(findRule(rules, 'elsewhere', 80)?.text, '*');
  assert.equal(findRule(rules.slice(0, 2), 'elsewhere', 80), undefined);
});
