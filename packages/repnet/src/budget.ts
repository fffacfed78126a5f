/**
 * Budget of second connections: the share of the flows to a target that may open two connections.
 * The user sets an upper limit of the share. Below this limit the share adapts (AIMD).
 * The share is halved when connections to the target often fail, and otherwise it slowly increases.
 * Many open RepFlow flows of a process are treated as an incast.
 * In an incast, a second copy of every answer increases the congestion.
 * New flows then use RepSYN (RepNet paper, section II-C).
 */
import type { Mode } from './state-machine';
import { counters } from './stats';

/** Number of connections between two changes of a target's share. */
const WINDOW = 32;
/** Share of failed connections, 0 to 1, above which the share of flows with a second connection is halved. */
const TOO_MANY = 0.25;
const FLOOR = 1 / 32;
const RAISE = 1 / 8;
/** Largest number of second connections in a row after a time without second connections. */
const BURST = 16;
/** Largest number of remembered targets. If there are more, the oldest one is removed. */
const MOST_TARGETS = 4_096;

export interface BudgetLimits {
  /** Largest share of listed flows with a second connection, 0 to 1. */
  budget: number;
  /** Number of open RepFlow flows at which new flows use RepSYN. */
  incastLimit: number;
  /** Whether failed connections lower the share. */
  adaptive: boolean;
}

/** State that all targets of a process share. */
export interface Load {
  /** Number of open flows with two connections. */
  live: number;
}

export class Budget {
  readonly #load: Load;
  #allowance = 1;
  #tokens = 0;
  #outcomes = 0;
  #failures = 0;

  constructor(load: Load = { live: 0 }) {
    this.#load = load;
  }

  /** Returns the mode that a new listed flow may use; `off`: one plain connection. */
  ask(wanted: Mode, limits: BudgetLimits): Mode | 'off' {
    const share = limits.adaptive ? limits.budget * this.#allowance : limits.budget;
    if (share < 1) {
      this.#tokens = Math.min(BURST, this.#tokens + share);
      if (this.#tokens < 1) {
        counters.budgetRefusals++;
        return 'off';
      }
      this.#tokens -= 1;
    }
    if (wanted === 'repflow' && this.#load.live >= limits.incastLimit) {
      counters.budgetRefusals++;
      return 'repsyn';
    }
    return wanted;
  }

  flowStarted(): void {
    this.#load.live++;
  }

  flowEnded(): void {
    this.#load.live--;
  }

  /** Records whether a connection was established. Call it also if the connection failed by itself. */
  legOutcome(established: boolean): void {
    this.#outcomes++;
    if (!established) this.#failures++;
    if (this.#outcomes < WINDOW) return;
    const failed = this.#failures / this.#outcomes;
    this.#allowance = failed > TOO_MANY ? Math.max(FLOOR, this.#allowance / 2) : Math.min(1, this.#allowance + RAISE);
    this.#outcomes = 0;
    this.#failures = 0;
  }
}

/** Budgets of all targets. Each target has its own, so that failures at one target do not affect other targets. */
export class Budgets {
  readonly #load: Load = { live: 0 };
  readonly #byTarget = new Map<string, Budget>();

  of(host: string, port: number): Budget {
    const key = `${port}|${host}`;
    let budget = this.#byTarget.get(key);
    if (!budget) {
      budget = new Budget(this.#load);
      const [longest] = this.#byTarget.keys();
      if (this.#byTarget.size >= MOST_TARGETS && longest !== undefined) this.#byTarget.delete(longest);
      this.#byTarget.set(key, budget);
    }
    return budget;
  }
}
