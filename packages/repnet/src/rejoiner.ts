/**
 * New second connections for kept-alive flows.
 * A flow uses only one connection after a long message, or after the other connection failed or was too slow.
 * When the flow has been idle, its client opens a new connection.
 * The hello contains the flow's identifier and the positions of both directions.
 * See docs/repnet-wire.md, "Legs that rejoin". The new connection has another port, so it may take another path.
 */
import { AsyncResource } from 'node:async_hooks';

import type { Budget, BudgetLimits } from './budget';
import { ClientHello, type HelloOutcome, type Refusal } from './client-hello';
import { RepnetError } from './errors';
import type { Flow } from './flow';
import { Leg } from './leg';
import { connectStock } from './stock';
import type { Banner } from './wire';

/** Pause in milliseconds after a useless second connection. It is doubled for each further useless one. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 60_000;

export interface RejoinOptions {
  /** Options of the new connection. */
  connection: Parameters<typeof connectStock>[0];
  budget: Budget;
  limits: BudgetLimits;
  /** Longest time in milliseconds until the connection is established. */
  deadline: number;
  /** Identifier of the flow's server. */
  instanceId(): string | undefined;
}

export class Rejoiner implements HelloOutcome {
  readonly #flow: Flow;
  readonly #options: RejoinOptions;
  /**
   * Asynchronous context of the flow.
   * All flows share the timer that finds idle flows, so the timer may run in the context of another flow.
   * A new connection is opened in this context, because it delivers its bytes in the same context.
   */
  readonly #context = new AsyncResource('RepnetRejoiner');
  #message = 0;
  #pause = 0;
  /** Positions of both directions in the last hello. */
  #sent = 0;
  #received = 0;
  #notBefore = 0;
  #newest: Leg | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Connection that replaces a slower one, until the server has answered. It is no part of the flow yet. */
  #replacement: Leg | undefined;
  /** Connections that were opened as replacements, and are no part of the flow. */
  readonly #outside = new WeakSet<Leg>();
  #later: NodeJS.Timeout | undefined;

  constructor(flow: Flow, options: RejoinOptions) {
    this.#flow = flow;
    this.#options = options;
  }

  /** Called when both connections were fast enough for the sent bytes. */
  wasUseful(): void {
    this.#pause = 0;
  }

  /** Called when a connection could not rejoin, or was too slow from its start. The next connection has to wait. */
  #wasUseless(): void {
    this.#notBefore = performance.now() + this.#pause;
    this.#pause = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pause));
  }

  get isReplacing(): boolean {
    return this.#replacement !== undefined;
  }

  start(index: 0 | 1): void {
    this.#try((leg) => this.#flow.messages.expectRejoin(leg, this.#message), index);
  }

  replace(index: 0 | 1): void {
    this.#try((leg) => {
      this.#wasUseless();
      this.#replacement = leg;
      this.#outside.add(leg);
      this.#flow.outbound.startArchive();
    }, index);
  }

  /** Opens the connection with this index, unless the pause has not ended or the budget is used up. */
  #try(opened: (leg: Leg) => void, index: 0 | 1): void {
    if (this.#replacement) return;
    const { budget, limits } = this.#options;
    const early = this.#notBefore - performance.now();
    if (early > 0) {
      // The flow is checked again after the pause.
      // Without this check, a flow that is still idle would never be checked.
      if (this.#later === undefined) this.#later = setTimeout(() => this.#again(), early).unref();
      return;
    }
    if (budget.ask('repflow', limits) !== 'repflow') return;
    this.#context.runInAsyncScope(() => this.#open(opened, index));
  }

  #open(opened: (leg: Leg) => void, index: 0 | 1): void {
    const flow = this.#flow;
    const { connection, deadline } = this.#options;
    // No call waits for this connection, so it does not keep the process alive.
    const leg = new Leg(connectStock(connection).unref(), index, flow);
    this.#newest = leg;
    this.#message++;
    opened(leg);
    this.#sent = flow.outbound.written;
    this.#received = flow.inbound.delivered;
    const hello = new ClientHello(leg, flow.id, this);
    const rejoin = { message: this.#message, sent: this.#sent, received: this.#received };
    hello.send(leg, { mode: 'repflow', rejoin });
    this.#timer = setTimeout(
      () => this.#fail(leg, new RepnetError('ERR_REPNET_LEG_DEADLINE', `no banner within ${deadline} ms`)),
      deadline,
    ).unref();
  }

  #again(): void {
    this.#later = undefined;
    if (this.#flow.state !== 'ENDED') this.#flow.messages.watch();
  }

  accepted(leg: Leg, banner: Banner, rest: Buffer): boolean {
    this.#stopTimer(leg);
    if (banner.status !== 'joined' || banner.instanceId !== this.#options.instanceId()) {
      this.#fail(leg, new RepnetError('ERR_REPNET_HELLO', 'the connection reached another server than the flow'));
      return true;
    }
    let carriesAlone = false;
    if (leg === this.#replacement) {
      this.#replacement = undefined;
      if (!this.#flow.takesReplacement(this.#sent, this.#received)) {
        this.#fail(leg, new RepnetError('ERR_REPNET_HELLO', 'the flow was not idle any more'));
        return true;
      }
      this.#outside.delete(leg);
      carriesAlone = this.#flow.legReplaced(leg, this.#message);
    }
    leg.socket.ref();
    if (!carriesAlone) this.#flow.legEstablished(leg);
    return rest.length > 0 ? leg.owner.legData(leg, rest) : true;
  }

  refused(leg: Leg, error: Error, _kind: Refusal): void {
    this.#fail(leg, error);
  }

  closed(leg: Leg): void {
    this.#stopTimer(leg);
    if (!this.#outside.has(leg)) this.#flow.legClosed(leg);
  }

  /** Stops the deadline of this connection, but not of a newer one. */
  #stopTimer(leg: Leg): void {
    if (leg === this.#newest) clearTimeout(this.#timer);
  }

  #fail(leg: Leg, error: Error): void {
    this.#stopTimer(leg);
    if (!this.#outside.has(leg)) {
      this.#wasUseless();
      this.#flow.legUnusable(leg.index, error, 'refused');
      return;
    }
    this.#replacement = undefined;
    leg.reset();
    this.#flow.replacementFailed();
    this.#again();
  }
}
