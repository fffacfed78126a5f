/**
 * Flow: one pair of byte streams over up to two connections ("legs").
 * The flow executes the actions of the state machine on real connections.
 * The flow's host is the application's socket.
 */
import type { Budget } from './budget';
import { RepnetError } from './errors';
import { publish, type Reason } from './events';
import { publicName } from './flow-id';
import { checkLimits } from './flow-limits';
import type { FlowHost, FlowOptions, FlowRegistry } from './flow-parties';
import { Inbound } from './inbound';
import type { Leg, LegOwner } from './leg';
import { closeBoth, giveUp } from './leg-exit';

import { anyQueuedOver, firstLive, leastQueued } from './leg-order';
import { linger } from './lingering';
import { Messages } from './messages';
import { Outbound } from './outbound';
import type { FlowSettings } from './settings';
import {
  type Action,
  ENDS_SUBJECT,
  type FlowEvent,
  type Mode,
  type OtherLeg,
  type Role,
  START,
  type State,
  transition,
} from './state-machine';
import { countDrop, counters } from './stats';

export class Flow implements LegOwner {
  readonly id: string;
  readonly role: Role;
  readonly mode: Mode;
  readonly settings: FlowSettings;
  readonly legs: [Leg | undefined, Leg | undefined] = [undefined, undefined];
  readonly status: [OtherLeg, OtherLeg] = ['pending', 'pending'];
  host: FlowHost | undefined;
  state: State;
  /** Set of the connections that have arrived at least once, one bit each. */
  seen = 0;
  opened = false;
  paired = false;
  /** Bytes that this end of the flow sends. */
  readonly outbound = new Outbound(this);
  /** Bytes that this end of the flow receives. */
  readonly inbound = new Inbound();
  readonly messages = new Messages(this, (event, index, reason) => this.#dispatch(event, index, undefined, reason));
  /** Source address of the first connection, at a server. */
  readonly from: string | undefined;
  #registry: FlowRegistry | undefined;
  #budget: Budget | undefined;
  #held: Error | undefined;
  /** Failure of the last connection, while a connection that replaces it is on its way. */
  #lost: { index: 0 | 1; error: Error } | undefined;
  #error: Error | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #confirm: NodeJS.Timeout | undefined;
  #open = 0;
  #resetAll = false;
  /** Whether a client uses two connections. */
  #replicated = false;
  /** Whether the client leaves the replica port, on which it has not used the flow. */
  #leaving = false;

  constructor(options: FlowOptions) {
    this.id = options.id;
    this.role = options.role;
    this.mode = options.mode;
    this.settings = options.settings;
    this.from = options.from;
    this.#registry = options.registry;
    this.#budget = options.budget;
    this.state = START[this.role].next;
    counters.flows.live++;
    this.#budget?.flowStarted();
  }

  /** Starts a client's flow. Both connections are pending. */
  startClient(): void {
    counters.flows.opened++;
    this.#replicated = true;
    this.#perform(START.client.actions, 0, 'leg_established', undefined);
    this.#deadline = setTimeout(() => this.#deadlinePassed(), this.settings.legDeadline).unref();
  }

  /** Starts a client's flow with one plain connection. There is no race between connections. */
  startSingle(leg: Leg): void {
    this.state = 'CHOSEN';
    this.status[(1 - leg.index) as 0 | 1] = 'gone';
    this.inbound.compareNoMore();
    this.outbound.startArchive();
    this.adopt(leg);
  }

  /** Starts a server's flow with its first connection. */
  startServer(leg: Leg): void {
    counters.flows.accepted++;
    this.adopt(leg);
    this.#perform(START.server.actions, leg.index, 'leg_established', undefined);
  }

  /** Makes this connection a part of the flow. It carries no bytes yet. */
  adopt(leg: Leg): void {
    this.legs[leg.index] = leg;
    this.seen |= 1 << leg.index;
    this.#open++;
    leg.owner = this;
    counters.legs.opened++;
    publish('repnet:leg:open', () => ({
      ...this.#names(),
      leg: leg.index,
      address: leg.socket.remoteAddress,
      port: leg.socket.remotePort,
    }));
  }

  /** Called at a client, when the handshake of a connection is complete. */
  legEstablished(leg: Leg): void {
    leg.owner = this;
    this.#budget?.legOutcome(true);
    if (!this.#dispatch('leg_established', leg.index)) leg.reset();
    else this.#checkLimits();
  }

  /** Returns whether the flow has ended with an error. */
  get failed(): boolean {
    return this.#error !== undefined;
  }

  /** Returns whether a server's flow would accept this connection if it arrived now. */
  wants(index: 0 | 1): boolean {
    return this.state === 'ONE_CONN' && this.legs[index] === undefined && this.status[index] === 'pending';
  }

  /**
   * Adds the second connection of a server's flow.
   * @returns false if the flow accepts none, and the connection was reset
   */
  legJoined(leg: Leg): boolean {
    if (this.wants(leg.index)) {
      this.adopt(leg);
      return this.#dispatch('second_leg_joined', leg.index);
    }
    counters.legs.late++;
    publish('repnet:leg:late', () => ({ ...this.#names(), leg: leg.index }));
    this.seen |= 1 << leg.index;
    if (this.#step('late_leg', leg.index)?.actions.includes('leave_waiting_list')) this.#registry?.leaveWaitingList(this);
    // The client of a RepSYN flow has chosen the other connection, and waits until this one ends.
    if (this.mode === 'repsyn') leg.close();
    else leg.reset();
    return false;
  }

  /** Called at a server with RepSYN, when it learns that the client uses this connection. */
  choiceLearned(index: 0 | 1): void {
    this.#dispatch('choice_learned', index);
  }

  /** Called at a server, when the second connection did not arrive in time. */
  waitingListTimedOut(): void {
    // If too many bytes were written, they were not kept, and the missing connection is no longer pending.
    const [first, second] = this.status;
    const missing = first === 'pending' || (first === 'gone' && second === 'live') ? 0 : 1;
    this.#dispatch('waiting_list_timeout', missing, this.#held);
  }

  /** Called when a connection could not be opened, or its handshake failed. */
  legUnusable(index: 0 | 1, error: Error, reason: Reason): void {
    if (this.status[index] === 'gone') return;
    this.#budget?.legOutcome(false);
    this.#dispatch('leg_failed', index, error, reason);
  }

  /**
   * Sends chunks on every live connection, with one write for each.
   * `done` is called when the fastest connection has passed the chunks to the kernel.
   */
  write(chunks: readonly Buffer[], done: () => void): void {
    const outstanding = this.outbound.write(chunks, done, this.state === 'CHOSEN');
    this.messages.watch();
    if (!outstanding) return;
    this.#checkLimits();
    outstanding.byAll = outstanding.legs === 2 && anyQueuedOver(this, this.settings.lagCap);
  }

  /**
   * Ends our direction. `done` is called when the fastest connection has passed all bytes and the FIN to the kernel.
   */
  end(done: () => void): void {
    this.outbound.end(done);
    this.messages.giveUpRejoin();
    for (const leg of this.legs) if (leg && this.status[leg.index] === 'live') this.#endLeg(leg);
  }

  /** Called when the host accepts bytes again. */
  resume(): void {
    if (!this.inbound.blocked) return;
    this.inbound.blocked = false;
    for (const leg of this.legs) leg?.resume();
  }

  /**
   * Called when the host has ended both directions. The connections may finish within a limited time.
   * After this time they are closed.
   */
  finish(): void {
    if (this.state === 'ENDED') return;
    this.resume();
    this.#awaitConfirmation();
  }

  /** Closes the flow for the host immediately. @param reset whether to close with a reset, and not like `destroy()` */
  abort(reset: boolean): void {
    this.#resetAll = reset;
    this.#leaving = !reset && this.#isUnused;
    this.#dispatch('abort', 0);
  }

  /** Whether a client has sent no byte of the flow, so that a server's flow on the replica port would have no client. */
  get #isUnused(): boolean {
    return this.#replicated && !this.opened && !this.outbound.exposed;
  }

  /** Returns the connection that carries bytes. If both do, returns the connection with the lower index. */
  get carrier(): Leg | undefined {
    return firstLive(this) ?? this.legs[0] ?? this.legs[1];
  }

  /** Returns the number of bytes in user space on the fastest connection. */
  get queued(): number {
    return leastQueued(this);
  }

  /** Returns whether this connection carries bytes. Another connection may have replaced it. */
  #carries(leg: Leg): boolean {
    return this.legs[leg.index] === leg && this.status[leg.index] === 'live';
  }

  legData(leg: Leg, chunk: Buffer): boolean {
    if (!this.#carries(leg)) return true;
    this.messages.watch();
    const { inbound } = this;
    const fresh = inbound.add(leg, chunk);
    if (fresh === undefined) return true;
    if (typeof fresh === 'number') {
      this.#diverged(leg, fresh);
      return true;
    }
    // The application may answer inside its handler, and the answer goes only to the connection that the client uses.
    if (this.role === 'server' && this.mode === 'repsyn') this.choiceLearned(leg.index);
    if (this.host?.flowData(fresh) === false) inbound.blocked = true;
    if (this.state !== 'CHOSEN') this.#checkLimits();
    return !inbound.blocked || leg.received < inbound.delivered;
  }

  legEof(leg: Leg): void {
    if (!this.#carries(leg)) return;
    this.messages.giveUpRejoin();
    const other = this.legs[1 - leg.index];
    const otherLive = other !== undefined && this.status[other.index] === 'live';
    if (leg.received < this.inbound.delivered) {
      // The flow has more bytes than this connection will ever deliver.
      // No byte is lost if the other connection delivers these bytes or has already delivered all.
      if (otherLive || (this.inbound.ended && this.state === 'DUP_CONN')) this.#endedShort(leg);
      else this.#diverged(leg, leg.received);
      return;
    }
    if (!this.inbound.ended) {
      this.inbound.ended = true;
      if (this.role === 'server' && this.mode === 'repsyn') this.choiceLearned(leg.index);
      this.host?.flowEof();
    }
    this.#maybeFinished(leg);
  }

  legFailed(leg: Leg, error: Error): void {
    const { index } = leg;
    if (this.legs[index] !== leg || this.status[index] === 'gone') return;
    if (this.status[index] === 'pending') {
      this.legUnusable(index, error, 'leg_failed');
      return;
    }
    // A connection that replaces a slower one may have reached the server, and then carries the flow alone.
    if (this.state === 'CHOSEN' && this.messages.secondLegs?.isReplacing) {
      this.#lost ??= { index, error };
      return;
    }
    this.messages.giveUpRejoin();
    const fail = () => void this.#dispatch('leg_failed', index, error);
    // The replacement needs the bytes that were written since its hello.
    if (this.messages.secondLegs?.isReplacing) this.outbound.keepDuring(fail);
    else fail();
  }

  /**
   * Returns whether a connection that was opened at these positions may replace another one.
   * It can get bytes that were written since then, but it does not know bytes that were received since then.
   */
  takesReplacement(sent: number, received: number): boolean {
    if (this.state === 'ENDED' || this.inbound.ended || this.inbound.delivered !== received) return false;
    return this.outbound.isKeeping || this.outbound.written === sent;
  }

  /**
   * Adds a connection that has replaced a slower one at the server.
   * @returns whether it carries the flow alone, because the other connection has failed in the meantime.
   * Otherwise the caller reports that the connection is established
   */
  legReplaced(leg: Leg, message: number): boolean {
    const { index } = leg;
    if (!this.#lost && this.status[(1 - index) as 0 | 1] === 'live') {
      this.outbound.keepDuring(() => this.messages.legReplaced(leg, message));
      return false;
    }
    const slower = this.legs[index];
    this.#lost = undefined;
    this.adopt(leg);
    this.messages.last = message;
    this.status[(1 - index) as 0 | 1] = 'gone';
    this.status[index] = 'live';
    leg.received = this.inbound.delivered;
    counters.legs.established++;
    this.host?.legAttached(leg);
    countDrop('behind');
    publish('repnet:leg:drop', () => ({ ...this.#names(), leg: index, reason: 'behind', error: undefined }));
    slower?.reset();
    if (this.outbound.isKeeping) this.#replay(index);
    else if (this.outbound.ending) this.#endLeg(leg);
    this.outbound.freeArchive();
    return true;
  }

  /** Called when a connection that should replace a slower one could not do so. */
  replacementFailed(): void {
    const lost = this.#lost;
    this.#lost = undefined;
    this.outbound.freeArchive();
    if (lost) this.#dispatch('leg_failed', lost.index, lost.error);
  }

  legClosed(leg: Leg): void {
    // A connection that was given up may close after another connection has replaced it.
    if (this.legs[leg.index] === leg && this.status[leg.index] !== 'gone' && this.state !== 'ENDED') {
      this.legFailed(leg, Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
    }
    this.#open--;
    this.#maybeClosed();
  }

  /**
   * Handles a FIN that arrived too early.
   * Possible causes are a server without free descriptors, or a relay that replaces a reset with a FIN.
   */
  #endedShort(leg: Leg): void {
    this.#reportDivergence(leg, leg.received);
    this.#dispatch('leg_failed', leg.index, undefined, 'early_fin');
  }

  #names(): { flowId: string; role: Role } {
    return { flowId: publicName(this.id), role: this.role };
  }

  #step(event: FlowEvent, subject: 0 | 1) {
    const waiting = this.#registry?.isWaiting(this) ?? false;
    return transition(this.role, this.mode, this.state, event, this.status[(1 - subject) as 0 | 1], waiting);
  }

  #dispatch(event: FlowEvent, subject: 0 | 1, error?: Error, reason: Reason = event): boolean {
    const step = this.#step(event, subject);
    if (!step) return false;
    const before = this.state;
    this.state = step.next;
    if (ENDS_SUBJECT.has(event)) this.status[subject] = 'gone';
    if (event === 'choice_learned') this.status[(1 - subject) as 0 | 1] = 'gone';
    this.#perform(step.actions, subject, reason, error);
    if (step.next !== before && this.state === step.next) this.#entered(step.next, subject, event);
    if (ENDS_SUBJECT.has(event)) this.outbound.settle();
    // The flow may stay idle, and gets a second connection then, too.
    if (this.state === 'CHOSEN') this.messages.watch();
    return true;
  }

  #entered(state: State, subject: 0 | 1, event: FlowEvent): void {
    if (state === 'CHOSEN') {
      this.inbound.compareNoMore();
      const leg = this.status[subject] === 'gone' ? ((1 - subject) as 0 | 1) : subject;
      publish('repnet:flow:chosen', () => ({ ...this.#names(), leg, reason: event }));
    } else if (state === 'ENDED') this.#ended();
  }

  #ended(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#confirm);
    this.status[0] = 'gone';
    this.status[1] = 'gone';
    for (const leg of this.legs) if (leg?.finished && leg.eof) leg.close();
    this.outbound.forget();
    this.inbound.compareNoMore();
    counters.flows.live--;
    this.#budget?.flowEnded();
    if (this.paired) counters.legs.won[(this.legs[1]?.fresh ?? 0) > (this.legs[0]?.fresh ?? 0) ? 1 : 0]++;
    const error = this.#error;
    publish('repnet:flow:end', () => ({ ...this.#names(), error, delivered: this.inbound.delivered, written: this.outbound.written }));
    this.host?.flowEnded(error);
    this.#maybeClosed();
  }

  #perform(actions: readonly Action[], subject: 0 | 1, reason: Reason, error: Error | undefined): void {
    const other = (1 - subject) as 0 | 1;
    for (const action of actions) {
      switch (action) {
        case 'attach_leg':
          this.#attach(subject);
          break;
        case 'open_flow':
          this.#openFlow(subject);
          break;
        case 'enter_waiting_list':
          this.#registry?.enterWaitingList(this);
          break;
        case 'leave_waiting_list':
          this.#registry?.leaveWaitingList(this);
          break;
        case 'keep_on_waiting_list':
          break;
        case 'start_archive':
          this.outbound.startArchive();
          break;
        case 'replay_archive':
          this.#replay(subject);
          break;
        case 'free_archive':
          this.outbound.freeArchive();
          break;
        case 'reset_leg':
          this.#drop(subject, reason, error);
          break;
        case 'reset_other_leg':
          if (this.status[other] !== 'gone' || this.legs[other]) this.#drop(other, reason, error);
          break;
        case 'hold_error':
          this.#held = error;
          break;
        case 'await_other_leg':
          this.legs[subject]?.close();
          this.#awaitConfirmation();
          break;
        case 'release_leg':
          this.#release(subject);
          break;
        case 'close_legs':
          if (this.#leaving) for (const leg of this.legs) this.#giveUp(leg, true);
          else closeBoth(this, this.#resetAll);
          break;
        case 'surface_error':
          this.#error = error ?? this.#held;
          break;
        case 'bury':
          this.#registry?.bury(this);
          break;
      }
    }
  }

  #attach(index: 0 | 1): void {
    const leg = this.legs[index];
    if (!leg) return;
    this.status[index] = 'live';
    counters.legs.established++;
    if (this.status[(1 - index) as 0 | 1] === 'live') {
      this.paired = true;
      counters.legs.paired++;
      clearTimeout(this.#deadline);
      if (this.messages.last > 0) counters.legs.rejoined++;
      publish('repnet:leg:pair', () => ({ ...this.#names(), leg: index, message: this.messages.last }));
    }
    this.host?.legAttached(leg);
  }

  #openFlow(index: 0 | 1): void {
    if (this.opened) return;
    this.opened = true;
    publish('repnet:flow:open', () => ({ ...this.#names(), leg: index, mode: this.mode }));
    this.host?.flowOpened();
  }

  #replay(index: 0 | 1): void {
    const leg = this.legs[index];
    if (!leg) return;
    // The kernel may accept the bytes immediately. The host may then end its direction, also on this connection.
    const { ending } = this.outbound;
    if (this.outbound.replay(leg) && ending) this.#endLeg(leg);
  }

  #endLeg(leg: Leg): void {
    const { outstanding } = this.outbound;
    leg.end(() => {
      if (outstanding) this.outbound.flushed(outstanding);
      this.#maybeFinished(leg);
    });
  }

  /** Reports that the connection is finished, if both its directions have ended and all its bytes were delivered. */
  #maybeFinished(leg: Leg): void {
    if (!leg.eof || !leg.finished || leg.received !== this.inbound.delivered || this.status[leg.index] !== 'live') return;
    const other = this.status[(1 - leg.index) as 0 | 1];
    this.#dispatch(other === 'gone' ? 'both_closed' : 'leg_finished', leg.index);
  }

  #awaitConfirmation(): void {
    this.#confirm ??= setTimeout(() => {
      for (const index of [0, 1] as const) {
        if (this.status[index] === 'live') this.#dispatch('confirm_timeout', index);
      }
    }, this.settings.confirmTimeout).unref();
  }

  #release(index: 0 | 1): void {
    const leg = this.legs[index];
    if (!leg) return;
    if (!leg.finished) {
      this.#drop(index, 'confirm_timeout', undefined);
      return;
    }
    this.#open--;
    linger(leg);
  }

  #drop(index: 0 | 1, reason: Reason, error: Error | undefined): void {
    this.status[index] = 'gone';
    countDrop(reason);
    publish('repnet:leg:drop', () => ({ ...this.#names(), leg: index, reason, error }));
    const leg = this.legs[index];
    if (this.state === 'CHOSEN') this.inbound.compareNoMore();
    // Another server has opened its own flow on a connection with the reason 'other_instance'.
    this.#giveUp(leg, this.#leaving || reason === 'other_instance');
  }

  #giveUp(leg: Leg | undefined, leaving: boolean): void {
    if (leg && giveUp(this, leg, leaving) === 'lingers') this.#open--;
  }

  #diverged(leg: Leg, offset: number): void {
    this.#reportDivergence(leg, offset);
    const error = new RepnetError(
      'ERR_REPNET_DIVERGED',
      `the two connections of flow ${publicName(this.id)} differ: connection ${leg.index} at byte ${offset}, ${this.inbound.delivered} bytes were delivered`,
    );
    this.#dispatch('diverged', leg.index, error);
  }

  #reportDivergence(leg: Leg, offset: number): void {
    counters.flows.diverged++;
    publish('repnet:flow:diverged', () => ({ ...this.#names(), leg: leg.index, offset }));
  }

  #deadlinePassed(): void {
    this.#leaving = this.#isUnused;
    const error = new RepnetError('ERR_REPNET_LEG_DEADLINE', `no connection within ${this.settings.legDeadline} ms`);
    for (const index of [0, 1] as const) {
      if (this.status[index] !== 'pending' || this.state === 'ENDED') continue;
      this.#budget?.legOutcome(false);
      this.#dispatch('leg_deadline', index, error);
    }
  }

  #checkLimits(): void {
    if (this.archivedBytes > this.settings.archiveCap && this.messages.secondLegs?.isReplacing) this.outbound.freeArchive();
    checkLimits(this, (event, index, error) => this.#dispatch(event, index, error && (this.#held ?? error)));
  }

  get archivedBytes(): number {
    return this.outbound.archivedBytes;
  }

  get messageBytes(): number {
    return this.messages.bytes;
  }

  #maybeClosed(): void {
    if (this.state !== 'ENDED' || this.#open > 0) return;
    const host = this.host;
    this.host = undefined;
    host?.flowClosed();
  }
}
