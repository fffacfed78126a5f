/**
 * One end of the benchmark. Each end is a separate process, so that its CPU time can be measured.
 * The parent process (run.ts) sends the commands (`Command`) over IPC.
 */
import { once } from 'node:events';
import net from 'node:net';
import type { Duplex } from 'node:stream';

import repnet = require('repnet');

import { createFloorServer, createFrontServer, doubled, Front, raced } from './floor';
import { connectPaired, createPairedServer } from './paired';

/**
 * Cases of the benchmark. Some cases use only stock `net` (floor.ts), and show the lowest possible cost.
 * Cases with the lowest cost are 'raced' for RepSYN, 'doubled' for RepFlow, and 'front' for a stream.
 * The case 'paired' (paired.ts) shows the lowest possible cost of RepFlow behind one socket.
 * Replicated flows use the default settings, or are eager.
 */
export const CASES = [
  'net',
  'unlisted',
  'raced',
  'repsyn',
  'raced eager',
  'repsyn eager',
  'doubled',
  'paired',
  'repflow',
  'doubled eager',
  'repflow eager',
  'front',
] as const;
export type Case = (typeof CASES)[number];

export type Command =
  /** Command to a server: listen for a case, and return the port. */
  | { do: 'listen'; case: Case }
  /** Command to a client: the ports of all cases. Replicated cases become listed targets, as in an application. */
  | { do: 'targets'; ports: Record<Case, number> }
  /** Command to both ends: return the user and system CPU time of the process in microseconds. */
  | { do: 'cpu' }
  /** Command to a client: open echo flows, and return the completion time of each flow in milliseconds. */
  | { do: 'echo'; case: Case; port: number; flows: number; concurrency: number; bytes: number }
  /**
   * Command to a client: open one flow, transfer bytes until it uses one connection, then measure it.
   * Returns the time of the measured transfer in milliseconds.
   */
  | { do: 'stream'; case: Case; port: number; bytes: number };

const HOST = '127.0.0.1';
/** Size in bytes of a transfer after which a flow uses one connection. It exceeds every limit. */
const SETTLING_BYTES = 4 * 1024 * 1024;

type Floor = (options: net.TcpNetConnectOpts, payload: Buffer, eager: boolean) => Promise<number>;
const FLOORS = new Map<Case, [floor: Floor, eager: boolean]>([
  ['raced', [raced, false]],
  ['raced eager', [raced, true]],
  ['doubled', [doubled, false]],
  ['doubled eager', [doubled, true]],
]);

function createServer(kind: Case): net.Server {
  if (FLOORS.has(kind)) return createFloorServer();
  if (kind === 'front') return createFrontServer();
  if (kind === 'paired') return createPairedServer();
  const module = kind === 'net' ? net : (repnet as unknown as typeof net);
  return module.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
}

function connect(kind: Case, port: number): Duplex {
  const options = { host: HOST, port, noDelay: true };
  if (kind === 'front') return new Front(net.connect(options));
  if (kind === 'paired') return connectPaired(options);
  return (kind === 'net' ? net : repnet).connect(options);
}

function listTargets(ports: Record<Case, number>): void {
  const replicated = CASES.flatMap((kind) => {
    const mode = kind.startsWith('repsyn') ? 'repsyn' : kind.startsWith('repflow') ? 'repflow' : undefined;
    return mode ? [{ target: `${HOST}:${ports[kind]}`, mode, eager: kind.endsWith('eager'), assumeCapable: true } as const] : [];
  });
  // The client's budget and incast limit are not part of this measurement, so they are switched off.
  repnet.configure({ targets: replicated, incastLimit: Number.POSITIVE_INFINITY });
}

/** Returns the time from the call of connect() to the last byte of the echo. Resolves after 'close'. */
function echo(kind: Case, port: number, payload: Buffer): Promise<number> {
  const floor = FLOORS.get(kind);
  if (floor) return floor[0]({ host: HOST, port, noDelay: true }, payload, floor[1]);
  return new Promise((resolve, reject) => {
    const start = performance.now();
    let time = 0;
    let received = 0;
    const socket = connect(kind, port);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received === payload.length) {
        time = performance.now() - start;
        socket.end();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (received === payload.length) resolve(time);
      else reject(new Error(`${kind}: ${received} of ${payload.length} bytes came back`));
    });
    socket.write(payload);
  });
}

async function echoes(command: Extract<Command, { do: 'echo' }>): Promise<number[]> {
  const payload = Buffer.alloc(command.bytes, 0x61);
  const times: number[] = [];
  let left = command.flows;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      times.push(await echo(command.case, command.port, payload));
    }
  };
  await Promise.all(Array.from({ length: command.concurrency }, lane));
  return times;
}

async function stream(command: Extract<Command, { do: 'stream' }>): Promise<number> {
  const socket = connect(command.case, command.port);
  const chunk = Buffer.alloc(64 * 1024, 0x62);
  let received = 0;
  let wanted = 0;
  let arrived: () => void = () => {};
  socket.on('data', (data: Buffer) => {
    received += data.length;
    if (received >= wanted) arrived();
  });
  const failed = once(socket, 'close').then(() => Promise.reject(new Error(`${command.case}: closed after ${received} bytes`)));
  failed.catch(() => {});
  const transfer = async (bytes: number): Promise<void> => {
    wanted = received + bytes;
    const all = new Promise<void>((resolve) => (arrived = resolve));
    for (let sent = 0; sent < bytes; sent += chunk.length) {
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), failed]);
    }
    await Promise.race([all, failed]);
  };
  await transfer(SETTLING_BYTES);
  const start = performance.now();
  await transfer(command.bytes);
  const time = performance.now() - start;
  socket.destroy();
  return time;
}

async function obey(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'listen': {
      const server = createServer(command.case);
      server.listen(0, HOST);
      await once(server, 'listening');
      return (server.address() as net.AddressInfo).port;
    }
    case 'targets':
      listTargets(command.ports);
      return undefined;
    case 'cpu': {
      const { user, system } = process.cpuUsage();
      return user + system;
    }
    case 'echo':
      return echoes(command);
    case 'stream':
      return stream(command);
  }
}

process.on('message', (message: { id: number; command: Command }) => {
  obey(message.command).then(
    (value) => process.send?.({ id: message.id, value }),
    (error: unknown) => process.send?.({ id: message.id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
