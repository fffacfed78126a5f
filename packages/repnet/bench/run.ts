/**
 * Cost of repnet compared with plain `net`, in one run:
 *
 *   npm run bench [-- --rounds 20 --flows 400 --what flows|streams|all --json result.json --check]
 *
 * Client and server each have their own process. The cases take turns within each round.
 * Each figure is divided by plain net's figure of the same round.
 * So a slow minute of the machine affects all cases equally.
 * The result is the median of these ratios over all rounds, with a 95 % confidence interval.
 * The limits of the interval are order statistics (sign test).
 */
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CASES, type Case, type Command } from './agent';
import { type Interval, medianWithInterval } from './statistics';

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

class Agent {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #next = 0;

  constructor() {
    this.#child = fork(path.join(__dirname, 'agent.js'));
    this.#child.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error !== undefined) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.value);
    });
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('a benchmark process has died'));
    });
  }

  ask<T>(command: Command): Promise<T> {
    const id = this.#next++;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, command });
    }) as Promise<T>;
  }

  stop(): void {
    this.#child.disconnect();
  }
}

/**
 * Requirements. For CPU: the largest ratio to plain net. For throughput: the smallest ratio to plain net.
 * In addition: the largest ratio to bare sockets with the same work.
 */
const CPU_LIMIT: Partial<Record<Case, number>> = { unlisted: 1.03 };
const FLOOR_LIMIT = 1.1;
const THROUGHPUT_LIMIT = 0.97;
/** Cases for which long streams are measured. */
const STREAMS: ReadonlySet<Case> = new Set<Case>(['net', 'unlisted', 'front', 'repsyn', 'repflow']);
/** Cases for which flows are measured. */
const FLOWS: readonly Case[] = CASES.filter((kind) => kind !== 'front');
/** Additional completion time of a local flow in milliseconds (RepNet paper, section IV-B4). */
const PAPER_ADDED_MS: Partial<Record<Case, number>> = { repsyn: 0.32, repflow: 0.49 };

/** Cases, each with the case of stock `net` that does the same work (floor.ts, paired.ts). */
const FLOOR_OF: ReadonlyArray<[kind: Case, floor: Case, limit?: number]> = [
  ['repsyn', 'raced', FLOOR_LIMIT],
  ['repsyn eager', 'raced eager', FLOOR_LIMIT],
  ['paired', 'doubled'],
  ['repflow', 'doubled', FLOOR_LIMIT],
  ['repflow', 'paired'],
  ['repflow eager', 'doubled eager', FLOOR_LIMIT],
];

interface Row {
  what: string;
  case: Case;
  /** Median of the measured values, in the unit `unit`. */
  value: number;
  unit: string;
  /** Median ratio to another case, with its interval. For added milliseconds: the median difference. */
  against: Interval;
  limit: string;
  met: boolean | undefined;
}

interface Measured {
  cpuMicros: number;
  clientMicros: number;
  fctMs: number;
  /** Throughput in MB a second of a stream on one connection. It is absent for other measurements. */
  throughput: number;
  /** CPU time of both ends for each MB of the stream, in microseconds. */
  streamCpuMicros: number;
}

type Rounds = Record<Case, Measured[]>;

const WHAT = ['all', 'flows', 'streams'] as const;

interface Settings {
  rounds: number;
  flows: number;
  concurrency: number;
  streamMb: number;
  what: (typeof WHAT)[number];
}

/** CPU time of both ends in microseconds. */
async function cpuOf(client: Agent, server: Agent, work: () => Promise<unknown>): Promise<{ client: number; server: number }> {
  const cpu = async (): Promise<[number, number]> => [await client.ask({ do: 'cpu' }), await server.ask({ do: 'cpu' })];
  const before = await cpu();
  await work();
  const after = await cpu();
  return { client: after[0] - before[0], server: after[1] - before[1] };
}

async function measure({ rounds, flows, concurrency, streamMb, what }: Settings): Promise<Rounds> {
  const streamBytes = streamMb * 1_000_000;
  const server = new Agent();
  const client = new Agent();
  const ports = {} as Record<Case, number>;
  for (const kind of CASES) ports[kind] = await server.ask<number>({ do: 'listen', case: kind });
  await client.ask({ do: 'targets', ports });
  const result = Object.fromEntries(CASES.map((kind) => [kind, [] as Measured[]])) as Rounds;
  const warmUp = 2;
  for (let round = 0; round < rounds + warmUp; round += 1) {
    // Each round starts with another case, and every second round has the reverse order.
    // Otherwise a case would always run after the same case.
    // Its CPU time would then include the collection of that case's garbage.
    const turned = CASES.map((_, index) => CASES[(index + round) % CASES.length] as Case);
    const order = round % 2 === 0 ? turned : turned.reverse();
    for (const kind of order) {
      const port = ports[kind];
      const measured: Measured = { cpuMicros: NaN, clientMicros: NaN, fctMs: NaN, throughput: NaN, streamCpuMicros: NaN };
      if (what !== 'streams' && FLOWS.includes(kind)) {
        const cpu = await cpuOf(client, server, () => client.ask({ do: 'echo', case: kind, port, flows, concurrency, bytes: 1024 }));
        const alone = await client.ask<number[]>({
          do: 'echo',
          case: kind,
          port,
          flows: Math.ceil(flows / 4),
          concurrency: 1,
          bytes: 1024,
        });
        measured.cpuMicros = (cpu.client + cpu.server) / flows;
        measured.clientMicros = cpu.client / flows;
        measured.fctMs = alone.reduce((sum, time) => sum + time, 0) / alone.length;
      }
      if (what !== 'flows' && STREAMS.has(kind)) {
        let ms = NaN;
        const cpu = await cpuOf(client, server, async () => {
          ms = await client.ask<number>({ do: 'stream', case: kind, port, bytes: streamBytes });
        });
        measured.throughput = streamBytes / 1e6 / (ms / 1e3);
        measured.streamCpuMicros = (cpu.client + cpu.server) / (streamBytes / 1e6);
      }
      if (round >= warmUp) result[kind].push(measured);
    }
    process.stderr.write(`\rround ${Math.max(0, round + 1 - warmUp)} of ${rounds}`);
  }
  process.stderr.write('\n');
  client.stop();
  server.stop();
  return result;
}

