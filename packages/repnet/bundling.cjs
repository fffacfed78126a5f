/**
 * Step of the build that makes the package fit for bundles in ESM format.
 * In an ESM bundle, `require()` cannot load Node's own modules.
 * `process.getBuiltinModule()` loads them in every format.
 */
const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const dist = path.join(__dirname, 'dist');
for (const name of readdirSync(dist, { recursive: true })) {
  if (!name.endsWith('.js')) continue;
  const file = path.join(dist, name);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/\brequire\((["'])(node:[\w/]+)\1\)/g, 'process.getBuiltinModule("$2")'));
}
