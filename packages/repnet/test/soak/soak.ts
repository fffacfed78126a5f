/**
 * Many flows at the same time through a `ChaosPath` that delays, stops and kills connections.
 * At most one connection of a flow is lost permanently.
 * Every flow has to deliver every byte, in both directions, to exactly one application socket.
 * After the end, no state and no handle may be left.
 */
import { createHash } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import type net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import repnet from 'repnet';
import { publicName } from '../../src/flow-id';
import { type ChaosLeg, ChaosPath } from '../harness/chaos';
import { bytesInUse } from '../harness/memory';
import { headOf, type Mode, type Pairing, UNHURRIED } from '../harness/replication';
import { Random } from './random';

export interface SoakSize {
  flows: number;
  concurrency: number;
  /** Largest number of bytes in one direction of a flow. */
  mostBytes: number;
  seed: number;
  mode: Mode;
  pairing: Pairing;
  /** Whether a flow sends its first bytes together with the hello of one connection. */
  eager: boolean;
}

export interface SoakResult {
  flows: number;
  bytes: number;
  killed: number;
  /** Number of connections that got a FIN before their end. */
  cut: number;
  /** Number of flows whose timeouts were shorter than the delays of the path. */
  hurried: number;
  stalled: number;
  late: number;
  /** Descriptions of faults, one line for each flow with a fault. */
  faults: string[];
  /** Largest memory of the process in each quarter of the run, in bytes, above the memory before the first run. */
  memory: number[];
  /** Largest number of TCP sockets of the process in each quarter of the run: clients, path and server. */
  sockets: number[];
}

const NUMBER_BYTES = 4;
/**
 * Addresses of the paths. Clients connect to `host`.
 * If source ports are kept, the server receives connections from `source`. Two flows may have the same source port.
 */
const PATHS = [
  { host: '127.0.0.2', source: '127.0.0.3' },
  { host: '127.0.0.4', source: '127.0.0.5' },
] as const;
/** Longest time in milliseconds for which a late or stopped connection carries no bytes. */
const PAUSE_MS = 60;
/** Longest time in milliseconds until the server has both connections of a flow that will lose one. */
const PATIENCE_MS = 20_000;

/** Bytes sent in both directions of a flow. Both ends derive them from the flow's number. */
interface Script {
  up: Buffer;
  down: Buffer;
}

function script(size: SoakSize, number: number): Script {
  const random = new Random(Math.imul(size.seed, 40_503) + Math.imul(number, 2_654_435_761) + 1);
  const label = Buffer.alloc(NUMBER_BYTES);
  label.writeUInt32BE(number);
  return {
    up: Buffer.concat([label, random.bytes(random.size(size.mostBytes))]),
    down: random.bytes(random.size(size.mostBytes)),
  };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Resolves at 'drain', or at 'close' if 'drain' does not follow. */
function drained(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      socket.off('drain', go);
      socket.off('close', go);
      resolve();
    };
    socket.on('drain', go);
    socket.on('close', go);
  });
}

/** Writes the bytes in pieces of random length. Waits for 'drain' when the socket is full. */
async function send(socket: net.Socket, bytes: Buffer, random: Random): Promise<void> {
  let at = 0;
  while (at < bytes.length && !socket.destroyed) {
    const piece = bytes.subarray(at, at + 1 + random.below(16_384));
    at += piece.length;
    if (!socket.write(piece)) await drained(socket);
  }
  socket.end();
}

const QUARTERS = 4;

/** Returns the open TCP sockets and listeners. */
export const tcpHandles = (): number => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;

/** Memory of the process before the first run. */
let baseline: number | undefined;

class Soak {
  readonly result: SoakResult;
  /**
   * Callbacks that wait until a flow has both connections, by flow identifier.
   * `ends` is the number of ends that do not have both yet.
   */
  readonly #awaited = new Map<string, { ends: number; resolve: () => void }>();
  readonly #dialed = new Set<net.Socket>();
  readonly #served = new Set<net.Socket>();
  /** Connections of each flow, by flow identifier and index. */
  readonly #legs = new Map<string, ChaosLeg[]>();
  /** Flows that reached the server's application, by flow number. */
  readonly #surfaced = new Map<number, { count: number; sha: string | undefined }>();

  constructor(readonly size: SoakSize) {
    this.result = { flows: 0, bytes: 0, killed: 0, cut: 0, hurried: 0, stalled: 0, late: 0, faults: [], memory: [], sockets: [] };
  }

