/** Counters of the process since it started, and how much is held right now. */
import type { PlainReason, Reason } from './events';

/** Its `maxConnections`, its end, or as many flows to remember as there may be. */
export type RefusalReason = 'full' | 'closing' | 'tombstones';

export interface Stats {
  flows: {
    /** Replicated flows that this process opened. */
    opened: number;
    /** Replicated flows that this process accepted. */
    accepted: number;
    /** Flows to listed targets that ran over one plain connection, by reason. */
    plain: Record<PlainReason, number>;
    /** Flows that this process refused to accept as replicated ones, by reason; their clients run them plain. */
    refused: Record<RefusalReason, number>;
    /** Flows whose legs carried different bytes or ended at different lengths. */
    diverged: number;
    /** Replicated flows that are open now. */
    live: number;
  };
  legs: {
    opened: number;
    established: number;
    /** Second legs that came to carry bytes. */
    paired: number;
    /** Of these, legs of connections that had been idle. */
    rejoined: number;
    /** Paired flows in which leg 0, or leg 1, brought more of the bytes first. */
    won: [number, number];
    /** Legs given up, by reason. */
    dropped: Partial<Record<Reason, number>>;
    /** Legs that came too late and were reset. */
    late: number;
  };
  /** Servers that listened on a TCP port through repnet, with and without a replica port. */
  servers: { paired: number; plain: number };
  /** Flows that ran plain, or as RepSYN, because of the budget. */
  budgetRefusals: number;
  /** Bytes of the application that were written to a second leg. */
  bytesSentTwice: number;
  /** What is held now. */
  held: { waiting: number; tombstones: number; pendingHellos: number; lingering: number; archivedBytes: number };
}

function zero(): Stats {
  return {
    flows: {
      opened: 0,
      accepted: 0,
      plain: { unknown: 0, incapable: 0, doubtful: 0, silent: 0, budget: 0, fallback: 0, lookup: 0 },
      refused: { full: 0, closing: 0, tombstones: 0 },
      diverged: 0,
      live: 0,
    },
    legs: { opened: 0, established: 0, paired: 0, rejoined: 0, won: [0, 0], dropped: {}, late: 0 },
    servers: { paired: 0, plain: 0 },
    budgetRefusals: 0,
    bytesSentTwice: 0,
    held: { waiting: 0, tombstones: 0, pendingHellos: 0, lingering: 0, archivedBytes: 0 },
  };
}

/** The live counters; every module adds to its own. */
export const counters: Stats = zero();

export function countDrop(reason: Reason): void {
  counters.legs.dropped[reason] = (counters.legs.dropped[reason] ?? 0) + 1;
}

/** A copy that later events do not change. */
export function snapshot(): Stats {
  return structuredClone(counters);
}
