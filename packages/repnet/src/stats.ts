/** Counters of the process since its start, and gauges of its present state. */
import type { PlainReason, Reason } from './events';

/** Reasons to refuse a flow: `maxConnections` was reached, the server is closing, or too many flows are remembered. */
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
     * Number of flows that this process refused as replicated flows, by reason. Their clients use plain connections.
     */
    refused: Record<RefusalReason, number>;
    /** Number of flows whose two connections carried different bytes or ended at different lengths. */
    diverged: number;
    /** Number of replicated flows that are open now. */
    live: number;
  };
  legs: {
    opened: number;
    established: number;
    /** Number of second connections that carried bytes. */
    paired: number;
    /** Number of second connections that were added to a flow after it had been idle. */
    rejoined: number;
    /** Number of flows that connection 0 won, and that connection 1 won. The winner was faster for most bytes. */
    won: [number, number];
    /** Number of connections given up, by reason. */
    dropped: Partial<Record<Reason, number>>;
    /** Number of connections that arrived too late for their flow and were reset. */
    late: number;
  };
  /** Number of servers that listened on a TCP port through repnet, with and without a replica port. */
  servers: { paired: number; plain: number };
  /** Number of flows that used RepSYN or one plain connection because of the budget. */
  budgetRefusals: number;
  /** Number of bytes of the application that were written to a second connection. */
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

/** Counters of the process. All modules add to them. */
export const counters: Stats = zero();

export function countDrop(reason: Reason): void {
  counters.legs.dropped[reason] = (counters.legs.dropped[reason] ?? 0) + 1;
}

/** Returns a copy of the counters that later events do not change. */
export function snapshot(): Stats {
  return structuredClone(counters);
}
