/**
 * Connections that no flow needs any more. Some belong to ended flows, and all their bytes are in the kernel.
 * Others lost a race, and the peer closes them.
 * Each connection may finish by itself, and its received bytes are discarded.
 * A close now, with unread bytes, would send a reset. The reset could destroy bytes in flight.
 * A connection on a failed path would never finish, so the time and the number of these connections are limited.
 */
import { ExpiryQueue } from './expiry-queue';
import type { Leg, LegOwner } from './leg';
import { counters } from './stats';

/** Longest time in milliseconds that a connection lingers. */
const LINGER_MS = 5_000;
/** Largest number of lingering connections in a process. If there are more, the oldest one is closed. */
const MOST_LINGERING = 128;

const lingering = new ExpiryQueue<Leg, Leg>(LINGER_MS, MOST_LINGERING, (leg) => {
  counters.held.lingering--;
  if (leg.finished) leg.close();
  else leg.reset();
});

function gone(leg: Leg): void {
  if (lingering.delete(leg)) counters.held.lingering--;
}

/** Owner that discards all bytes, and closes a connection at its peer's FIN and at any error. */
const DISCARDING: LegOwner = {
  legData: () => true,
  // An unfinished connection has lost a race. Its peer could mistake a FIN for the end of the flow.
  legEof: (leg) => (leg.finished ? leg.close() : leg.reset()),
  legFailed: gone,
  legClosed: gone,
};

export function linger(leg: Leg): void {
  leg.leaveTo(DISCARDING);
  counters.held.lingering++;
  lingering.add(leg, leg);
}
