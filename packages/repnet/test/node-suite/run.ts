/**
 * Runs Node's own net tests with `net` swapped for repnet.
 *
 *   npm run node-suite -- --tests <node source tree>/test [--node <binary>] [--mode <mode>]...
 *
 * The tests stay where they are, outside this project. Each file runs in a process of its own,
 * first as it is ("stock"); a file that fails there says nothing about repnet and is left out
 * of the percentages. Modes:
 *
 *   plain      `net` is repnet in its default configuration (tier 1)
 *   register   `--import repnet/register`, nothing listed (tier 2)
 *   repflow    every TCP target and every server replicated, RepFlow (tier 3)
 *   repsyn     the same, RepSYN (tier 3)
 *
 * Exit status 0: no regression in plain, at least 99 % in register and 95 % in repflow and repsyn,
 * and a written reason in known.json for every file that fails.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { packageFolder } from '../harness/package-folder';

export const MODES = ['plain', 'register', 'repflow', 'repsyn'] as const;
export type Mode = (typeof MODES)[number];

/** The share of stock passes that must hold, by mode; what fails has to have a reason in known.json besides. */
const REQUIRED: Record<Mode, number> = { plain: 1, register: 0.99, repflow: 0.95, repsyn: 0.95 };

const FOLDERS = ['parallel', 'sequential', 'pummel'];

export interface Known {
  /** File relative to Node's test folder, without its suffix. */
  test: string;
  /** The modes in which it fails. */
  modes: Mode[];
  reason: string;
}

/** What a mode is compared with. The `--import` of a file that does nothing breaks some tests of Node 20's cluster. */
type Baseline = 'stock' | 'stock with --import';

interface Outcome {
  passed: boolean;
  output: string;
}

interface ModeReport {
  mode: Mode;
  node: string;
  stockPasses: number;
  passes: number;
  share: number;
  failures: Array<{ test: string; reason: string | undefined; output: string }>;
}

/** The files of a mode: the net tests, and under `register` all that reach `net` from elsewhere. */
export function select(tests: string, mode: Mode, only: RegExp | undefined): string[] {
  const pattern = mode === 'register' ? /^test-(net|http|https|http2|tls|cluster)-.*\.m?js$/ : /^test-net-.*\.m?js$/;
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
      if (!pattern.test(name)) continue;
      if (only !== undefined && !only.test(file)) continue;
      found.push(file);
    }
  }
  return found;
}

/** The flags that a test asks for in its first lines. */
export function flagsOf(source: string): string[] {
  const line = /^\/\/ Flags:(.*)$/m.exec(source);
  return line?.[1] === undefined ? [] : line[1].trim().split(/\s+/);
}

class Suite {
  constructor(
    readonly tests: string,
    readonly node: string,
    readonly timeoutMs: number,
    readonly jobs: number,
  ) {}

