/** Runner of Node's test files. Each file runs in a separate process. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { familyOf, flagsOf, forces, type Mode } from './tests';

/**
 * Modes without repnet, for comparison.
 * The second mode exists because any `--import` breaks some cluster tests of Node 20.
 */
export type Baseline = 'stock' | 'stock with --import';

/** Mode without repnet in which each connection is a plain `stream.Duplex`. */
export const CONTROL = 'duplex';

export type Variant = Mode | Baseline | typeof CONTROL;

export const baselineOf = (mode: Mode): Baseline => (mode === 'register' ? 'stock with --import' : 'stock');

export interface Outcome {
  passed: boolean;
  output: string;
  /** Number of times that the file has run. */
  tries: number;
  /** Number of replicated flows that the test's processes opened. */
  flows: number;
}

/** Returns the options of Node that load modules before a test. */
function preload(file: string, mode: Variant): string[] {
  if (mode === 'stock') return [];
  if (mode === CONTROL) return ['--require', path.join(__dirname, 'duplex.js')];
  if (mode === 'stock with --import') return ['--import', path.join(__dirname, 'nothing.js')];
  if (mode === 'register') return ['--import', require.resolve('repnet/register')];
  return ['--require', path.join(__dirname, forces(mode) && familyOf(file) !== 'net' ? 'force.js' : 'swap.js')];
}

export class Suite {
  constructor(
    readonly tests: string,
    readonly node: string,
    readonly timeoutMs: number,
    readonly jobs: number,
    /** Called for every try. */
    readonly watch: (file: string, outcome: Outcome) => void = () => {},
  ) {}

  /** @param tries largest number of runs of a file until it passes */
  async run(files: string[], mode: Variant, tries: (file: string) => number): Promise<Map<string, Outcome>> {
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
    // Tests that measure time can fail on a busy machine, so a failed test runs again, alone.
    for (const [file, outcome] of results) {
      for (let last = outcome; !last.passed && last.tries < tries(file); ) {
        last = { ...(await this.#one(file, mode, 0)), tries: last.tries + 1 };
        results.set(file, last);
      }
    }
    return results;
  }

  #one(file: string, mode: Variant, slot: number): Promise<Outcome> {
    const full = path.join(this.tests, file);
    const flags = [...flagsOf(readFileSync(full, 'utf8')), ...preload(file, mode)];
    const directory = path.join(os.tmpdir(), `repnet-node-suite-${process.pid}-${slot}`);
    const flows = `${directory}.flows`;
    mkdirSync(directory, { recursive: true });
    return new Promise((resolve) => {
      const child = spawn(this.node, [...flags, full], {
        cwd: path.dirname(full),
        env: {
          ...process.env,
          TEST_THREAD_ID: String(slot),
          TEST_SERIAL_ID: String(slot),
          NODE_TEST_DIR: directory,
          REPNET_SUITE_MODE: mode,
          REPNET_SUITE_TESTS: this.tests,
          REPNET_SUITE_FLOWS: flows,
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
        // The signal goes to the whole group, because tests start processes.
        try {
          process.kill(-(child.pid as number), 'SIGKILL');
        } catch {
          // The process has already ended.
        }
      };
      const timer = setTimeout(() => {
        late = true;
        stop();
      }, this.timeoutMs);
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        stop();
        const opened = countFlows(flows);
        rmSync(directory, { recursive: true, force: true });
        rmSync(flows, { force: true });
        if (late) output += `\nnot done after ${this.timeoutMs} ms`;
        else if (code !== 0) output += `\nexit ${code ?? signal}`;
        const outcome = { passed: code === 0 && !late, output, tries: 1, flows: opened };
        this.watch(file, outcome);
        resolve(outcome);
      });
    });
  }
}

/** Returns the sum of the numbers that the processes of a test have written. Without flows there is no file. */
function countFlows(file: string): number {
  try {
    return readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .reduce((sum, line) => sum + Number(line), 0);
  } catch {
    return 0;
  }
}

/**
 * Returns the CPU time (user and system) in seconds of this process's ended children. `undefined`: there is no /proc.
 */
export function childSeconds(): number | undefined {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    // proc_pid_stat(5): cutime and cstime are in ticks, and Linux has 100 ticks a second for user space.
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return undefined;
  }
}
