/** Write or end of stream for which a flow's host waits. */
export class Outstanding {
  /**
   * Every live leg has to pass the write to the kernel, not only the fastest leg: a slow leg may not be
   * dropped, and its queue may not grow.
   */
  byAll = false;
  /** Number of legs that received the write at once. */
  legs = 0;
  readonly done: () => void;
  #flushed = 0;

  constructor(done: () => void) {
    this.done = done;
  }

  /** A leg has passed the write to the kernel. */
  flushed(): void {
    this.#flushed++;
  }

  /** @param live number of legs that carry bytes */
  isOver(live: number): boolean {
    return this.#flushed > 0 && !(this.byAll && this.#flushed < live);
  }
}
