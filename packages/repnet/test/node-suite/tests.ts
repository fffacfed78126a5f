/** Modes of Node's own tests, and the tests that run in each mode. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const MODES = ['plain', 'register', 'repflow', 'repsyn'] as const;
export type Mode = (typeof MODES)[number];

export const FAMILIES = ['net', 'http', 'https', 'http2', 'tls', 'cluster'] as const;
/** Module of Node that a test checks. */
export type Family = (typeof FAMILIES)[number];

/** Modules whose tests run in a mode. */
export const RUNS: Record<Mode, readonly Family[]> = {
  plain: ['net'],
  register: FAMILIES,
  repflow: ['net', 'http', 'https', 'http2', 'tls'],
  repsyn: ['net', 'http', 'https', 'http2', 'tls'],
};

const FOLDERS = ['parallel', 'sequential', 'pummel'];

/** Returns the module that a test checks. It is a part of the file name: `test-http-agent.js` is a test of http. */
export function familyOf(file: string): Family | undefined {
  const name = /^test-([a-z0-9]+)[-.].*?m?js$/.exec(path.basename(file))?.[1];
  return FAMILIES.find((family) => family === name);
}

/**
 * Returns whether the source text of a test shows that the test opens a socket.
 * Such a test calls listen() or connect(), uses the fixture for tls, or runs another test with different flags.
 * A test without a connection has nothing to replicate.
 */
export function opensSocket(source: string): boolean {
  return /\blisten\(|\bconnect\(|tls-connect|require\('\.\/test-/.test(source);
}

/** Returns the files of a mode, relative to Node's test folder. */
export function select(tests: string, mode: Mode, only: RegExp | undefined): string[] {
  const found: string[] = [];
  for (const folder of FOLDERS) {
    let names: string[];
    try {
      names = readdirSync(path.join(tests, folder));
    } catch {
      continue;
    }
    for (const name of names.sort()) {
      const file = `${folder}/${name}`;
      const family = familyOf(name);
      if (family === undefined || !RUNS[mode].includes(family)) continue;
      if (only !== undefined && !only.test(file)) continue;
      if (forces(mode) && family !== 'net' && !opensSocket(readFileSync(path.join(tests, file), 'utf8'))) continue;
      found.push(file);
    }
  }
  return found;
}

/** Returns whether a mode replicates every flow. */
export function forces(mode: Mode): boolean {
  return mode === 'repflow' || mode === 'repsyn';
}

/** Returns the flags in the first lines of a test. */
export function flagsOf(source: string): string[] {
  const line = /^\/\/ Flags:(.*)$/m.exec(source);
  return line?.[1] === undefined ? [] : line[1].trim().split(/\s+/);
}

/** Returns the version of Node that a folder of tests belongs to. It is read from the source tree. */
export function versionOf(tests: string): string | undefined {
  let header: string;
  try {
    header = readFileSync(path.join(tests, '../src/node_version.h'), 'utf8');
  } catch {
    return undefined;
  }
  const parts = ['MAJOR', 'MINOR', 'PATCH'].map((part) => new RegExp(`^#define NODE_${part}_VERSION (\\d+)$`, 'm').exec(header)?.[1]);
  return parts.includes(undefined) ? undefined : parts.join('.');
}
