/**
 * Flow that an idle watch observes. One timer checks all flows that were active since its last check.
 * So each chunk of bytes costs a flow only one comparison.
 */
export interface Watched {
  /** Counter that increases when a byte moves in either direction. */
  readonly activity: number;
  readonly state: string;
  /**
   * Called when no byte has moved for the watch's time. @returns false if bytes still wait. The flow then stays watched
   */
  idle(): boolean;
}

export class IdleWatch {
  readonly #time: number;
  /** Watched flows, each with its activity at the timer's last check. */
  #active = new Map<Watched, number>();
  #armed = false;

  /** @param time in milliseconds; a flow is detected as idle after one to two times this value */
  constructor(time: number) {
    this.#time = time;
  }

  watch(flow: Watched): void {
    this.#active.set(flow, flow.activity);
    this.#arm();
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    setTimeout(() => this.#look(), this.#time).unref();
  }

  #look(): void {
    this.#armed = false;
    // The action on an idle flow may move a byte, which adds the flow to the new map.
    const active = this.#active;
    this.#active = new Map();
    for (const [flow, before] of active) {
      if (flow.state !== 'ENDED' && (flow.activity !== before || !flow.idle())) this.#active.set(flow, flow.activity);
    }
    if (this.#active.size > 0) this.#arm();
  }
}

const watches = new Map<number, IdleWatch>();

/** Returns the watch for flows that are idle after `time` milliseconds. */
export function idleWatch(time: number): IdleWatch {
  let watch = watches.get(time);
  if (!watch) {
    watch = new IdleWatch(time);
    watches.set(time, watch);
  }
  return watch;
}
