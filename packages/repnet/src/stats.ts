/** Counters of the process since its start, and the state that it keeps at present. */
import type { PlainReason, Reason } from './events';

/** Reasons of a refusal: `maxConnections`, the end of the server, or the limit of remembered flows. */
export type RefusalReason = 'full' | 'closing' | 'tombstones';

export interface Stats {
  flows: {
    /** Number of replicated flows that this process opened. */
    opened: number;
    /** Number of replicated flows that this process accepted. */
    accepted: number;
    /** Number of flows to listed targets that used one plain connection, by reason. */
    plain: Record<PlainReason, number>;
    /**
     * Number of flows that this process did not accept as replicated flows, by reason. Their clients use plain
     * connections.
     */
    refused: Record<RefusalReason, number>;
    /** Number of flows whose legs carried different bytes or ended at different lengths. */
    diverged: number;
    /** Number of replicated flows that are open now. */
    live: number;
  };
  legs: {
    opened: number;
    established: number;
    /** Number of second legs that carried bytes. */
    paired: number;
    /** Number of those legs whose connection had been idle. */
    rejoined: number;
    /** Number of paired flows in which leg 0, or leg 1, was the faster one for most bytes. */
    won: [number, number];
    /** Number of legs given up, by reason. */
    dropped: Partial<Record<Reason, number>>;
    /** Number of legs that arrived too late and were reset. */
    late: number;
  };
  /** Number of servers that listened on a TCP port through repnet, with and without a replica port. */
  servers: { paired: number; plain: number };
  /** Number of flows that were plain or RepSYN because of the budget. */
  budgetRefusals: number;
  /** Number of bytes of the application that were written to a second leg. */
  bytesSentTwice: number;
  /** Number of objects and bytes that the process keeps at present. */
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

/** Counters of the process. Every module increases its own. */
export const counters: Stats = zero();

export function countDrop(reason: Reason): void {
  counters.legs.dropped[reason] = (counters.legs.dropped[reason] ?? 0) + 1;
}

/** Returns a copy that later events do not change. */
export function snapshot(): Stats {
  return structuredClone(counters);
}
