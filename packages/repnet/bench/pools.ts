/**
 * repnet behind a pool of kept-alive connections, compared with fresh connections:
 *
 *   npm run bench:pools [-- --seeds 20 --requests 1600 --json result.json --check --sidecar TAILCUT]
 *
 * The pool has 32 connections. Requests have 1 KB and answers 10 KB, with pauses between them.
 * Each connection uses one of three paths, and one path is congested.
 * On this path all data waits for a random time (exponential), and sometimes for a retransmission timeout.
 * The benchmark compares the 99th percentiles (p99) of plain `net` and of RepFlow.
 * It measures `net` and RepFlow over the pool, and with one connection for each request.
 * Each seed runs all four cases in turn.
 * The first result is the change of the p99 from plain `net` to RepFlow, in percent.
 * The second result is the difference between the change over the pool and the change with fresh connections.
 * Both results are medians over all seeds with a 95 % interval.
 *
 * With `--sidecar`, client and server are plain `net`, each with a proxy (`TAILCUT proxy repnet`).
 * The paths are between the two proxies.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import repnet = require('repnet');

import { endsByFin } from '../src/certain-end';
import { resetSocket } from '../src/leg';
import { Random } from '../test/soak/random';
import { medianWithInterval } from './statistics';

const CONNECTIONS = 32;
const REQUEST = Buffer.alloc(1_024, 1);
const ANSWER = Buffer.alloc(10_240, 2);
const PATHS = 3;
/** Mean delay of a piece of data on the congested path, in milliseconds. */
const MEAN_WAIT = 10;
const TIMEOUT = 200;
const LOSS = 0.05;
/** Number of first requests of each connection that are not measured: connections of a pool are usually not new. */
const WARM_UP = 4;
/** Mean pause of a connection between two requests in milliseconds. */
const MEAN_PAUSE = 100;
/**
 * Largest allowed difference in percentage points.
 * The difference is the change of the p99 over the pool, minus the change with fresh connections.
 */
const POINTS = 10;

const KINDS = ['plain', 'repflow'] as const;
type Kind = (typeof KINDS)[number];
const USES = ['pool', 'fresh'] as const;
type Use = (typeof USES)[number];

const HOST = '127.0.0.1';
const exponential = (random: Random, mean: number): number => -mean * Math.log(1 - random.next() / 0x1_0000_0000);

/** Forwards each piece of data after its own delay, without changing the order. */
function carry(from: net.Socket, to: net.Socket, wait: () => number): void {
  const line: Array<{ due: number; work: () => void }> = [];
  const look = (): void => {
    const now = performance.now();
    for (let first = line[0]; first; first = line[0]) {
      // Timers of different lengths may fire in the wrong order.
      // So a timer only starts a check of the first entry in the queue.
      if (first.due > now) return void setTimeout(look, first.due - now);
      line.shift();
      first.work();
    }
  };
  const later = (work: () => void): void => {
    const due = Math.max(line.at(-1)?.due ?? 0, performance.now() + wait());
    line.push({ due, work });
    if (line.length === 1) look();
  };
  from.on('data', (chunk: Buffer) => later(() => void (to.destroyed || to.write(chunk))));
  // A reset must not be forwarded as an end of stream. The receiver would mistake it for the end of the flow.
  endsByFin(from);
  from.on('end', () => later(() => void (to.destroyed || to.end())));
  from.on('error', () => resetSocket(to));
}

