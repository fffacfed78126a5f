/**
 * Tells which flows have been idle. One timer looks at all flows that were active since it last looked: what a flow pays for a byte that
 * moves is a comparison.
 */
export interface Watched {
  /** Grows whenever a byte moves, in either direction. */
  readonly activity: number;
  readonly state: string;
  /** Nothing has moved for the time of the watch. @returns false when bytes wait to be moved: the flow is watched on */
  idle(): boolean;
}

export class IdleWatch {
  readonly #time: number;
  /** Flows, and their activity when the timer last looked. */
  #active = new Map<Watched, number>();
  #armed = false;

  /** @param time in milliseconds; a flow is found idle after one to two of it */
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
    // The action on an idle flow may move a byte: then the watch starts again.
    const active = this.#active;
    this.#active = new Map();
    for (const [flow, before] of active) {
      if (flow.state !== 'ENDED' && (flow.activity !== before || !flow.idle())) this.#active.set(flow, flow.activity);
    }
    if (this.#active.size > 0) this.#arm();
  }
}

const watches = new Map<number, IdleWatch>();

/** The watch for flows that count as idle after `time` milliseconds. */
export function idleWatch(time: number): IdleWatch {
  let watch = watches.get(time);
  if (!watch) {
    watch = new IdleWatch(time);
    watches.set(time, watch);
  }
  return watch;
}
