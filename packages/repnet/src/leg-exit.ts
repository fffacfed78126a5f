/** How a leg that carries nothing any more leaves: with a reset, as `destroy()` does it, or when the peer ends it. */
import type { Leg } from './leg';
import type { LegPair } from './leg-order';
import type { FlowSettings } from './settings';
import type { Mode, State } from './state-machine';

/**
 * The loser of a RepSYN flow that has said its hello: the server ends it when it learns of the choice, with a FIN, and the client hangs up
 * then. A reset would be an error with a stack at the other end, for every flow.
 */
export function leavesToPeer(flow: { mode: Mode; state: State; settings: FlowSettings }, { socket }: Leg): boolean {
  const settled = flow.mode === 'repsyn' && flow.settings.pairing === 'hello' && flow.state === 'CHOSEN';
  return settled && !socket.connecting && !socket.destroyed && socket.bytesWritten > 0;
}

/** As the application's `destroy()`; a leg that has sent less than the other is reset, so that the peer does not see two ends. */
export function closeBoth({ legs, status }: LegPair, byReset: boolean): void {
  const open = legs.filter((leg) => leg !== undefined) as Leg[];
  if (byReset) {
    for (const leg of open) leg.reset();
    return;
  }
  open.sort((one, two) => one.queued - two.queued);
  const [best, rest] = open;
  best?.close();
  if (rest && (rest.queued > 0 || status[rest.index] !== 'live')) rest.reset();
  else rest?.close();
}
