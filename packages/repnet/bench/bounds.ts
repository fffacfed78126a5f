/**
 * Memory and sockets of repnet under three loads. With each of them, an earlier version grew without a limit:
 *
 *   npm run bench:bounds [-- --what stall|probes|keep-alive --check]
 *
 * - stall: 400 flows a second. The path of each second connection stops after the hello.
 *   Limit: each end has 2 file descriptors for each live flow, and 256 more.
 * - probes: 4,000 probes that do not close their connections, at a server with `pendingHellos: 100`.
 *   Limit: the server has 356 descriptors.
 * - keep-alive: 50,000 requests of http over one connection.
 *   Limit: heap and resident memory do not grow, and there is no warning.
 *
 * The server, the path and the client each have their own process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { parseArgs } from 'node:util';

import repnet = require('repnet');

import { encodePreamble, VERSION } from '../src/wire';
import { collectGarbage } from '../test/harness/memory';

const HOST = '127.0.0.1';
const HELLO_BYTES = 32;
const WHAT = ['stall', 'probes', 'keep-alive'] as const;
type What = (typeof WHAT)[number];

const STALL = { flowsPerSecond: 400, seconds: 10, spare: 256 };
const PROBES = { count: 4_000, pendingHellos: 100, spare: 256 };
const KEEP_ALIVE = { requests: 50_000, parts: 5, heapGrowth: 1_000_000, memoryGrowth: 8_000_000 };

interface Holds {
  descriptors: number;
  live: number;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function holds(): Holds {
  return { descriptors: readdirSync('/proc/self/fd').length, live: repnet.stats().flows.live };
}

/** Runs the server of a load. The server sends its port, and then answers each request with its present state. */
async function serve(what: What): Promise<void> {
  // This time is long enough, even on a busy machine.
  repnet.configure({ helloTimeout: 600_000, waitingListTimeout: 600_000 });
  if (what === 'probes') repnet.configure({ pendingHellos: PROBES.pendingHellos });
  const echo = (socket: net.Socket): void => void socket.on('error', () => {}).pipe(socket);
  const server =
    what === 'keep-alive' ? http.createServer((_request, response) => void response.end('x'.repeat(100))) : repnet.createServer(echo);
  repnet.listenReplicated(server, [0, HOST]);
  await once(server, 'listening');
  process.on('message', () => process.send?.(holds()));
  process.send?.((server.address() as net.AddressInfo).port);
}

/** Opens a path to both ports, on another address. Second connections carry only their hello, in each direction. */
async function standStill(port: number): Promise<void> {
  for (const to of [port, port + 1]) {
    const door = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const upstream = net.connect({ host: HOST, port: to, allowHalfOpen: true, noDelay: true });
      client.on('error', () => upstream.resetAndDestroy());
      upstream.on('error', () => client.resetAndDestroy());
      client.once('data', (first: Buffer) => {
        if (to === port || first[10] !== 1) {
          upstream.write(first);
          client.pipe(upstream);
          upstream.pipe(client);
          return;
        }
        upstream.write(first.subarray(0, HELLO_BYTES));
        client.pause();
        upstream.once('data', (banner: Buffer) => {
          client.write(banner.subarray(0, HELLO_BYTES));
          upstream.pause();
        });
      });
    });
    await once(door.listen(to, '127.0.0.2'), 'listening');
  }
  process.send?.('ready');
}

async function start(...args: string[]): Promise<{ child: ChildProcess; said: unknown }> {
  const child = fork(__filename, args);
  const [said] = (await once(child, 'message')) as [unknown];
  return { child, said };
}

async function ask(child: ChildProcess): Promise<Holds> {
  child.send('holds');
  return ((await once(child, 'message')) as [Holds])[0];
}

function judge(line: string, met: boolean): boolean {
  console.log(`${line}: ${met ? 'met' : 'MISSED'}`);
  return met;
}

