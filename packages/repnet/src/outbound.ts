/**
 * Bytes that a flow sends: each write goes to every leg that carries bytes, and is kept for one that is still to come. The host waits for one write,
 * or for the end of its direction, at a time.
 */
import { Archive } from './archive';
import type { Leg } from './leg';
import { firstLive, type LegPair } from './leg-order';
import { Outstanding } from './outstanding';
import { counters } from './stats';

/** Written behind bytes that are on their way already, to hear when the kernel has them. */
const NOTHING = Buffer.alloc(0);

export class Outbound {
  /** Bytes taken from the host. */
  written = 0;
  /** Bytes are with a server that has not shown itself: the flow may not be started anywhere else. */
  exposed = false;
  /** The host has ended its direction. */
  ending = false;
  readonly #pair: LegPair;
  #archive: Archive | undefined;
  #outstanding: Outstanding | undefined;

  constructor(pair: LegPair) {
    this.#pair = pair;
  }

  /** What the host waits for. */
  get outstanding(): Outstanding | undefined {
    return this.#outstanding;
  }

  /** From now on what is written is kept. */
  startArchive(): void {
    this.#archive = new Archive();
  }

  freeArchive(): void {
    this.#archive?.free();
    this.#archive = undefined;
  }

  get archivedBytes(): number {
    return this.#archive?.bytes ?? 0;
  }

  /** A leg gets what is written before it is established. @returns what was written so far */
  sendAhead(leg: Leg): readonly Buffer[] {
    const chunks = this.#archive?.chunks ?? [];
    leg.ahead = chunks.length;
    this.exposed = chunks.length > 0;
    return chunks;
  }

  /**
   * Sends chunks on every live leg, in one go each. `done` is called when the fastest has handed them to the kernel.
   *
   * @param settled no second leg carries bytes: where none is to come either, they pass through @returns what the host waits for then,
   * unless they did
   */
  write(chunks: readonly Buffer[], done: () => void, settled: boolean): Outstanding | undefined {
    let bytes = 0;
    for (const chunk of chunks) {
      bytes += chunk.length;
      this.#archive?.add(chunk);
    }
    this.written += bytes;
    const only = settled && !this.#archive ? firstLive(this.#pair) : undefined;
    if (only) {
      only.send(chunks, done);
      return undefined;
    }
    const outstanding = new Outstanding(done);
    this.#outstanding = outstanding;
    const { legs, status } = this.#pair;
    for (const leg of legs) {
      if (leg && status[leg.index] === 'pending' && leg.ahead !== undefined) {
        leg.send(chunks);
        leg.ahead += chunks.length;
        this.exposed = true;
      }
      if (!leg || status[leg.index] !== 'live') continue;
      if (outstanding.legs++ > 0) counters.bytesSentTwice += bytes;
      leg.send(chunks, () => this.flushed(outstanding));
    }
    return outstanding;
  }

  /** The host ends its direction; `done` is called when the fastest leg has handed all bytes and the FIN to the kernel. */
  end(done: () => void): void {
    this.ending = true;
    this.#outstanding = new Outstanding(done);
  }

  /** A leg that has come gets what was written before. @returns false where nothing was kept */
  replay(leg: Leg): boolean {
    const archive = this.#archive;
    if (!archive) return false;
    const outstanding = this.#outstanding;
    // Once the bytes are on their way the host may end its direction, on this leg too.
    const flushed = outstanding && !this.ending ? () => this.flushed(outstanding) : undefined;
    const chunks = leg.ahead ? archive.chunks.slice(leg.ahead) : archive.chunks;
    leg.ahead = undefined;
    if (chunks.length > 0) leg.send(chunks, flushed);
    else if (flushed && leg.queued > 0) leg.send([NOTHING], flushed);
    else flushed?.();
    if (this.#pair.status[1 - leg.index] === 'live') counters.bytesSentTwice += archive.bytes;
    return true;
  }

  /** A leg has handed something to the kernel. */
  flushed(outstanding: Outstanding): void {
    outstanding.flushed();
    if (outstanding === this.#outstanding) this.settle();
  }

  /** Tells the host, if what it waits for is over now. */
  settle(): void {
    const outstanding = this.#outstanding;
    if (!outstanding) return;
    const { status } = this.#pair;
    const live = Number(status[0] === 'live') + Number(status[1] === 'live');
    if (!outstanding.isOver(live)) return;
    // The host may write again after the callback.
    this.#outstanding = undefined;
    outstanding.done();
  }

  /** The flow has ended: nobody is told any more. */
  forget(): void {
    this.#outstanding = undefined;
  }
}
