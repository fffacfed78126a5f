/**
 * How much of the load may be extra flows. A ceiling (share of listed flows) that the user sets, and below it a share that the process
 * adapts by itself: halved when legs fail often, raised slowly when they do not (AIMD). Many live RepFlow flows at once are taken for an
 * incast, in which a second copy of every answer makes things worse: RepSYN is used then (RepNet paper, section II-C).
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

export interface BudgetLimits {
  /** Share of listed flows, 0 to 1. */
  budget: number;
  /** Live RepFlow flows. */
  incastLimit: number;
}

export class Budget {
  #allowance = 1;
  #tokens = 0;
  #outcomes = 0;
  #failures = 0;
  #live = 0;

  /** Asks for a listed flow. @returns the mode it may use, `off` for one plain connection. */
  ask(wanted: Mode, limits: BudgetLimits): Mode | 'off' {
    const share = limits.budget * this.#allowance;
    if (share < 1) {
      this.#tokens = Math.min(BURST, this.#tokens + share);
      if (this.#tokens < 1) {
        counters.budgetRefusals++;
        return 'off';
      }
      this.#tokens -= 1;
    }
    if (wanted === 'repflow' && this.#live >= limits.incastLimit) {
      counters.budgetRefusals++;
      return 'repsyn';
    }
    return wanted;
  }

  flowStarted(): void {
    this.#live++;
  }

  flowEnded(): void {
    this.#live--;
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
