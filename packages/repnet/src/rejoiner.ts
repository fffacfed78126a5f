/**
 * Gives a kept-alive connection a second leg again. A flow settles on one leg when a message was long, or when the other leg failed or fell
 * behind; once it has been idle its client opens a new leg, whose hello names the flow and where both directions stand
 * (docs/repnet-wire.md, "Legs that rejoin"). The new leg has another port, so that it may take another path.
 */
import type { Budget, BudgetLimits } from './budget';
import { ClientHello, type HelloOutcome, type Refusal } from './client-hello';
import { RepnetError } from './errors';
import type { Flow } from './flow';
import { Leg } from './leg';
import { connectStock } from './stock';
import type { Banner } from './wire';

/** Milliseconds until the next try after one that was of no use; doubled each time. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 60_000;

export interface RejoinOptions {
  /** What a leg is opened with. */
  connection: Parameters<typeof connectStock>[0];
  budget: Budget;
  limits: BudgetLimits;
  /** Milliseconds in which the leg has to be established. */
  deadline: number;
  /** The server that has the flow. */
  instanceId(): string | undefined;
}

export class Rejoiner implements HelloOutcome {
  readonly #flow: Flow;
  readonly #options: RejoinOptions;
  #message = 0;
  #pause = 0;
  #notBefore = 0;
  #timer: NodeJS.Timeout | undefined;
  #later: NodeJS.Timeout | undefined;

  constructor(flow: Flow, options: RejoinOptions) {
    this.#flow = flow;
    this.#options = options;
  }

  /** Both legs kept up with what was sent. */
  wasUseful(): void {
    this.#pause = 0;
  }

  /** A leg failed to rejoin, or fell behind at once: the next one has to wait. */
  wasUseless(): void {
    this.#notBefore = performance.now() + this.#pause;
    this.#pause = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pause));
  }

  /** Opens the leg with this index, unless it is too early or there are too many. */
  start(index: 0 | 1): void {
    const { connection, budget, limits, deadline } = this.#options;
    const flow = this.#flow;
    const early = this.#notBefore - performance.now();
    if (early > 0) {
      // Looked at again then: the connection may still be idle, without having moved a byte.
      if (this.#later === undefined) this.#later = setTimeout(() => this.#again(), early).unref();
      return;
    }
    if (budget.ask('repflow', limits) !== 'repflow') return;
    // Nobody waits for this leg: it does not keep the process alive.
    const leg = new Leg(connectStock(connection).unref(), index, flow);
    flow.expectRejoin(leg);
    const hello = new ClientHello(leg, flow.id, this);
    const rejoin = { message: ++this.#message, sent: flow.outbound.written, received: flow.delivered };
    hello.send(leg, { mode: 'repflow', rejoin });
    this.#timer = setTimeout(
      () => this.#fail(leg, new RepnetError('ERR_REPNET_LEG_DEADLINE', `no banner within ${deadline} ms`)),
      deadline,
    ).unref();
  }

  #again(): void {
    this.#later = undefined;
    if (this.#flow.state !== 'ENDED') this.#flow.watch();
  }

  accepted(leg: Leg, banner: Banner, rest: Buffer): boolean {
    clearTimeout(this.#timer);
    if (banner.status !== 'joined' || banner.instanceId !== this.#options.instanceId()) {
      this.#fail(leg, new RepnetError('ERR_REPNET_HELLO', 'the connection reached another server than the flow'));
      return true;
    }
    leg.socket.ref();
    this.#flow.legEstablished(leg);
    return rest.length > 0 ? leg.owner.legData(leg, rest) : true;
  }

  refused(leg: Leg, error: Error, _kind: Refusal): void {
    this.#fail(leg, error);
  }

  closed(leg: Leg): void {
    clearTimeout(this.#timer);
    this.#flow.legClosed(leg);
  }

  #fail(leg: Leg, error: Error): void {
    clearTimeout(this.#timer);
    this.wasUseless();
    this.#flow.legUnusable(leg.index, error, 'refused');
  }
}