/** Starts a sidecar with one route. It ends together with this process. Resolves with its port. */
async function startSidecar(program: string, route: string): Promise<number> {
  const child = spawn(program, ['proxy', 'repnet', '--no-admin', '--route', `name=bench,listen=${HOST}:0,${route}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill('SIGKILL'));
  // A signal ends the process of the paths. Without this handler, its sidecar would continue to run.
  for (const end of ['SIGTERM', 'disconnect'] as const) process.on(end, () => process.exit());
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
  if (port === undefined) throw new Error(`${program} says ${line}, and no port`);
  return Number(port);
}

/** Runs the server, and the paths in front of it. Sends its port to the parent process, and receives seeds from it. */
async function serve(sidecar: string | undefined): Promise<void> {
  let random = new Random(1);
  const create: typeof net.createServer = sidecar === undefined ? repnet.createServer : net.createServer;
  const server = create({ noDelay: true }, (socket) => {
    let received = 0;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      for (; received >= REQUEST.length; received -= REQUEST.length) socket.write(ANSWER);
    });
  });
  await once(server.listen(0, HOST), 'listening');
  const own = (server.address() as net.AddressInfo).port;
  const port = sidecar === undefined ? own : await startSidecar(sidecar, `to=${HOST}:${own},replicate=in`);
  const door = (offset: number): net.Server =>
    net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const congested = random.below(PATHS) === 0;
      const waits = new Random(random.next());
      const wait = (): number => (congested ? exponential(waits, MEAN_WAIT) + (waits.chance(LOSS) ? TIMEOUT : 0) : 0);
      const upstream = net.connect({ host: HOST, port: port + offset, allowHalfOpen: true, noDelay: true });
      carry(client, upstream, wait);
      carry(upstream, client, wait);
    });
  for (;;) {
    const doors = [door(0), door(1)] as const;
    await once(doors[0].listen(0, HOST), 'listening');
    const first = (doors[0].address() as net.AddressInfo).port;
    try {
      await once(doors[1].listen(first + 1, HOST), 'listening');
      process.on('message', (seed: number) => {
        random = new Random(seed);
        process.send?.('seeded');
      });
      process.send?.(first);
      return;
    } catch {
      doors[0].close();
    }
  }
}

/** Waits for the answer to a request that the connection has sent. Resolves with the whole answer. */
function ask(socket: net.Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0;
    const failed = (error?: Error): void => reject(error ?? new Error('closed before the answer'));
    if (socket.destroyed) failed();
    socket.on('error', failed).on('close', failed);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received < ANSWER.length) return;
      socket.removeAllListeners('data').off('error', failed).off('close', failed);
      resolve();
    });
    socket.write(REQUEST);
  });
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs all requests. Returns their completion times in milliseconds. */
async function run(dial: () => net.Socket, use: Use, requests: number, seed: number): Promise<number[]> {
  const times: number[] = [];
  const lane = async (number: number): Promise<void> => {
    const random = new Random(seed * 1_000 + number);
    let pooled: net.Socket | undefined;
    for (let sent = -WARM_UP; sent < requests / CONNECTIONS; sent++) {
      await sleep(exponential(random, MEAN_PAUSE));
      const start = performance.now();
      const socket = pooled ?? dial();
      await ask(socket);
      if (sent >= 0) times.push(performance.now() - start);
      if (use === 'pool') pooled = socket;
      else
        socket
          .on('error', () => {})
          .end()
          .resume();
    }
    pooled
      ?.on('error', () => {})
      .end()
      .resume();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, number) => lane(number)));
  return times;
}

function percentile(times: number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '20' },
      requests: { type: 'string', default: '1600' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      sidecar: { type: 'string' },
    },
  });
  const [seeds, requests] = (['seeds', 'requests'] as const).map((name) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: found ${values[name]}; must be an integer of at least 1`);
    return value;
  }) as [number, number];
  const { sidecar } = values;
  const child: ChildProcess = fork(__filename, sidecar === undefined ? ['serve'] : ['serve', sidecar]);
  const [port] = (await once(child, 'message')) as [number];
  const dial = {} as Record<Kind, () => net.Socket>;
  for (const kind of KINDS) {
    if (sidecar === undefined) {
      const how = kind === 'plain' ? 'off' : ({ mode: 'repflow', assumeCapable: true } as const);
      dial[kind] = () => repnet.connect({ host: HOST, port, noDelay: true, repnet: how });
    } else {
      const mode = kind === 'plain' ? 'off' : 'repflow';
      const before = await startSidecar(sidecar, `to=${HOST}:${port},replicate=out,assumeCapable=true,mode=${mode}`);
      dial[kind] = () => net.connect({ host: HOST, port: before, noDelay: true });
    }
  }
  const p99: Record<Use, Record<Kind, number[]>> = { pool: { plain: [], repflow: [] }, fresh: { plain: [], repflow: [] } };
  for (let seed = 1; seed <= seeds; seed++) {
    const cases = USES.flatMap((use) => KINDS.map((kind) => [use, kind] as const));
    for (const [use, kind] of seed % 2 === 0 ? cases : cases.reverse()) {
      child.send(seed);
      await once(child, 'message');
      p99[use][kind].push(percentile(await run(dial[kind], use, requests, seed), 0.99));
    }
    process.stderr.write(`\rseed ${seed} of ${seeds}`);
  }
  process.stderr.write('\n');
  child.kill();
  const change = (use: Use): number[] => p99[use].repflow.map((value, seed) => 100 * (value / (p99[use].plain[seed] as number) - 1));
  const [pool, fresh] = [change('pool'), change('fresh')];
  const loss = medianWithInterval(pool.map((points, seed) => points - (fresh[seed] as number)));
  for (const use of USES) {
    const { median, low, high } = medianWithInterval(change(use));
    const [plain, repflow] = KINDS.map((kind) => medianWithInterval(p99[use][kind]).median.toFixed(1));
    console.log(
      `${use}: p99 ${plain} ms plain, ${repflow} ms RepFlow; change ${median.toFixed(1)} % (${low.toFixed(1)} to ${high.toFixed(1)})`,
    );
  }
  const met = loss.high <= POINTS;
  const interval = `${loss.median.toFixed(1)} points (${loss.low.toFixed(1)} to ${loss.high.toFixed(1)})`;
  console.log(`the pool against fresh connections: ${interval}; at most ${POINTS} more: ${met ? 'met' : 'MISSED'}`);
  if (sidecar === undefined) console.log(`second connections that rejoined: ${repnet.stats().legs.rejoined}`);
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ node: process.version, seeds, requests, p99 }, null, 2)}\n`);
  if (values.check && !met) process.exitCode = 1;
  // Some connections still wait for a congested path, so the process needs an explicit exit.
  process.exit();
}

if (process.argv[2] === 'serve') void serve(process.argv[3]);
else {
  main().catch((error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
}