function rows(measured: Rounds, what: Settings['what']): Row[] {
  const base = measured.net;
  const table: Row[] = [];
  const paired = (kind: Case, pick: (m: Measured) => number, combine: (value: number, plain: number) => number): Interval =>
    medianWithInterval(measured[kind].map((m, round) => combine(pick(m), pick(base[round] as Measured))));
  const median = (kind: Case, pick: (m: Measured) => number): number => medianWithInterval(measured[kind].map(pick)).median;
  const ratio = (value: number, plain: number): number => value / plain;
  const flows = what === 'streams' ? [] : FLOWS;
  const streams = what === 'flows' ? [] : STREAMS;
  for (const kind of flows) {
    const limit = CPU_LIMIT[kind];
    const against = paired(kind, (m) => m.cpuMicros, ratio);
    table.push({
      what: 'CPU a 1 KB echo flow, both ends',
      case: kind,
      value: median(kind, (m) => m.cpuMicros),
      unit: 'us',
      against,
      limit: limit === undefined ? '' : `<= ${limit}`,
      met: limit === undefined ? undefined : against.median <= limit,
    });
  }
  for (const [kind, floor, limit] of flows.length > 0 ? FLOOR_OF : []) {
    const against = medianWithInterval(measured[kind].map((m, round) => m.cpuMicros / (measured[floor][round] as Measured).cpuMicros));
    table.push({
      what: `of it, against "${floor}"`,
      case: kind,
      value: median(kind, (m) => m.cpuMicros),
      unit: 'us',
      against,
      limit: limit === undefined ? '' : `<= ${limit}`,
      met: limit === undefined ? undefined : against.median <= limit,
    });
  }
  for (const kind of flows) {
    table.push({
      what: 'of it at the client',
      case: kind,
      value: median(kind, (m) => m.clientMicros),
      unit: 'us',
      against: paired(kind, (m) => m.clientMicros, ratio),
      limit: '',
      met: undefined,
    });
  }
  for (const kind of flows) {
    const paper = PAPER_ADDED_MS[kind];
    const against = paired(
      kind,
      (m) => m.fctMs,
      (value, plain) => value - plain,
    );
    table.push({
      what: 'FCT of a 1 KB echo, alone (ms added)',
      case: kind,
      value: median(kind, (m) => m.fctMs),
      unit: 'ms',
      against,
      limit: paper === undefined ? '' : `paper +${paper}`,
      met: paper === undefined ? undefined : against.median <= paper,
    });
  }
  for (const kind of streams) {
    const against = paired(kind, (m) => m.throughput, ratio);
    table.push({
      what: 'settled stream, echoed',
      case: kind,
      value: median(kind, (m) => m.throughput),
      unit: 'MB/s',
      against,
      limit: kind === 'net' || kind === 'front' ? '' : `>= ${THROUGHPUT_LIMIT}`,
      met: kind === 'net' || kind === 'front' ? undefined : against.median >= THROUGHPUT_LIMIT,
    });
  }
  for (const kind of streams) {
    table.push({
      what: 'CPU a MB of it, both ends',
      case: kind,
      value: median(kind, (m) => m.streamCpuMicros),
      unit: 'us',
      against: paired(kind, (m) => m.streamCpuMicros, ratio),
      limit: '',
      met: undefined,
    });
  }
  return table;
}

function print(table: Row[]): void {
  const cells = [
    ['what', 'case', 'median', 'against net', '95 % interval', 'asked', ''],
    ...table.map((row) => [
      row.what,
      row.case,
      `${row.value.toPrecision(4)} ${row.unit}`,
      row.against.median.toFixed(3),
      `${row.against.low.toFixed(3)} .. ${row.against.high.toFixed(3)}`,
      row.limit,
      row.met === undefined ? '' : row.met ? 'met' : 'MISSED',
    ]),
  ];
  const widths = (cells[0] as string[]).map((_, column) => Math.max(...cells.map((line) => (line[column] as string).length)));
  for (const line of cells)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '20' },
      flows: { type: 'string', default: '400' },
      concurrency: { type: 'string', default: '20' },
      'stream-mb': { type: 'string', default: '64' },
      what: { type: 'string', default: 'all' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  });
  const whole = (name: 'rounds' | 'flows' | 'concurrency' | 'stream-mb'): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: found ${values[name]}; must be an integer of at least 1`);
    return value;
  };
  const what = WHAT.find((one) => one === values.what);
  if (what === undefined) throw new Error(`--what: found ${values.what}; must be one of ${WHAT.join(', ')}`);
  const settings: Settings = {
    rounds: whole('rounds'),
    flows: whole('flows'),
    concurrency: whole('concurrency'),
    streamMb: whole('stream-mb'),
    what,
  };
  const measured = await measure(settings);
  const table = rows(measured, what);
  print(table);
  if (values.json !== undefined) {
    const machine = {
      node: process.version,
      platform: `${os.type()} ${os.release()} ${os.arch()}`,
      cpus: os.cpus().length,
      cpu: os.cpus()[0]?.model,
    };
    writeFileSync(values.json, `${JSON.stringify({ machine, settings, table, measured }, null, 2)}\n`);
  }
  if (values.check && table.some((row) => row.met === false)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
