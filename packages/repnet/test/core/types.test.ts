/** Test of the types: tsc compiles `types/assignable.ts` with each supported version of @types/node. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { packageFolder } from '../harness/package-folder';

const VERSIONS = { 20: '@types/node-20', 22: '@types/node-22', 24: '@types/node' };

for (const [version, name] of Object.entries(VERSIONS)) {
  test(`what repnet gives is assignable where @types/node ${version} asks for it`, (t) => {
    const types = path.join(packageFolder, 'node_modules', name);
    const found = JSON.parse(readFileSync(path.join(types, 'package.json'), 'utf8')) as { version: string };
    assert.equal(found.version.split('.')[0], version);
    // The folder is separate, so that Node finds no other version of @types/node.
    const folder = mkdtempSync(path.join(packageFolder, 'build', 'types-'));
    t.after(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, 'types'));
    symlinkSync(types, path.join(folder, 'types', 'node'));
    const config = {
      extends: path.join(packageFolder, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        rootDir: packageFolder,
        typeRoots: [path.join(folder, 'types')],
        paths: { 'undici-types': [path.join(packageFolder, 'node_modules', 'undici-types')] },
        noUnusedLocals: false,
      },
      include: [],
      files: [path.join(packageFolder, 'test', 'types', 'assignable.ts')],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = path.join(packageFolder, 'node_modules', '.bin', 'tsc');
    const { status, stdout } = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });
}
