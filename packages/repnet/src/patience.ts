/**
 * Timer that measures how long a peer does not answer.
 * A process that gets no processor cannot read an answer, so its own delay must not be blamed on the peer.
 * The timer therefore also requires that this process has waited for events for a part of the delay.
 */
import { performance } from 'node:perf_hooks';

/** Number of parts of the delay. Each part takes at least one turn of the event loop. */
const PARTS = 8;
/** Largest number of parts, for a process that is always busy. */
const MOST_PARTS = 32;

export class Patience {
  readonly #expired: () => void;
  readonly #part: number;
  readonly #timer: NodeJS.Timeout;
  #parts = 0;
  /** Time in milliseconds for which this process had waited for events at the end of the first part. */
  #idleBefore = 0;

  /** @param delay in milliseconds; the timer does not keep the process alive */
  constructor(delay: number, expired: () => void) {
    this.#expired = expired;
    this.#part = delay / PARTS;
    this.#timer = setTimeout(() => this.#partOver(), this.#part).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #partOver(): void {
    this.#parts++;
    const { idle } = performance.eventLoopUtilization();
    if (this.#parts === 1) this.#idleBefore = idle;
    const waited = idle - this.#idleBefore >= this.#part;
    // An answer that arrived in the meantime is processed first.
    if (this.#parts >= MOST_PARTS || (this.#parts >= PARTS && waited)) setImmediate(this.#expired);
    else this.#timer.refresh();
  }
}
