/** Limits for the number of bytes of a flow: `archiveCap`, `maxBytes` and `lagCap`. */
import { RepnetError } from './errors';
import { behind, type LegPair, lagOf } from './leg-order';
import type { FlowSettings } from './settings';
import type { FlowEvent, Role, State } from './state-machine';

/** Part of a flow that has limits. */
export interface Limited extends LegPair {
  readonly role: Role;
  readonly state: State;
  readonly settings: FlowSettings;
  /** Number of bytes that are kept for a connection that has not arrived. */
  readonly archivedBytes: number;
  /** Number of bytes of the present message that moved in both directions. */
  readonly messageBytes: number;
}

/** Calls `exceeded` for each limit that the flow exceeds. The event makes the flow give up the connection `index`. */
export function checkLimits(flow: Limited, exceeded: (event: FlowEvent, index: 0 | 1, error?: Error) => void): void {
  const { archiveCap, maxBytes, lagCap } = flow.settings;
  if (flow.archivedBytes > archiveCap) {
    const pending = flow.status[0] === 'pending' ? 0 : flow.status[1] === 'pending' ? 1 : undefined;
    if (pending !== undefined) {
      const error = new RepnetError('ERR_REPNET_ARCHIVE_FULL', `more than ${archiveCap} bytes wait for a connection`);
      exceeded('archive_over_threshold', pending, error);
    }
  }
  // A server never chooses between the connections.
  // The server's application has to wait until the slower connection has progressed or the client has given it up.
  if (flow.role === 'server' || flow.state !== 'DUP_CONN') return;
  if (flow.messageBytes > maxBytes) exceeded('bytes_over_limit', behind(flow));
  for (const leg of flow.legs) {
    if (leg && lagOf(flow, leg) > lagCap) exceeded('lag_over_cap', leg.index);
  }
}
