/**
 * Ways to close a connection that carries no bytes any more.
 * There are three ways: a reset, a close like `destroy()`, and a close by the peer.
 */
import type { Leg } from './leg';
import type { LegPair } from './leg-order';
import type { FlowSettings } from './settings';
import type { Mode, State } from './state-machine';

/**
 * Returns whether the peer closes the connection.
 * The peer does so if a RepSYN flow did not choose the connection, and the hello was already sent.
 * The server then sends a FIN, and the client closes the connection after this FIN.
 * A reset by the client would cause an error with a stack trace at the server, for every flow.
 */
export function leavesToPeer(flow: { mode: Mode; state: State; settings: FlowSettings }, { socket }: Leg): boolean {
  const settled = flow.mode === 'repsyn' && flow.settings.pairing === 'hello' && flow.state === 'CHOSEN';
  return settled && !socket.connecting && !socket.destroyed && socket.bytesWritten > 0;
}

/**
 * Closes both connections, as the application's `destroy()` does.
 * A connection that has sent fewer bytes than the other one is reset.
 * So the peer does not receive two ends of the stream.
 */
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
