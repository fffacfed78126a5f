/**
 * Order of a flow's two connections. The connection with more received bytes is ahead.
 * If both received the same number, the connection with fewer waiting bytes of ours is ahead.
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
 * Returns the index of the connection to give up.
 * A pending connection is given up first, and then the connection with fewer received bytes.
 * If both are equal, the connection with more bytes in user space is given up.
 * If these are equal, too, the second connection is given up.
 */
export function behind({ legs: [first, second], status }: LegPair): 0 | 1 {
  if (status[1] !== 'live' || !second) return 1;
  if (status[0] !== 'live' || !first) return 0;
  if (first.received !== second.received) return first.received < second.received ? 0 : 1;
  return first.queued > second.queued ? 0 : 1;
}

/**
 * Returns the number of bytes by which a connection is behind the other one. The result is the larger of two values.
 * The first value is the number of received bytes that only the other connection has delivered.
 * The second value is the number of our bytes in user space, if the other connection has fewer.
 * A connection that has received more bytes than the other one is not behind.
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