  async run(): Promise<SoakResult> {
    const { size, result } = this;
    // A flow may lose a connection before the other one has arrived, so all bytes written until then must be kept.
    repnet.configure({
      ...UNHURRIED,
      // This time is long enough, even on a busy machine.
      legDeadline: 600_000,
      capabilityTtl: 600_000,
      eager: size.eager,
      archiveCap: 2 * size.mostBytes,
      confirmTimeout: 60_000,
    });
    const server = repnet.createServer({ allowHalfOpen: true, repnet: { pairing: size.pairing } }, (socket) => {
      this.#serve(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const open = (addresses: (typeof PATHS)[number], kills: boolean): Promise<ChaosPath> =>
      ChaosPath.open({
        to: { host: '127.0.0.1', port },
        retain: false,
        ...addresses,
        // Only pairing by port needs the source ports.
        // If a port is in use on the path, the connection cannot reach the server.
        keepSourcePort: size.pairing === 'port',
        admit: () => 'hold',
        onLeg: (leg) => void this.#upset(leg, kills, addresses.source),
      });
    // A flow that may lose a connection at any byte must not continue on only one connection.
    // Other flows have the usual limit.
    const paths = [await open(PATHS[0], false), await open(PATHS[1], size.mode === 'repflow')] as const;
    diagnostics.subscribe('repnet:leg:pair', this.#onPair);
    baseline ??= bytesInUse();
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < size.flows) {
        const number = next++;
        await this.#flow(paths[number % 2 === 0 ? 0 : 1], number % 2 === 0 ? this.#hurry(number) : { maxBytes: Infinity }, number);
        result.flows += 1;
        if (number % Math.max(50, Math.floor(size.flows / 40)) === 0) this.#sample(Math.floor((QUARTERS * number) / size.flows));
      }
    };
    await Promise.all(Array.from({ length: size.concurrency }, lane));
    diagnostics.unsubscribe('repnet:leg:pair', this.#onPair);
    const closed = once(server, 'close');
    server.close();
    // When a client has finished, its bytes are in the kernel, and some of them are still on the path.
    // So the server closes only after its flows have ended.
    await closed;
    for (const path of paths) await path.close();
    for (let number = 0; number < size.flows; number += 1) {
      const surfaced = this.#surfaced.get(number);
      const expected = sha256(script(size, number).up);
      if (surfaced === undefined) this.#fault(number, 'never reached the server');
      else if (surfaced.count !== 1) this.#fault(number, `reached the server's application ${surfaced.count} times`);
      else if (surfaced.sha !== expected) this.#fault(number, 'the server received other bytes than were sent');
    }
    return result;
  }

  #sample(quarter: number): void {
    const { memory, sockets } = this.result;
    memory[quarter] = Math.max(memory[quarter] ?? 0, bytesInUse() - (baseline ?? 0));
    sockets[quarter] = Math.max(sockets[quarter] ?? 0, tcpHandles());
  }

  /**
   * Returns settings for some flows with timeouts that end before one or both connections arrive.
   * An eager flow would fail then, which is intended, so eager flows are left out.
   */
  #hurry(number: number): object {
    if (number % 8 !== 0 || this.size.pairing === 'port' || this.size.eager) return {};
    this.result.hurried += 1;
    return { legDeadline: PAUSE_MS / 2, fallbackDelay: PAUSE_MS / 4 };
  }

