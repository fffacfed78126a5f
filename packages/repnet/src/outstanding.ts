/** Write or end of stream for which a flow's host waits. */
export class Outstanding {
  /**
   * Whether every live connection has to pass the write to the kernel, and not only the fastest one.
   * This applies if a slow connection must not be dropped, and its queue must not grow.
   */
  byAll = false;
  /** Number of connections that were live when the host made the write. */
  legs = 0;
  readonly done: () => void;
  #flushed = 0;

  constructor(done: () => void) {
    this.done = done;
  }

  /** Called when a connection has passed the write to the kernel. */
  flushed(): void {
    this.#flushed++;
  }

  /** @param live number of connections that carry bytes */
  isOver(live: number): boolean {
    return this.#flushed > 0 && !(this.byAll && this.#flushed < live);
  }
}
