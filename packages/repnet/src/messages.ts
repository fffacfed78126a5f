/**
 * Messages of a kept-alive flow. A message ends when no byte has moved for some time.
 * Each message is replicated again. If the flow uses only one connection, the client opens a second one,
 * which rejoins the flow at its present position. See docs/repnet-wire.md, "Legs that rejoin".
 */
import type { Reason } from './events';
import type { SecondLegs } from './flow-parties';
import { idleWatch, type Watched } from './idle-watch';
import type { Inbound } from './inbound';
import type { Leg } from './leg';
import { behind, firstLive, type LegPair } from './leg-order';
import type { Outbound } from './outbound';
import type { FlowSettings } from './settings';
import type { FlowEvent, Mode, OtherLeg, State } from './state-machine';
import type { Rejoin } from './wire';

/** Part of a flow that its messages need. */
export interface Rejoinable extends LegPair {
  readonly mode: Mode;
  readonly state: State;
  readonly settings: FlowSettings;
  readonly status: [OtherLeg, OtherLeg];
  readonly inbound: Inbound;
  readonly outbound: Outbound;
  /** Number of bytes in user space on the fastest connection. */
  readonly queued: number;
  adopt(leg: Leg): void;
}

type Dispatch = (event: FlowEvent, index: 0 | 1, reason?: Reason) => boolean;

export class Messages implements Watched {
  /** Source of new second connections, at a client. */
  secondLegs: SecondLegs | undefined;
  /** Number in the hello of the last connection that has rejoined, or that was expected to rejoin. */
  last = 0;
  readonly #flow: Rejoinable;
  readonly #dispatch: Dispatch;
  /** Number of bytes sent and received before the present message. */
  #before = 0;
  #watched = false;

  constructor(flow: Rejoinable, dispatch: Dispatch) {
    this.#flow = flow;
    this.#dispatch = dispatch;
  }

  get state(): State {
    return this.#flow.state;
  }

  /** Number of bytes that moved in both directions. */
  get activity(): number {
    return this.#flow.outbound.written + this.#flow.inbound.delivered;
  }

  /** Number of bytes of the present message that moved in both directions. */
  get bytes(): number {
    return this.activity - this.#before;
  }

  /** Requests a call of `idle()` at a client when the flow has been idle. */
  watch(): void {
    if (this.#watched || !this.secondLegs) return;
    this.#watched = true;
    idleWatch(this.#flow.settings.idleTime).watch(this);
  }

  /** Called at a client when no byte has moved for some time. The next bytes belong to another message. */
  idle(): boolean {
    const flow = this.#flow;
    if (flow.outbound.outstanding || flow.queued > 0) return false;
    this.#watched = false;
    const { secondLegs } = this;
    if (!secondLegs || flow.inbound.ended || flow.outbound.ending) return true;
    this.#before = this.activity;
    if (flow.state === 'DUP_CONN' && flow.status[0] === 'live' && flow.status[1] === 'live') {
      const index = behind(flow);
      const leg = flow.legs[index];
      if (!leg || (leg.received === flow.inbound.delivered && leg.queued === 0)) {
        secondLegs.wasUseful();
        return true;
      }
      secondLegs.replace(index);
      return true;
    }
    const carrier = firstLive(flow);
    if (this.state !== 'CHOSEN' || !carrier) return true;
    const index = (1 - carrier.index) as 0 | 1;
    if (flow.status[index] === 'gone') secondLegs.start(index);
    return true;
  }

  /**
   * Adds a connection that has replaced a slower one at the server. The slower one is dropped here, too, if it is open.
   * The other connection carries the flow.
   */
  legReplaced(leg: Leg, message: number): void {
    if (this.#flow.status[leg.index] === 'live') this.#dispatch('leg_failed', leg.index, 'behind');
    this.expectRejoin(leg, message);
  }

  /** Adds a second connection to a client's idle flow. It carries the next bytes, too, as soon as it is established. */
  expectRejoin(leg: Leg, message: number): void {
    this.#flow.adopt(leg);
    this.#flow.status[leg.index] = 'pending';
    this.last = message;
    this.#startHere(leg);
    this.#dispatch('rejoin_started', leg.index);
  }

  /**
   * Returns whether a connection with this hello may rejoin a server's flow.
   * The positions of both directions must agree.
   */
  standsAt(index: 0 | 1, { message, sent, received }: Rejoin): boolean {
    const { mode, state, status, legs, inbound, outbound } = this.#flow;
    if (mode !== 'repflow' || message <= this.last || sent !== inbound.delivered || received !== outbound.written) return false;
    const other = legs[1 - index];
    if (inbound.ended || outbound.ending || !other || status[other.index] !== 'live' || other.received !== inbound.delivered) return false;
    // Otherwise the flow had no second connection, or the client has given it up and replaces it now.
    return state === 'CHOSEN' || status[index] !== 'gone';
  }

  /** Adds a connection that rejoins a server's flow. The caller has checked it with `standsAt()`. */
  legRejoined(leg: Leg, { message }: Rejoin): void {
    if (this.#flow.status[leg.index] === 'live') this.#dispatch('leg_failed', leg.index, 'replaced');
    else if (this.state === 'ONE_CONN') this.#dispatch('waiting_list_timeout', leg.index);
    this.last = message;
    this.#flow.adopt(leg);
    this.#startHere(leg);
    this.#dispatch('second_leg_joined', leg.index);
  }

  /** Starts a connection at the present position: it has to deliver the same further bytes as the other connection. */
  #startHere(leg: Leg): void {
    leg.received = this.#flow.inbound.delivered;
    this.#flow.inbound.compareFromHere();
  }

  /** Stops waiting for a second connection that has not rejoined: it cannot join any more, or would be useless. */
  giveUpRejoin(): void {
    const { status } = this.#flow;
    if (this.state !== 'CHOSEN' || !firstLive(this.#flow)) return;
    const index = status[0] === 'pending' ? 0 : status[1] === 'pending' ? 1 : undefined;
    if (index !== undefined) this.#dispatch('leg_failed', index, 'not_needed');
  }
}
