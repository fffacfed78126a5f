/**
 * Legs that no flow needs any more: of ended flows, with all bytes in the kernel, and losers that the peer ends. Each may finish by itself, and what still comes is discarded: closing at once, with
 * unread bytes, would send a reset and could destroy bytes on their way. One whose path stands still would never finish, so there is a
 * limit to their time and to their number.
 */
import { ExpiryQueue } from './expiry-queue';
import type { Leg, LegOwner } from './leg';
import { counters } from './stats';

/** How long a leg may take, in milliseconds. */
const LINGER_MS = 5_000;
/** How many may linger in a process; beyond it the oldest one is closed. */
const MOST_LINGERING = 128;

const lingering = new ExpiryQueue<Leg, Leg>(LINGER_MS, MOST_LINGERING, (leg) => {
  counters.held.lingering--;
  if (leg.finished) leg.close();
  else leg.reset();
});

function gone(leg: Leg): void {
  if (lingering.delete(leg)) counters.held.lingering--;
}

/** Ends a leg at its peer's FIN, and at any error. */
const DISCARDING: LegOwner = {
  legData: () => true,
  // The peer could take a loser's FIN for the end of the flow.
  legEof: (leg) => (leg.finished ? leg.close() : leg.reset()),
  legFailed: gone,
  legClosed: gone,
};

export function linger(leg: Leg): void {
  leg.leaveTo(DISCARDING);
  counters.held.lingering++;
  lingering.add(leg, leg);
}