async function stall(): Promise<boolean> {
  const server = await start('serve', 'stall');
  const port = server.said as number;
  const path = await start('path', String(port));
  // With these settings every flow gets two connections, even on a busy machine.
  repnet.configure({ assumeCapable: true, adaptive: false, incastLimit: Infinity, fallbackDelay: Infinity, legDeadline: 600_000 });
  const echo = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = repnet.connect({ host: '127.0.0.2', port, repnet: 'repflow' });
      socket.on('error', reject).on('close', () => resolve());
      socket.on('data', () => socket.end());
      socket.write(Buffer.alloc(1_024));
    });
  const most = { client: { descriptors: 0, live: 0 }, server: { descriptors: 0, live: 0 } };
  // Largest number of descriptors at each end, minus two for each live flow.
  // A flow is live while at least one end has it open.
  const above = { client: 0, server: 0 };
  const look = async (): Promise<void> => {
    const found = { client: holds(), server: await ask(server.child) };
    const live = Math.max(found.client.live, found.server.live);
    for (const end of ['client', 'server'] as const) {
      above[end] = Math.max(above[end], found[end].descriptors - 2 * live);
      if (found[end].descriptors > most[end].descriptors) most[end] = found[end];
    }
  };
  const flows: Array<Promise<void>> = [];
  const begin = performance.now();
  let looked = 0;
  while (flows.length < STALL.flowsPerSecond * STALL.seconds) {
    const due = ((performance.now() - begin) / 1_000) * STALL.flowsPerSecond;
    while (flows.length < due) flows.push(echo());
    if (performance.now() - looked > 100) {
      looked = performance.now();
      await look();
    }
    await sleep(1);
  }
  await Promise.all(flows);
  await look();
  const rate = (flows.length / ((performance.now() - begin) / 1_000)).toFixed(0);
  path.child.kill();
  server.child.kill();
  const { client, server: served } = most;
  const { paired } = repnet.stats().legs;
  return judge(
    `stall: ${flows.length} flows (${paired} with both connections) at ${rate} a second; most descriptors ${client.descriptors} at the client (${client.live} live flows), ` +
      `${served.descriptors} at the server (${served.live}); beyond 2 for each live flow at most ${above.client} and ${above.server}, ` +
      `${STALL.spare} are allowed`,
    above.client <= STALL.spare && above.server <= STALL.spare,
  );
}

async function probes(): Promise<boolean> {
  const server = await start('serve', 'probes');
  let most = 0;
  for (let number = 0; number < PROBES.count; number++) {
    const socket = net.connect({ host: HOST, port: (server.said as number) + 1, allowHalfOpen: true });
    socket.on('error', () => {});
    const flowId = number.toString(16).padStart(32, 'f');
    socket.write(encodePreamble({ version: VERSION, probe: true, mode: 'repflow', leg: 0, flowId }));
    await once(socket, 'data');
    if (number % 200 === 199) most = Math.max(most, (await ask(server.child)).descriptors);
  }
  server.child.kill();
  const allowed = PROBES.pendingHellos + PROBES.spare;
  return judge(`probes: ${PROBES.count} held; most descriptors at the server ${most}, ${allowed} are allowed`, most <= allowed);
}

async function keepAlive(): Promise<boolean> {
  const server = await start('serve', 'keep-alive');
  const port = server.said as number;
  const warnings: Error[] = [];
  process.on('warning', (warning) => warnings.push(warning));
  class Agent extends http.Agent {
    override createConnection(options: net.NetConnectOpts): net.Socket {
      return repnet.connect({ ...options, repnet: { assumeCapable: true } } as never);
    }
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const request = (): Promise<void> =>
    new Promise((resolve, reject) => {
      http.get({ host: HOST, port, agent }, (response) => response.on('end', resolve).resume()).on('error', reject);
    });
  const held: Array<{ heap: number; memory: number }> = [];
  for (let part = 0; part <= KEEP_ALIVE.parts; part++) {
    // The first part of the requests is a warm-up: V8 compiles code, and the process requests memory from the system.
    for (let sent = 0; sent < KEEP_ALIVE.requests / KEEP_ALIVE.parts; sent++) await request();
    collectGarbage();
    const { heapUsed, rss } = process.memoryUsage();
    held.push({ heap: heapUsed, memory: rss });
    console.log(
      `  after ${((part + 1) * KEEP_ALIVE.requests) / KEEP_ALIVE.parts} requests: heap ${megabytes(heapUsed)}, resident ${megabytes(rss)}`,
    );
  }
  const { established, rejoined } = repnet.stats().legs;
  server.child.kill();
  agent.destroy();
  const growth = (pick: (one: { heap: number; memory: number }) => number): number => pick(held.at(-1) as never) - pick(held[0] as never);
  const [heap, memory] = [growth(({ heap }) => heap), growth(({ memory }) => memory)];
  return judge(
    `keep-alive: ${KEEP_ALIVE.requests} requests after the warm-up over one flow (${established} connections, ${rejoined} rejoined); heap grew by ` +
      `${megabytes(heap)}, resident memory by ${megabytes(memory)}; ${warnings.length} warnings`,
    heap <= KEEP_ALIVE.heapGrowth && memory <= KEEP_ALIVE.memoryGrowth && warnings.length === 0,
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const LOADS: Record<What, () => Promise<boolean>> = { stall, probes, 'keep-alive': keepAlive };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { what: { type: 'string' }, check: { type: 'boolean', default: false } } });
  const wanted = values.what === undefined ? WHAT : WHAT.filter((one) => one === values.what);
  if (wanted.length === 0) throw new Error(`--what: found ${values.what}; must be one of ${WHAT.join(', ')}`);
  let met = true;
  for (const what of wanted) met = (await LOADS[what]()) && met;
  // Stalled connections are still open, so the process needs an explicit exit.
  process.exit(values.check && !met ? 1 : 0);
}

const [role, argument] = process.argv.slice(2);
if (role === 'serve') void serve(argument as What);
else if (role === 'path') void standStill(Number(argument));
else {
  main().catch((error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
}