  #fault(number: number, what: string): void {
    if (this.result.faults.length < 20) this.result.faults.push(`flow ${number}: ${what}`);
  }

  #serve(socket: net.Socket): void {
    this.#keep(this.#served, socket);
    const chunks: Buffer[] = [];
    let number: number | undefined;
    let length = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (number !== undefined || length < NUMBER_BYTES) return;
      number = Buffer.concat(chunks).readUInt32BE(0);
      const seen = this.#surfaced.get(number);
      this.#surfaced.set(number, { count: (seen?.count ?? 0) + 1, sha: seen?.sha });
      void send(socket, script(this.size, number).down, new Random(number + 7));
    });
    socket.on('end', () => {
      const seen = number === undefined ? undefined : this.#surfaced.get(number);
      if (seen !== undefined) seen.sha = sha256(Buffer.concat(chunks));
      // The client has left the replica port before its first byte, and uses another connection.
      if (number === undefined) socket.end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A client that gave up before the banner has sent no number, so the error is not a fault.
      if (number !== undefined) this.#fault(number, `error at the server: ${error.code ?? error.message}`);
    });
  }

  #flow(path: ChaosPath, options: object, number: number): Promise<void> {
    const { mode, pairing } = this.size;
    const { up, down } = script(this.size, number);
    const socket = repnet.connect({
      host: path.host,
      port: path.port,
      allowHalfOpen: true,
      repnet: { mode, pairing, assumeCapable: true, ...options },
    });
    this.#keep(this.#dialed, socket);
    const hash = createHash('sha256');
    let ended = false;
    socket.on('data', (chunk: Buffer) => hash.update(chunk));
    socket.on('end', () => (ended = true));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fault(number, `error at the client: ${error.code ?? error.message}`));
    void send(socket, up, new Random(number + 3));
    return new Promise((resolve) => {
      socket.on('close', () => {
        this.result.bytes += up.length + down.length;
        if (!ended) this.#fault(number, 'closed without an end');
        else if (hash.digest('hex') !== sha256(down)) this.#fault(number, 'the client received other bytes than were sent');
        resolve();
      });
    });
  }

  /**
   * Chooses the action on a connection when its flow is known.
   * The flow identifier in the preamble, or the source port, identifies the flow.
   * Both connections of a flow get the same random numbers, which select one connection.
   */
  async #upset(leg: ChaosLeg, kills: boolean, source: string): Promise<void> {
    const head = headOf(this.size.pairing);
    // A flow that is plain because of the budget has no second connection that could be lost.
    if (this.size.pairing === 'hello' && leg.door === 'primary') return leg.admit().catch(() => {});
    let key = `${source}|${leg.client.remotePort}`;
    let index = leg.door === 'primary' ? 0 : 1;
    if (this.size.pairing === 'hello') {
      // If the client gives up the connection before the preamble, the wait never ends.
      // In this case the connection needs no action.
      await leg.up.untilTaken(head);
      key = leg.up.start.toString('hex', 16, head);
      index = leg.up.start[10] ?? 0;
    }
    const random = new Random(Buffer.from(key).reduce((sum, byte) => Math.imul(sum, 31) + byte, this.size.seed));
    const [victim, kind, at, pause] = [random.below(2), random.below(10), random.size(40_000), random.below(PAUSE_MS)];
    const lane = random.chance(0.5) ? leg.up : leg.down;
    const admit = (): Promise<void> => leg.admit().catch(() => {});
    const legs = this.#legs.get(key) ?? [];
    legs[index] = leg;
    this.#legs.set(key, legs);
    void leg.clientGone().then(() => this.#legs.delete(key));
    if (index !== victim || kind < 3) {
      await admit();
    } else if (kind < 5) {
      this.result.late += 1;
      await delay(pause);
      await admit();
    } else if (kind < 7 || !kills) {
      lane.allow(head + at);
      await admit();
      await lane.until(head + at);
      this.result.stalled += 1;
      await delay(pause);
      lane.flow();
    } else {
      // A connection may be lost after the other one carries the flow at both ends, and has all bytes of the lost one.
      // Before that, both ends must have both connections. Otherwise the flow can end on the first connection.
      // An eager flow without a banner fails together with its first connection.
      leg.up.allow(head);
      leg.down.allow(head);
      const flowId = publicName(key);
      const joined = this.#joined(flowId);
      await admit();
      // The other connection may never arrive: the path had no port for it, or the flow has ended before.
      const given = leg.clientGone().then(() => false);
      const both = await Promise.race([joined.then(() => true), given, delay(PATIENCE_MS, false, { ref: false })]);
      this.#awaited.delete(flowId);
      (lane === leg.up ? leg.down : leg.up).flow();
      if (!both) return lane.flow();
      lane.allow(head + at);
      await lane.until(head + at);
      if (kind < 9) {
        this.result.killed += 1;
        leg.reset();
        return;
      }
      // The FIN is sent after the other connection has delivered more bytes.
      // A FIN after the same number of bytes would look like the true end.
      const other = legs[1 - index];
      if (!other) return lane.flow();
      await (lane === leg.up ? other.up : other.down).until(head + at + 1);
      if (!(await this.#hasMore(leg, other, lane === leg.up, at))) return;
      this.result.cut += 1;
      lane.cut();
    }
  }

  /**
   * Waits until the receiving end of a flow has more than `bytes` bytes. @returns false if the flow ends before that
   */
  async #hasMore(leg: ChaosLeg, other: ChaosLeg, up: boolean, bytes: number): Promise<boolean> {
    const ports = [leg, other].map(({ client, server }) => (up ? server?.localPort : client.remotePort));
    const address = up ? leg.server?.localAddress : leg.client.localAddress;
    const ends = up ? this.#served : this.#dialed;
    for (;;) {
      const end = [...ends].find((socket) => socket.remoteAddress === address && ports.includes(up ? socket.remotePort : socket.localPort));
      if (!end) return false;
      if (end.bytesRead > bytes) return true;
      await delay(5);
    }
  }

  #keep(ends: Set<net.Socket>, socket: net.Socket): void {
    ends.add(socket);
    socket.on('close', () => ends.delete(socket));
  }

  /**
   * Resolves when a flow has both connections at both ends.
   * With pairing by port, the client's identifier of a flow differs from the server's.
   */
  #joined(flowId: string): Promise<void> {
    const ends = this.size.pairing === 'hello' ? 2 : 1;
    return new Promise((resolve) => this.#awaited.set(flowId, { ends, resolve }));
  }

  readonly #onPair = (message: unknown): void => {
    const { flowId } = message as { flowId: string };
    const awaited = this.#awaited.get(flowId);
    if (!awaited || --awaited.ends > 0) return;
    awaited.resolve();
    this.#awaited.delete(flowId);
  };
}

export function soak(size: SoakSize): Promise<SoakResult> {
  return new Soak(size).run();
}
