/** Results of a run of Node's own tests with repnet. */
import type { Outcome } from './suite';
import { type Family, familyOf, forces, type Mode } from './tests';

/**
 * Share of tests that must pass, by mode, among the tests that stock Node passes.
 * In addition, each failed test needs a reason in known.json.
 */
const REQUIRED: Record<Mode, number> = { plain: 1, register: 0.99, repflow: 0.95, repsyn: 0.95 };

export interface Known {
  /** Name of the test file, relative to Node's test folder, without its suffix. */
  test: string;
  /** Modes in which the test fails. */
  modes: Mode[];
  /** Major versions of Node in which the test fails. If it is absent, the test fails in all versions. */
  nodes?: number[];
  reason: string;
}

export interface Failure {
  test: string;
  reason: string | undefined;
  output: string;
  /**
   * Whether the test also fails without repnet, where each connection is a plain `stream.Duplex`.
   * `undefined`: this was not tried.
   */
  failsWithDuplex: boolean | undefined;
}

/** Number of passed tests among those that pass with stock Node. */
export interface Score {
  passes: number;
  of: number;
}

export interface ModeReport extends Score {
  mode: Mode;
  /** Version of Node, such as `20.20.2`. */
  version: string;
  /** Version of Node's source tree with the tests. `undefined`: the tree does not contain its version. */
  testsVersion: string | undefined;
  families: Partial<Record<Family, Score>>;
  failures: Failure[];
  /** Files that also fail with stock Node. */
  leftOut: string[];
  /** Files that passed only when they ran again. */
  repeated: string[];
  /** Number of tests that opened a replicated flow. */
  replicated: number;
  /** Entries of known.json for tests that pass. */
  outdated: string[];
  /** CPU time in seconds, if it is known. */
  cpu: number | undefined;
}

const nameOf = (file: string): string => file.replace(/\.m?js$/, '');

/** Returns the reason in `known` why a test fails, or `undefined` if there is none. */
export function reasonFor(file: string, mode: Mode, version: string, known: readonly Known[]): string | undefined {
  const test = nameOf(file);
  const major = Number.parseInt(version, 10);
  return known.find((entry) => entry.test === test && entry.modes.includes(mode) && (entry.nodes?.includes(major) ?? true))?.reason;
}

export interface Run {
  mode: Mode;
  version: string;
  testsVersion?: string;
  /** Results of the tests with repnet. */
  swapped: Map<string, Outcome>;
  /** Results with stock Node, at least for the files that failed with repnet. */
  stock: Map<string, Outcome>;
  /** Results with plain `stream.Duplex`es, for all files for which they were tried. */
  duplex?: Map<string, Outcome>;
  known: readonly Known[];
  cpu?: number;
}

export function report({ mode, version, testsVersion, swapped, stock, duplex, known, cpu }: Run): ModeReport {
  const result: ModeReport = {
    mode,
    version,
    testsVersion,
    passes: 0,
    of: 0,
    families: {},
    failures: [],
    leftOut: [],
    repeated: [],
    replicated: 0,
    outdated: [],
    cpu,
  };
  for (const [file, { passed, output, tries, flows }] of swapped) {
    const test = nameOf(file);
    if (!passed && stock.get(file)?.passed !== true) {
      result.leftOut.push(test);
      continue;
    }
    const score = (result.families[familyOf(file) as Family] ??= { passes: 0, of: 0 });
    const reason = reasonFor(file, mode, version, known);
    for (const count of [result, score]) {
      count.of++;
      if (passed) count.passes++;
    }
    if (flows > 0) result.replicated++;
    const control = duplex?.get(file);
    if (!passed) result.failures.push({ test, reason, output, failsWithDuplex: control && !control.passed });
    else if (reason !== undefined) result.outdated.push(test);
    else if (tries > 1) result.repeated.push(test);
  }
  return result;
}

export const percentage = ({ passes, of }: Score): string => `${((passes / of) * 100).toFixed(1)} %`;

/** Returns the output of a run, one entry for each line. */
export function lines(result: ModeReport): string[] {
  const { mode, passes, of, leftOut, repeated, replicated, failures, outdated, cpu } = result;
  const list = (what: string, tests: string[]): string[] => (tests.length === 0 ? [] : [`  ${what}: ${tests.join(', ')}`]);
  return [
    `${mode}: ${passes} of ${of} (${percentage(result)})`,
    ...(forces(mode) ? [`  ${replicated} of them opened a replicated flow`] : []),
    ...(cpu === undefined ? [] : [`  ${cpu.toFixed(0)} s of CPU`]),
    ...list('left out, as they fail with stock Node too', leftOut),
    ...list('passed when they ran again', repeated),
    ...list('passed, although known.json says why they fail', outdated),
    ...failures.map(({ test, reason }) => `  ${test}: ${reason ?? 'NO REASON WRITTEN'}`),
  ];
}

/** Returns the requirements that a report does not meet, one entry for each line. */
export function complaints(result: ModeReport): string[] {
  const { mode, of, passes, failures } = result;
  const found: string[] = [];
  if (of === 0) found.push(`${mode}: no test passes with stock Node, so nothing was measured`);
  else if (passes / of < REQUIRED[mode]) found.push(`${mode}: ${percentage(result)} pass, at least ${REQUIRED[mode] * 100} % must`);
  for (const { test, reason } of failures) {
    if (reason === undefined) found.push(`${mode}: ${test} fails and known.json gives no reason`);
  }
  return found;
}
