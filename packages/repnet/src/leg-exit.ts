/**
 * Ways to close a connection that carries no bytes any more.
 * There are four ways: a reset, a close like `destroy()`, a close by the peer, and a FIN by a client that leaves.
 */
import type { Leg } from './leg';
import type { LegPair } from './leg-order';
import { linger } from './lingering';
import type { FlowSettings } from './settings';
import type { Mode, Role, State } from './state-machine';

interface Given {
  readonly role: Role;
  readonly mode: Mode;
  readonly state: State;
  readonly settings: FlowSettings;
}

/** Returns whether a client has sent its hello on the connection. The server may then have opened a flow. */
function saidHello({ settings }: Given, { socket }: Leg): boolean {
  return settings.pairing === 'hello' && !socket.connecting && !socket.destroyed && socket.bytesWritten > 0;
}

/**
 * Closes one connection that its flow gives up.
 *
 * A client leaves a flow that it has not used with a FIN, because the server's application may have got a connection.
 * The FIN ends this connection without an error. A reset would look like the reset of an application.
 *
 * The peer closes a connection that a RepSYN flow did not choose, if the hello was already sent.
 * The server then sends a FIN, and the client closes the connection after this FIN.
 * A reset by the client would cause an error with a stack trace at the server, for every flow.
 *
 * @param leaving whether a client leaves a flow that it has not used
 * @returns whether the connection now lingers, and belongs to its flow no more
 */
export function giveUp(flow: Given, leg: Leg, leaving: boolean): 'closed' | 'lingers' {
  const settled = flow.mode === 'repsyn' && flow.state === 'CHOSEN';
  if (!(leaving || settled) || !saidHello(flow, leg)) leg.reset();
  else if (flow.role === 'server') leg.close();
  else {
    if (leaving) leg.end(() => {});
    linger(leg);
    return 'lingers';
  }
  return 'closed';
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
