/**
 * Writes the reports of several runs (`--json`) as one page of Markdown: `node table.js 20.json 22.json >results.md`.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageFolder } from '../harness/package-folder';
import { type Failure, type Known, type ModeReport, percentage, reasonFor } from './report';
import { FAMILIES, type Mode } from './tests';

const MODE_NAMES: Record<Mode, string> = {
  plain: 'plain',
  register: 'register',
  repflow: 'RepFlow forced',
  repsyn: 'RepSYN forced',
};

const DUPLEX: Record<string, string> = { true: 'fails', false: 'passes' };

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function scores(reports: readonly ModeReport[]): string[] {
  return [
    row(['Node', 'its tests of', 'mode', ...FAMILIES, 'all', 'left out', 'CPU, s']),
    row(Array.from({ length: FAMILIES.length + 6 }, () => '---')),
    ...reports.map((report) =>
      row([
        report.version,
        report.testsVersion ?? 'unknown',
        MODE_NAMES[report.mode],
        ...FAMILIES.map((family) => {
          const score = report.families[family];
          return score === undefined ? '' : `${score.passes} of ${score.of}`;
        }),
        `${report.passes} of ${report.of} (${percentage(report)})`,
        String(report.leftOut.length),
        report.cpu?.toFixed(0) ?? '',
      ]),
    ),
  ];
}

/** Returns a table of all tests that fail, with the versions and modes in which they fail. */
function regressions(reports: readonly ModeReport[], known: readonly Known[]): string[] {
  const found = new Map<string, { failure: Failure; places: string[]; reason: string | undefined }>();
  for (const { version, mode, failures } of reports) {
    const major = version.split('.')[0];
    for (const failure of failures) {
      const entry = found.get(failure.test) ?? { failure, places: [], reason: undefined };
      entry.reason ??= reasonFor(failure.test, mode, version, known);
      entry.places.push(`${mode} ${major}`);
      found.set(failure.test, entry);
    }
  }
  const sorted = [...found.values()].sort((a, b) => a.failure.test.localeCompare(b.failure.test));
  return [
    row(['test', 'fails in', 'with any Duplex', 'why']),
    row(['---', '---', '---', '---']),
    ...sorted.map(({ failure: { test, failsWithDuplex }, places, reason }) =>
      row([`\`${test}\``, places.join(', '), DUPLEX[String(failsWithDuplex)] ?? '', reason ?? 'no reason written']),
    ),
  ];
}

export function page(reports: readonly ModeReport[], known: readonly Known[]): string {
  return `${[
    "# Node's own tests with repnet",
    '',
    'Written by `make node-suite-all`; what the modes are stands in',
    '[the README of the tests](../README.md). A test counts if stock Node passes it on the same machine;',
    'the others are left out. Where replication is forced, tests that open no socket do not run. CPU is',
    'user and system time of all processes, with what ran again.',
    '',
    ...scores(reports),
    '',
    '## What fails, and why',
    '',
    '"With any Duplex": what the test does without repnet where each connection is a plain',
    '`stream.Duplex` (`duplex.ts`). http2 and TLS treat any stream without a native handle in another way',
    'than a `net.Socket`, and http lets its parser read from that handle.',
    '',
    ...regressions(reports, known),
  ].join('\n')}\n`;
}

if (require.main === module) {
  const files = process.argv.slice(2);
  const read = <Content>(file: string) => JSON.parse(readFileSync(file, 'utf8')) as Content;
  const known = read<Known[]>(path.join(packageFolder, 'test/node-suite/known.json'));
  process.stdout.write(
    page(
      files.flatMap((file) => read<ModeReport[]>(file)),
      known,
    ),
  );
}
