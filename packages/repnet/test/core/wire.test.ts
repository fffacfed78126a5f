/** Comparison of the hello's codec with spec/wire-vectors.json. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Banner, decodeBanner, decodePreamble, encodeBanner, encodePreamble, encodeUnsupported, type Preamble } from '../../src/wire';
import { packageFolder } from '../harness/package-folder';

interface Vectors<Fields> {
  valid: Array<{ name: string; bytes: string; fields: Fields }>;
  invalid: Array<{ name: string; bytes: string; reason: string }>;
  prefix: Array<{ name: string; bytes: string; reason: string }>;
}

const vectors = JSON.parse(readFileSync(`${packageFolder}/spec/wire-vectors.json`, 'utf8')) as {
  preamble: Vectors<Preamble>;
  banner: Vectors<Banner>;
};

function check<Fields>(of: Vectors<Fields>, decode: (bytes: Buffer) => unknown, encode: (fields: Fields) => Buffer): void {
  for (const { name, bytes, fields } of of.valid) {
    assert.deepEqual(decode(Buffer.from(bytes, 'hex')), fields, name);
    assert.equal(encode(fields).toString('hex'), bytes, name);
    const followed = Buffer.from(`${bytes}00ff`, 'hex');
    assert.deepEqual(decode(followed), fields, `${name}, followed by the application's bytes`);
    for (let length = 0; length < bytes.length / 2; length++) {
      assert.equal(decode(Buffer.from(bytes, 'hex').subarray(0, length)), 'incomplete', `${name}, the first ${length} bytes`);
    }
  }
  for (const { name, bytes, reason } of [...of.invalid, ...of.prefix]) assert.equal(decode(Buffer.from(bytes, 'hex')), reason, name);
}

test('preambles are what the vectors say', () => check(vectors.preamble, decodePreamble, encodePreamble));

test('banners are what the vectors say', () => check(vectors.banner, decodeBanner, encodeBanner));

test('any single wrong byte of a preamble is rejected, or changes a field', () => {
  const [vector] = vectors.preamble.valid;
  assert.ok(vector);
  for (let offset = 0; offset < 32; offset++) {
    const bytes = Buffer.from(vector.bytes, 'hex');
    bytes[offset] = (bytes[offset] ?? 0) ^ 0x40;
    const decoded = decodePreamble(bytes);
    if (offset < 16) assert.equal(typeof decoded, 'string', `byte ${offset}`);
    else assert.notDeepEqual(decoded, vector.fields, `byte ${offset}`);
  }
});

test('a preamble of another version is answered with the version that is spoken', () => {
  const preamble = Buffer.from(vectors.preamble.valid[1]?.bytes ?? '', 'hex');
  preamble[8] = 2;
  preamble[9] = 0xff;
  const banner = decodeBanner(encodeUnsupported(preamble, 'ab'.repeat(16)));
  assert.deepEqual(banner, { version: 1, status: 'unsupported', leg: 1, flowCheck: '00112233', instanceId: 'ab'.repeat(16) });
});
