/**
 * Bytes that a flow sends.
 * Each write goes to every connection that carries bytes, and is kept for a connection that has not arrived.
 * The host waits for one write at a time, or for the end of its direction.
 */
import { Archive } from './archive';
import type { Leg } from './leg';
import { firstLive, type LegPair } from './leg-order';
import { Outstanding } from './outstanding';
import { counters } from './stats';

/** Empty write. Its callback runs when the kernel has accepted all earlier bytes. */
const NOTHING = Buffer.alloc(0);

export class Outbound {
  /** Number of bytes that the host has written. */
  written = 0;
  /**
   * Whether a server that has not answered may have received bytes of the flow.
   * If so, the flow must not start at another server.
   */
  exposed = false;
  /** Whether the host has ended its direction. */
  ending = false;
  readonly #pair: LegPair;
  #archive: Archive | undefined;
  #outstanding: Outstanding | undefined;

  constructor(pair: LegPair) {
    this.#pair = pair;
  }

  /** Returns the write, or the end of the stream, for which the host waits. */
  get outstanding(): Outstanding | undefined {
    return this.#outstanding;
  }

  /** Starts to keep all written bytes. */
  startArchive(): void {
    this.#archive = new Archive();
  }

  /** Whether all written bytes are kept since some position. */
  get isKeeping(): boolean {
    return this.#archive !== undefined;
  }

  /** Calls `change`, which may free the kept bytes or start to keep new ones. The bytes that are kept now stay. */
  keepDuring(change: () => void): void {
    const kept = this.#archive;
    this.#archive = undefined;
    change();
    if (!kept) return;
    this.freeArchive();
    this.#archive = kept;
  }

  freeArchive(): void {
    this.#archive?.free();
    this.#archive = undefined;
  }

  get archivedBytes(): number {
    return this.#archive?.bytes ?? 0;
  }

  /** Permits writes on a connection before it is established. @returns the chunks that were written before */
  sendAhead(leg: Leg): readonly Buffer[] {
    const chunks = this.#archive?.chunks ?? [];
    leg.ahead = chunks.length;
    this.exposed = chunks.length > 0;
    return chunks;
  }

  /**
   * Sends chunks on every live connection, with one write for each.
   * `done` is called when the fastest connection has passed them to the kernel.
   *
   * @param settled whether only one connection carries bytes.
   * If no other one is expected, the write needs no bookkeeping
   * @returns the write for which the host then waits, or `undefined` if there was no bookkeeping
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

  /**
   * Ends the host's direction. `done` is called when the fastest leg has passed all bytes and the FIN to the kernel.
   */
  end(done: () => void): void {
    this.ending = true;
    this.#outstanding = new Outstanding(done);
  }

  /** Sends all earlier bytes on a connection that has arrived. @returns false if no bytes were kept */
  replay(leg: Leg): boolean {
    const archive = this.#archive;
    if (!archive) return false;
    const outstanding = this.#outstanding;
    // The host may end its direction as soon as the bytes are sent, also on this connection.
    const flushed = outstanding && !this.ending ? () => this.flushed(outstanding) : undefined;
    const chunks = leg.ahead ? archive.chunks.slice(leg.ahead) : archive.chunks;
    leg.ahead = undefined;
    if (chunks.length > 0) leg.send(chunks, flushed);
    else if (flushed && leg.queued > 0) leg.send([NOTHING], flushed);
    else flushed?.();
    if (this.#pair.status[1 - leg.index] === 'live') counters.bytesSentTwice += archive.bytes;
    return true;
  }

  /** Called when a connection has passed a write to the kernel. */
  flushed(outstanding: Outstanding): void {
    outstanding.flushed();
    if (outstanding === this.#outstanding) this.settle();
  }

  /** Calls the host's callback if the write or the end is complete. */
  settle(): void {
    const outstanding = this.#outstanding;
    if (!outstanding) return;
    const { status } = this.#pair;
    const live = Number(status[0] === 'live') + Number(status[1] === 'live');
    if (!outstanding.isOver(live)) return;
    // The host may write again in the callback.
    this.#outstanding = undefined;
    outstanding.done();
  }

  /** Drops the callback of the host, because the flow has ended. */
  forget(): void {
    this.#outstanding = undefined;
  }
}
