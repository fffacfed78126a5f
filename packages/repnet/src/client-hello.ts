/** Hello of a client on one connection: it sends the preamble, and reads only the banner. */
import { RepnetError } from './errors';
import type { Leg, LegOwner } from './leg';
import type { Mode } from './state-machine';
import { type Banner, decodeBanner, encodePreamble, HELLO_BYTES, type Rejoin, VERSION } from './wire';

/**
 * Reason why a connection was refused. `foreign`: the answer was not a banner.
 * `silent`: the stream ended before a banner. `busy`: the banner is a refusal. `failed`: the connection failed.
 */
export type Refusal = 'foreign' | 'silent' | 'busy' | 'failed';

/** Content of a hello in addition to the flow's identifier and the connection's number. */
export interface Saying {
  mode: Mode;
  probe?: boolean;
  rejoin?: Rejoin;
  /** Bytes of the application that are sent in the same write as the preamble. */
  data?: readonly Buffer[];
}

export interface HelloOutcome {
  /**
   * Called when the banner is correct. `rest` contains the bytes after the banner.
   * @returns false to stop reading until the leg's `resume()`
   */
  accepted(leg: Leg, banner: Banner, rest: Buffer): boolean;
  /** Called when the connection failed, the answer is not a banner, or the banner refuses the flow. */
  refused(leg: Leg, error: Error, kind: Refusal): void;
  closed(leg: Leg): void;
}

export class ClientHello implements LegOwner {
  readonly #flowId: string;
  readonly #outcome: HelloOutcome;
  #received: Buffer | undefined;
  #over = false;

  constructor(leg: Leg, flowId: string, outcome: HelloOutcome) {
    this.#flowId = flowId;
    this.#outcome = outcome;
    leg.owner = this;
  }

  /** Sends the preamble and the data in one write. Waits first until the connection is established. */
  send(leg: Leg, { mode, probe = false, rejoin, data = [] }: Saying): void {
    leg.send([encodePreamble({ version: VERSION, probe, mode, leg: leg.index, flowId: this.#flowId, rejoin }), ...data]);
  }

  legData(leg: Leg, chunk: Buffer): boolean {
    if (this.#over) return true;
    const bytes = this.#received ? Buffer.concat([this.#received, chunk]) : chunk;
    const banner = decodeBanner(bytes);
    if (banner === 'incomplete') {
      this.#received = bytes;
      return true;
    }
    this.#over = true;
    if (typeof banner === 'string') this.#refuse(leg, `no repnet banner (${banner})`, 'foreign');
    else if (banner.leg !== leg.index || banner.flowCheck !== this.#flowId.slice(0, 8)) {
      this.#refuse(leg, 'a banner that belongs to another hello', 'foreign');
    } else if (banner.status === 'unsupported' || banner.status === 'busy') {
      this.#refuse(leg, `the banner "${banner.status}"`, banner.status === 'unsupported' ? 'foreign' : 'busy');
    } else return this.#outcome.accepted(leg, banner, bytes.subarray(HELLO_BYTES));
    return true;
  }

  legEof(leg: Leg): void {
    if (this.#over) return;
    this.#over = true;
    this.#refuse(leg, 'an end of stream instead of a banner', 'silent');
  }

  legFailed(leg: Leg, error: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#outcome.refused(leg, error, 'failed');
  }

  legClosed(leg: Leg): void {
    this.#outcome.closed(leg);
  }

  #refuse(leg: Leg, what: string, kind: Refusal): void {
    const { remoteAddress, remotePort } = leg.socket;
    const message = `the replica port answered with ${what} (${remoteAddress}, port ${remotePort})`;
    this.#outcome.refused(leg, new RepnetError('ERR_REPNET_HELLO', message), kind);
  }
}
