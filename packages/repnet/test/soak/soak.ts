/**
 * Many flows at once through a `ChaosPath` that delays, stalls and kills legs, at most one leg of
 * a flow for good. Every flow has to deliver every byte, both ways, to exactly one application
 * socket; afterwards nothing may be left.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type net from 'node:net';
import repnet from 'repnet';
import { type ChaosLeg, ChaosPath } from '../harness/chaos';
import { headOf, type Mode, type Pairing } from '../harness/replication';
import { Random } from './random';

export interface SoakSize {
  flows: number;
  concurrency: number;
  /** Most bytes in one direction of a flow. */
  mostBytes: number;
  seed: number;
  mode: Mode;
  pairing: Pairing;
}

export interface SoakResult {
  flows: number;
  bytes: number;
  killed: number;
  stalled: number;
  late: number;
  /** One line for each flow that did not do what it must. */
  faults: string[];
  /** The most that the process held outside the heap and on it, after the first tenth of the flows. */
  mostMemory: number;
}

const NUMBER_BYTES = 4;
/** Flows below this total are replicated to their end, so that a leg may be killed at any byte. */
const KILLABLE_BYTES = 60_000;

/** What will be sent in both directions of a flow; both ends draw it from the flow's number. */
interface Script {
  up: Buffer;
  down: Buffer;
  chaos: 'none' | 'late' | 'stall' | 'kill';
  victim: 0 | 1;
  /** Where a leg is stalled or killed, in bytes of its direction. */
  at: number;
  direction: 'up' | 'down';
}

function script(size: SoakSize, number: number): Script {
  const random = new Random(size.seed * 2_654_435_761 + number * 40_503 + 1);
  const label = Buffer.alloc(NUMBER_BYTES);
  label.writeUInt32BE(number);
  const up = Buffer.concat([label, random.bytes(random.size(size.mostBytes))]);
  const down = random.bytes(random.size(size.mostBytes));
  const killable = size.mode === 'repflow' && up.length + down.length < KILLABLE_BYTES;
  const draw = random.below(10);
  const chaos = draw < 4 ? 'none' : draw < 6 ? 'late' : draw < 8 ? 'stall' : killable ? 'kill' : 'stall';
  const direction = random.chance(0.5) ? 'up' : 'down';
  const victim = random.below(2) as 0 | 1;
  return { up, down, chaos, victim, direction, at: random.below((direction === 'up' ? up : down).length + 1) };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Writes with pauses for 'drain', in pieces of random length. */
async function send(socket: net.Socket, bytes: Buffer, random: Random): Promise<void> {
  let at = 0;
  while (at < bytes.length && !socket.destroyed) {
    const piece = bytes.subarray(at, at + 1 + random.below(16_384));
    at += piece.length;
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
  }
  socket.end();
}

class Soak {
  readonly result: SoakResult;
  /** Flows that reached the server's application, by number. */
  readonly #surfaced = new Map<number, { count: number; sha: string | undefined }>();
  /** Legs by flow, until both are known. */
  readonly #pairs = new Map<string, number>();

  constructor(readonly size: SoakSize) {
    this.result = { flows: 0, bytes: 0, killed: 0, stalled: 0, late: 0, faults: [], mostMemory: 0 };
  }

  async run(): Promise<SoakResult> {
    const { size, result } = this;
    const server = repnet.createServer({ allowHalfOpen: true, repnet: { pairing: size.pairing } }, (socket) => {
      this.#serve(socket as unknown as net.Socket);
    }) as unknown as net.Server;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const path = await ChaosPath.open({
      to: { host: '127.0.0.1', port },
      retain: false,
      admit: () => 'hold',
      onLeg: (leg) => void this.#upset(leg),
    });
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < size.flows) {
        const number = next++;
        await this.#flow(path, number);
        result.flows += 1;
        if (number > size.flows / 10 && number % 64 === 0) {
          const { heapUsed, external } = process.memoryUsage();
          result.mostMemory = Math.max(result.mostMemory, heapUsed + external);
        }
      }
    };
    await Promise.all(Array.from({ length: size.concurrency }, lane));
    const closed = once(server, 'close');
    server.close();
    await path.close();
    await closed;
    for (let number = 0; number < size.flows; number += 1) {
      const surfaced = this.#surfaced.get(number);
      const expected = sha256(script(size, number).up);
      if (surfaced === undefined) this.#fault(number, 'never reached the server');
      else if (surfaced.count !== 1) this.#fault(number, `reached the server's application ${surfaced.count} times`);
      else if (surfaced.sha !== expected) this.#fault(number, 'the server received other bytes than were sent');
    }
    return result;
  }

  #fault(number: number, what: string): void {
    if (this.result.faults.length < 20) this.result.faults.push(`flow ${number} (${script(this.size, number).chaos}): ${what}`);
  }

  #serve(socket: net.Socket): void {
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
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fault(number ?? -1, `error at the server: ${error.code ?? error.message}`);
    });
  }

  #flow(path: ChaosPath, number: number): Promise<void> {
    const { mode, pairing } = this.size;
    const { up, down } = script(this.size, number);
    const socket = repnet.connect({
      host: path.host,
      port: path.port,
      allowHalfOpen: true,
      repnet: { mode, pairing },
    }) as unknown as net.Socket;
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
   * Decides what becomes of a leg once it is known whose it is: by the flow id of its preamble, or
   * by its source port. Which of a flow's legs is the victim is the draw of the flow.
   */
  async #upset(leg: ChaosLeg): Promise<void> {
    const { pairing, seed } = this.size;
    const head = headOf(pairing);
    let key: string;
    let index: 0 | 1;
    if (pairing === 'hello') {
      if (leg.door === 'primary') return leg.admit().catch(() => {});
      // A leg that its client gives up before the preamble never gets here, and needs nothing.
      await leg.up.untilTaken(head);
      key = leg.up.start.toString('hex', 16, 32);
      index = leg.up.start[10] === 1 ? 1 : 0;
    } else {
      key = String(leg.client.remotePort);
      index = leg.door === 'primary' ? 0 : 1;
    }
    // The client draws nothing that the network could see, so the network draws for itself.
    const random = new Random([...key].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), seed));
    const victim = random.below(2);
    const kind = random.below(10);
    const at = random.below(40_000);
    const lane = random.chance(0.5) ? leg.up : leg.down;
    if (index !== victim || kind < 4) return leg.admit().catch(() => {});
    void head;
    if (kind < 6) {
      this.result.late += 1;
      await new Promise((resolve) => setTimeout(resolve, random.below(60)));
      return leg.admit().catch(() => {});
    }
    lane.allow(head + at);
    await leg.admit().catch(() => {});
    await lane.until(head + at);
    if (kind < 8) {
      this.result.stalled += 1;
      await new Promise((resolve) => setTimeout(resolve, random.below(60)));
      lane.flow();
    } else {
      this.result.killed += 1;
      leg.reset();
    }
  }
}

export function soak(size: SoakSize): Promise<SoakResult> {
  return new Soak(size).run();
}
