/** Which of a flow's two legs is ahead of the other: by the peer's bytes that it brought, then by our bytes that still wait in it. */
import type { Leg } from './leg';
import type { OtherLeg } from './state-machine';

/** A flow's legs by index, and whether each carries bytes. */
export interface LegPair {
  readonly legs: readonly [Leg | undefined, Leg | undefined];
  readonly status: readonly [OtherLeg, OtherLeg];
}

/** The live leg with the lower index; `undefined`: neither is live. */
export function firstLive({ legs: [first, second], status }: LegPair): Leg | undefined {
  if (first && status[0] === 'live') return first;
  return second && status[1] === 'live' ? second : undefined;
}

/** Bytes in user space on the live leg that is furthest along; 0 without one. */
export function leastQueued({ legs, status }: LegPair): number {
  const lengths = legs.filter((leg) => leg !== undefined && status[leg.index] === 'live');
  return lengths.length === 0 ? 0 : Math.min(...lengths.map((leg) => leg?.queued ?? 0));
}

/** The leg to give up: pending, else behind in bytes received, else with more bytes in user space, else the second. */
export function behind({ legs: [first, second], status }: LegPair): 0 | 1 {
  if (status[1] !== 'live' || !second) return 1;
  if (status[0] !== 'live' || !first) return 0;
  if (first.received !== second.received) return first.received < second.received ? 0 : 1;
  return first.queued > second.queued ? 0 : 1;
}

/**
 * How far a leg is behind the other one, in bytes: of the peer's, what the other one has brought already; of ours, what waits for it in user
 * space, if that is more than on the other one. A leg that is ahead with the peer's bytes is not behind.
 */
export function lagOf({ legs }: LegPair, leg: Leg): number {
  const other = legs[1 - leg.index];
  if (!other || other.received < leg.received) return 0;
  return Math.max(other.received - leg.received, leg.queued > other.queued ? leg.queued : 0);
}

/** Whether more than `cap` bytes wait in user space on a live leg. */
export function anyQueuedOver({ legs, status }: LegPair, cap: number): boolean {
  return legs.some((leg) => leg !== undefined && leg.queued > cap && status[leg.index] === 'live');
}
