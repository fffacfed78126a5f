/** The write, or the end of stream, that a flow's host waits for. */
export class Outstanding {
  /** Every live leg has to hand it over, not only the fastest: a lagging one may neither be dropped nor grow. */
  byAll = false;
  /** Legs that it was given to at once. */
  legs = 0;
  readonly done: () => void;
  #flushed = 0;

  constructor(done: () => void) {
    this.done = done;
  }

  /** A leg has handed it to the kernel. */
  flushed(): void {
    this.#flushed++;
  }

  /** @param live legs that carry bytes */
  isOver(live: number): boolean {
    return this.#flushed > 0 && !(this.byAll && this.#flushed < live);
  }
}
