/**
 * How much of the load to a target may be extra flows. A ceiling (share of listed flows) that the user sets, and below it a share that
 * adapts by itself: halved when this target's legs fail often, raised slowly when they do not (AIMD). Many live RepFlow flows of the process
 * at once are taken for an incast, in which a second copy of every answer makes things worse: RepSYN is used then (RepNet paper, section
 * II-C).
 */
import type { Mode } from './state-machine';
import { counters } from './stats';

/** Legs between two adaptations. */
const WINDOW = 32;
/** Share of failed legs that halves the allowance. */
const TOO_MANY = 0.25;
const FLOOR = 1 / 32;
const RAISE = 1 / 8;
/** Second legs that may be opened in a row after a time without any. */
const BURST = 16;
/** How many targets are remembered; the one that has been known for longest goes first. */
const MOST_TARGETS = 4_096;

export interface BudgetLimits {
  /** Share of listed flows, 0 to 1. */
  budget: number;
  /** Live RepFlow flows. */
  incastLimit: number;
  /** Whether the allowance follows how often legs fail. */
  adaptive: boolean;
}

/** What all targets of a process share. */
export interface Load {
  /** Flows of two legs that are open. */
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

  /** Asks for a listed flow. @returns the mode it may use, `off` for one plain connection. */
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

  /** The outcome of a leg that was opened: established, or failed by itself. */
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

/** A budget for each target: one that flaps takes nothing from the others. */
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
