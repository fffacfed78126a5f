/**
 * Order of a flow's two connections: by the number of received bytes, and then by the number of our bytes that wait in
 * user space.
 */
import type { Leg } from './leg';
import type { OtherLeg } from './state-machine';

/** Connections of a flow by index, and their status. */
export interface LegPair {
  readonly legs: readonly [Leg | undefined, Leg | undefined];
  readonly status: readonly [OtherLeg, OtherLeg];
}

/** Returns the live connection with the lower index, or `undefined` if neither is live. */
export function firstLive({ legs: [first, second], status }: LegPair): Leg | undefined {
  if (first && status[0] === 'live') return first;
  return second && status[1] === 'live' ? second : undefined;
}

/** Returns the number of bytes in user space on the fastest live connection, or 0 if none is live. */
export function leastQueued({ legs, status }: LegPair): number {
  const lengths = legs.filter((leg) => leg !== undefined && status[leg.index] === 'live');
  return lengths.length === 0 ? 0 : Math.min(...lengths.map((leg) => leg?.queued ?? 0));
}

/**
 * Returns the index of the connection to give up. It is a pending connection if there is one. Otherwise it is the
 * connection with fewer received bytes, then the one with more bytes in user space, then the second.
 */
export function behind({ legs: [first, second], status }: LegPair): 0 | 1 {
  if (status[1] !== 'live' || !second) return 1;
  if (status[0] !== 'live' || !first) return 0;
  if (first.received !== second.received) return first.received < second.received ? 0 : 1;
  return first.queued > second.queued ? 0 : 1;
}

/**
 * Returns the number of bytes by which a connection is behind the other one. Two counts are compared, and the larger
 * counts: bytes of the peer that only the other connection has delivered, and our bytes that wait in user space, if
 * they are more than on the other connection. A connection that is ahead with the peer's bytes is not behind.
 */
export function lagOf({ legs }: LegPair, leg: Leg): number {
  const other = legs[1 - leg.index];
  if (!other || other.received < leg.received) return 0;
  return Math.max(other.received - leg.received, leg.queued > other.queued ? leg.queued : 0);
}

/** Returns whether more than `cap` bytes wait in user space on a live connection. */
export function anyQueuedOver({ legs, status }: LegPair, cap: number): boolean {
  return legs.some((leg) => leg !== undefined && leg.queued > cap && status[leg.index] === 'live');
}