  async run(files: string[], mode: Mode | Baseline): Promise<Map<string, Outcome>> {
    const results = new Map<string, Outcome>();
    const parallel = files.filter((file) => file.startsWith('parallel/'));
    const serial = files.filter((file) => !file.startsWith('parallel/'));
    const lane = async (slot: number): Promise<void> => {
      for (let file = parallel.shift(); file !== undefined; file = parallel.shift()) {
        results.set(file, await this.#one(file, mode, slot));
      }
    };
    await Promise.all(Array.from({ length: this.jobs }, (_, slot) => lane(slot + 1)));
    for (const file of serial) results.set(file, await this.#one(file, mode, 0));
    // A crowded machine breaks timing tests: what failed gets two more chances, alone.
    for (const [file, outcome] of results) {
      for (let chance = 0, last = outcome; chance < 2 && !last.passed; chance += 1) {
        last = await this.#one(file, mode, 0);
        results.set(file, last);
      }
    }
    return results;
  }

  #one(file: string, mode: Mode | Baseline, slot: number): Promise<Outcome> {
    const full = path.join(this.tests, file);
    const flags = flagsOf(readFileSync(full, 'utf8'));
    if (mode === 'register') flags.push('--import', require.resolve('repnet/register'));
    else if (mode === 'stock with --import') flags.push('--import', path.join(__dirname, 'nothing.js'));
    else if (mode !== 'stock') flags.push('--require', path.join(__dirname, 'swap.js'));
    const directory = path.join(os.tmpdir(), `repnet-node-suite-${process.pid}-${slot}`);
    mkdirSync(directory, { recursive: true });
    return new Promise((resolve) => {
      const child = spawn(this.node, [...flags, full], {
        cwd: path.dirname(full),
        env: {
          ...process.env,
          TEST_THREAD_ID: String(slot),
          TEST_SERIAL_ID: String(slot),
          NODE_TEST_DIR: directory,
          ...(mode === 'stock' || mode === 'stock with --import' || mode === 'register'
            ? {}
            : { REPNET_SUITE_MODE: mode, REPNET_SUITE_TESTS: this.tests }),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      let output = '';
      const collect = (chunk: Buffer): void => {
        if (output.length < 20_000) output += chunk.toString();
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      let late = false;
      const stop = (): void => {
        // The whole group: tests start processes of their own.
        try {
          process.kill(-(child.pid as number), 'SIGKILL');
        } catch {
          // Already gone.
        }
      };
      const timer = setTimeout(() => {
        late = true;
        stop();
      }, this.timeoutMs);
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        stop();
        rmSync(directory, { recursive: true, force: true });
        if (late) output += `\nnot done after ${this.timeoutMs} ms`;
        else if (code !== 0) output += `\nexit ${code ?? signal}`;
        resolve({ passed: code === 0 && !late, output });
      });
    });
  }
}

export function report(mode: Mode, node: string, stock: Map<string, Outcome>, swapped: Map<string, Outcome>, known: Known[]): ModeReport {
  const counted = [...swapped].filter(([file]) => stock.get(file)?.passed === true);
  const failures = counted
    .filter(([, outcome]) => !outcome.passed)
    .map(([file, outcome]) => {
      const test = file.replace(/\.m?js$/, '');
      return {
        test,
        reason: known.find((entry) => entry.test === test && entry.modes.includes(mode))?.reason,
        output: outcome.output,
      };
    });
  const passes = counted.length - failures.length;
  return { mode, node, stockPasses: counted.length, passes, share: passes / counted.length, failures };
}

/** Why a report does not meet what is asked, one line each; empty if it does. */
export function complaints(result: ModeReport): string[] {
  const lines: string[] = [];
  if (result.stockPasses === 0) lines.push(`${result.mode}: no test passes with stock net, so nothing was measured`);
  else if (result.share < REQUIRED[result.mode]) {
    lines.push(`${result.mode}: ${(result.share * 100).toFixed(1)} % pass, at least ${REQUIRED[result.mode] * 100} % must`);
  }
  for (const failure of result.failures) {
    if (failure.reason === undefined) lines.push(`${result.mode}: ${failure.test} fails and known.json gives no reason`);
  }
  return lines;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tests: { type: 'string' },
      node: { type: 'string', default: process.execPath },
      mode: { type: 'string', multiple: true, default: ['plain', 'repflow', 'repsyn'] },
      only: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      timeout: { type: 'string', default: '60000' },
      json: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  });
  if (values.tests === undefined) {
    console.error('node-suite: --tests is missing: the path of the "test" folder of a Node source tree');
    process.exitCode = 2;
    return;
  }
  const tests = path.resolve(values.tests);
  const unknown = values.mode.find((mode) => !(MODES as readonly string[]).includes(mode));
  if (unknown !== undefined) {
    console.error(`node-suite: --mode ${unknown}: must be one of ${MODES.join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const only = values.only === undefined ? undefined : new RegExp(values.only);
  const known = JSON.parse(readFileSync(path.join(packageFolder, 'test/node-suite/known.json'), 'utf8')) as Known[];
  const suite = new Suite(tests, values.node, Number(values.timeout), Number(values.jobs));
  const outcomes: Record<Baseline, Map<string, Outcome>> = { stock: new Map(), 'stock with --import': new Map() };
  const reports: ModeReport[] = [];
  for (const mode of values.mode as Mode[]) {
    const files = select(tests, mode, only);
    const baseline: Baseline = mode === 'register' ? 'stock with --import' : 'stock';
    const stock = outcomes[baseline];
    const fresh = files.filter((file) => !stock.has(file));
    for (const [file, outcome] of await suite.run(fresh, baseline)) stock.set(file, outcome);
    const swapped = await suite.run(files, mode);
    const result = report(mode, values.node, stock, swapped, known);
    reports.push(result);
    const broken = files.length - result.stockPasses;
    console.log(
      `${mode}: ${result.passes} of ${result.stockPasses} (${(result.share * 100).toFixed(1)} %)` +
        (broken > 0 ? `; ${broken} fail with stock net too and are left out` : ''),
    );
    for (const failure of result.failures) {
      console.log(`  ${failure.test}: ${failure.reason ?? 'NO REASON WRITTEN'}`);
      if (values.verbose) console.log(failure.output.replace(/^/gm, '      '));
    }
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`);
  const lines = reports.flatMap(complaints);
  for (const line of lines) console.error(line);
  if (lines.length > 0) process.exitCode = 1;
}

if (require.main === module) void main();
