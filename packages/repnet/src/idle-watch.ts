/**
 * Flow that the watch observes. One timer checks all flows that were active since its last check, so a flow pays only
 * one comparison for a byte that moves.
 */
export interface Watched {
  /** Increases when a byte moves in either direction. */
  readonly activity: number;
  readonly state: string;
  /** No byte has moved for the time of the watch. @returns false if bytes wait to be moved: the flow stays watched */
  idle(): boolean;
}

export class IdleWatch {
  readonly #time: number;
  /** Flows, and their activity at the timer's last check. */
  #active = new Map<Watched, number>();
  #armed = false;

  /** @param time in milliseconds; an idle flow is detected after one to two of these times */
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
    // The action on an idle flow may move a byte, which starts the watch again.
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
