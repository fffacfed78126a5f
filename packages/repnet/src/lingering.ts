/**
 * Legs that no flow needs any more: legs of ended flows whose bytes are all in the kernel, and legs that lost and that
 * the peer ends. Each may finish by itself, and its received bytes are discarded. Closing it at once, with unread
 * bytes, would send a reset, which could destroy bytes that are still on their way. A leg whose path has failed would
 * never finish, so their time and their number have a limit.
 */
import { ExpiryQueue } from './expiry-queue';
import type { Leg, LegOwner } from './leg';
import { counters } from './stats';

/** Largest duration of a leg in this state, in milliseconds. */
const LINGER_MS = 5_000;
/** Largest number of these legs in a process. If there are more, the oldest one is closed. */
const MOST_LINGERING = 128;

const lingering = new ExpiryQueue<Leg, Leg>(LINGER_MS, MOST_LINGERING, (leg) => {
  counters.held.lingering--;
  if (leg.finished) leg.close();
  else leg.reset();
});

function gone(leg: Leg): void {
  if (lingering.delete(leg)) counters.held.lingering--;
}

/** Closes a leg at its peer's FIN, and at any error. */
const DISCARDING: LegOwner = {
  legData: () => true,
  // The peer could take the FIN of a leg that lost for the end of the flow.
  legEof: (leg) => (leg.finished ? leg.close() : leg.reset()),
  legFailed: gone,
  legClosed: gone,
};

export function linger(leg: Leg): void {
  leg.leaveTo(DISCARDING);
  counters.held.lingering++;
  lingering.add(leg, leg);
}
