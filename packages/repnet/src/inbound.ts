/**
 * Bytes that a flow receives: the longest prefix that one of its connections has delivered (RepNet paper, section III-C).
 * While both connections carry bytes, their bytes are compared.
 */
import type { Leg } from './leg';
import { PrefixCheck } from './prefix-check';

export class Inbound {
  /** Number of bytes that were passed to the host. */
  delivered = 0;
  /** Whether the peer has ended its direction. */
  ended = false;
  /** Whether the host accepts no bytes until `resume()`. */
  blocked = false;
  #check: PrefixCheck | undefined = new PrefixCheck();

  /** Starts to compare both connections. Both continue at the present position. */
  compareFromHere(): void {
    this.#check = new PrefixCheck();
  }

  /** Stops the comparison, because only one connection carries bytes. */
  compareNoMore(): void {
    this.#check = undefined;
  }

  /**
   * Adds a chunk of a connection. The caller passes the new bytes to the host.
   *
   * @returns the bytes that no connection had delivered before, or `undefined` if there are none.
   * If the two connections differ, it returns the offset of the difference
   */
  add(leg: Leg, chunk: Buffer): Buffer | number | undefined {
    leg.received += chunk.length;
    const differs = this.#check?.add(leg.index, chunk) ?? -1;
    if (differs >= 0) return differs;
    const surplus = leg.received - this.delivered;
    if (surplus <= 0) return undefined;
    if (this.ended) return this.delivered;
    this.delivered = leg.received;
    leg.fresh += surplus;
    return surplus === chunk.length ? chunk : chunk.subarray(chunk.length - surplus);
  }
}
