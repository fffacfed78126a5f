/**
 * Runs Node's own net, http, https, http2, tls and cluster tests with repnet.
 *
 *   npm run node-suite -- --tests <node source tree>/test [--node <binary>] [--mode <mode>]...
 *
 * The tests stay where they are, outside this project. Each file runs in its own process.
 * A failed file runs again without repnet ("stock").
 * A file that also fails without repnet is not part of the percentages. Modes:
 *
 *   plain      `net` is repnet in its default configuration; only the net tests (tier 1)
 *   register   `--import repnet/register` without targets; all tests (tier 2)
 *   repflow    RepFlow for every TCP target and every server; tests with a socket, except cluster tests (tier 3)
 *   repsyn     RepSYN for every TCP target and every server; the same tests (tier 3)
 *
 * With --brief, the mode repsyn skips all tests that opened no replicated flow in the mode repflow.
 * The mode also skips the tests of http2, which opens few connections.
 * `make test` uses --brief, because all tests would take too long.
 *
 * With --duplex, tests that fail in the last two modes run once more without repnet.
 * In this run, connections are plain `stream.Duplex`es (see duplex.ts).
 *
 * Exit status 0: all tests pass in plain, at least 99 % in register, and at least 95 % in repflow and repsyn.
 * Every file that fails also needs a reason in known.json.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { packageFolder } from '../harness/package-folder';
import { complaints, type Known, lines, type ModeReport, reasonFor, report } from './report';
import { type Baseline, baselineOf, CONTROL, childSeconds, type Outcome, Suite } from './suite';
import { familyOf, forces, MODES, type Mode, select, versionOf } from './tests';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tests: { type: 'string' },
      node: { type: 'string', default: process.execPath },
      mode: { type: 'string', multiple: true, default: ['plain', 'repflow', 'repsyn'] },
      only: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      timeout: { type: 'string', default: '60000' },
      tries: { type: 'string', default: '3' },
      json: { type: 'string' },
      brief: { type: 'boolean', default: false },
      duplex: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  if (values.tests === undefined) {
    console.error('node-suite: --tests is missing: the path of the "test" folder of a Node source tree');
    process.exitCode = 2;
    return;
  }
  const unknown = values.mode.find((mode) => !(MODES as readonly string[]).includes(mode));
  if (unknown !== undefined) {
    console.error(`node-suite: --mode ${unknown}: must be one of ${MODES.join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const tests = path.resolve(values.tests);
  const only = values.only === undefined ? undefined : new RegExp(values.only);
  const known = JSON.parse(readFileSync(path.join(packageFolder, 'test/node-suite/known.json'), 'utf8')) as Known[];
  const version = execFileSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  const watch = (file: string, { passed, output }: Outcome): void => {
    if (values.verbose) console.log(passed ? `passed: ${file}` : `failed: ${file}\n${output.replace(/^/gm, '    ')}`);
  };
  const most = Number(values.tries);
  const suite = new Suite(tests, values.node, Number(values.timeout), Number(values.jobs), watch);
  const baselines: Record<Baseline, Map<string, Outcome>> = { stock: new Map(), 'stock with --import': new Map() };
  const reports: ModeReport[] = [];
  /** Files that opened a replicated flow in the mode repflow. */
  let replicated: Set<string> | undefined;
  for (const mode of values.mode as Mode[]) {
    const leftOut = (file: string): boolean =>
      values.brief && mode === 'repsyn' && (familyOf(file) === 'http2' || replicated?.has(file) === false);
    const files = select(tests, mode, only).filter((file) => !leftOut(file));
    const before = childSeconds();
    // A file that is known to fail runs only once.
    const tries = (file: string) => (reasonFor(file, mode, version, known) === undefined ? most : 1);
    const swapped = await suite.run(files, mode, tries);
    if (mode === 'repflow') replicated = new Set([...swapped].filter(([, { flows }]) => flows > 0).map(([file]) => file));
    const stock = baselines[baselineOf(mode)];
    const failed = [...swapped].filter(([, { passed }]) => !passed).map(([file]) => file);
    const unsure = failed.filter((file) => !stock.has(file));
    for (const [file, outcome] of await suite.run(unsure, baselineOf(mode), () => most)) stock.set(file, outcome);
    const after = childSeconds();
    const regressions = forces(mode) && values.duplex ? failed.filter((file) => stock.get(file)?.passed && familyOf(file) !== 'net') : [];
    const duplex = await suite.run(regressions, CONTROL, () => 1);
    const cpu = before === undefined || after === undefined ? undefined : after - before;
    const result = report({ mode, version, testsVersion: versionOf(tests), swapped, stock, duplex, known, cpu });
    reports.push(result);
    for (const line of lines(result)) console.log(line);
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`);
  const found = reports.flatMap(complaints);
  for (const line of found) console.error(line);
  if (found.length > 0) process.exitCode = 1;
}

void main();
