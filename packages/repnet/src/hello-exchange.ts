/**
 * Hellos on both connections of a client's flow (docs/repnet-wire.md, "Rules of the client").
 * This module decides the order of the hellos, and which bytes may be sent before a banner has arrived.
 * The module also checks that both banners come from one server.
 */
import { ClientHello, type HelloOutcome, type Refusal } from './client-hello';
import { RepnetError } from './errors';
import type { Flow } from './flow';
import type { Leg } from './leg';
import { runtime } from './runtime';
import type { Banner } from './wire';

/** Error codes of failures on this machine. They do not depend on the target. */
const LOCAL_FAILURES = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'EADDRINUSE', 'ENOBUFS', 'ENOMEM']);

export class HelloExchange implements HelloOutcome {
  readonly #flow: Flow;
  readonly #address: string;
  readonly #port: number;
  readonly #eager: boolean;
  #instanceId: string | undefined;
  /** Error of the replica port, if neither connection has reached it. */
  #unreachable: Error | undefined;
  /** Connection that sent the first hello of an eager flow. */
  #speaking: Leg | undefined;
  /** Connection on which bytes of the application were sent before its banner. It is unset when the banner arrives. */
  #ahead: Leg | undefined;
  /** Other connection with its banner, while it waits for the banner of `#ahead`. */
  #parked: { leg: Leg; banner: Banner; rest: Buffer } | undefined;

  /** @param eager whether the first established connection sends bytes of the application together with its hello */
  constructor(flow: Flow, address: string, port: number, eager: boolean) {
    this.#flow = flow;
    this.#address = address;
    this.#port = port;
    this.#eager = eager;
  }

  start(leg: Leg): void {
    const hello = new ClientHello(leg, this.#flow.id, this);
    // The preamble is written only after the connection is established.
    // A stock socket would store earlier bytes, which costs more than waiting.
    leg.socket.once('connect', () => this.#connected(leg, hello));
  }

  #connected(leg: Leg, hello: ClientHello): void {
    const { mode } = this.#flow;
    const first = this.#speaking;
    if (!this.#eager) hello.send(leg, { mode });
    else if (!first) {
      this.#speaking = leg;
      this.#ahead = leg;
      hello.send(leg, { mode, data: this.#flow.outbound.sendAhead(leg) });
    } else if (mode === 'repflow' || first.socket.destroyed) hello.send(leg, { mode });
    else {
      // In RepSYN, the bytes choose the first connection. The second connection is used only if the first one fails.
      first.socket.once('close', () => {
        if (this.#flow.status[leg.index] === 'pending' && !leg.socket.destroyed) hello.send(leg, { mode });
      });
    }
  }

  /** Identifier of the flow's server. It is set after the first banner. */
  get instanceId(): string | undefined {
    return this.#instanceId;
  }

  accepted(leg: Leg, banner: Banner, rest: Buffer): boolean {
    const flow = this.#flow;
    if (this.#ahead && leg !== this.#ahead && banner.status !== 'joined') {
      // This server may differ from the server that received the first bytes.
      // Nothing may be sent to it until the other banner shows that both are the same server.
      this.#parked = { leg, banner, rest };
      leg.owner = flow;
      return false;
    }
    // The status "joined" proves that this connection reached the server that received the first connection's hello.
    this.#ahead = undefined;
    flow.outbound.exposed = false;
    this.#instanceId ??= banner.instanceId;
    if (banner.instanceId !== this.#instanceId) {
      this.#learn(false, 'the two connections reached two servers');
      const error = new RepnetError('ERR_REPNET_HELLO', 'the two connections of the flow reached two servers');
      flow.legUnusable(leg.index, error, 'other_instance');
      return true;
    }
    this.#learn(true, banner.status);
    flow.legEstablished(leg);
    const more = rest.length > 0 ? leg.owner.legData(leg, rest) : true;
    this.#unpark();
    return more;
  }

  refused(leg: Leg, error: Error, kind: Refusal): void {
    const flow = this.#flow;
    const foreign = kind === 'foreign' || kind === 'silent';
    const hopeless = flow.status[(1 - leg.index) as 0 | 1] === 'gone' && !flow.opened;
    const ahead = leg === this.#ahead;
    if (ahead && kind !== 'foreign') runtime.capabilities.forget(this.#address, this.#port);
    else if (foreign) this.#learn(false, error.message);
    // If port N can be reached and the replica port cannot, the target is not capable. If neither can, it is down.
    else if (hopeless && kind === 'failed' && !LOCAL_FAILURES.has((error as NodeJS.ErrnoException).code ?? '')) this.#unreachable = error;
    if (ahead) {
      this.#ahead = undefined;
      // A server that sent a refusal or a wrong answer has not run the flow.
      // A server that sent no answer may have run the flow, so no other server may receive it.
      if (kind === 'foreign' || kind === 'busy') flow.outbound.exposed = false;
      if (flow.outbound.exposed) flow.legUnusable((1 - leg.index) as 0 | 1, error, 'refused');
    }
    flow.legUnusable(leg.index, error, foreign ? 'foreign' : 'refused');
    this.#unpark();
  }

  /** Called when port N of the target was reached, after the flow has failed. */
  reachedService(): void {
    if (this.#unreachable) this.#learn(false, this.#unreachable.message);
  }

  closed(leg: Leg): void {
    if (leg === this.#ahead && this.#flow.failed) runtime.capabilities.forget(this.#address, this.#port);
    this.#flow.legClosed(leg);
  }

  #unpark(): void {
    const parked = this.#parked;
    this.#parked = undefined;
    if (!parked || this.#flow.status[parked.leg.index] === 'gone') return;
    if (this.accepted(parked.leg, parked.banner, parked.rest)) parked.leg.resume();
  }

  #learn(capable: boolean, reason: string): void {
    runtime.capabilities.learn(this.#address, this.#port, capable, reason);
  }
}
