/**
 * Flows of one server.
 * The table contains open flows, and flows that wait for their second connection (RepNet paper, section III-D).
 * The table also contains tombstones.
 * A tombstone is the identifier of an ended flow that may still get a late connection. Such a connection is reset.
 * Otherwise the connection would start a new flow, and the request would run twice.
 * A tombstone is never removed early: if the table is full, no new flow is opened.
 */
import { ExpiryQueue } from './expiry-queue';
import type { Flow } from './flow';
import type { FlowRegistry } from './flow-parties';
import type { GlobalSettings, Pairing } from './settings';
import { counters } from './stats';

const BOTH_LEGS = 3;

/** Result of a lookup. `full`: a new flow that the table could not remember after its end. */
export type Place = { kind: 'new' } | { kind: 'full' } | { kind: 'late' } | { kind: 'known'; flow: Flow };

export class FlowTable implements FlowRegistry {
  readonly #pairing: Pairing;
  readonly #live = new Map<string, Flow>();
  readonly #waiting: ExpiryQueue<Flow, Flow>;
  readonly #tombstones: ExpiryQueue<string, number>;
  readonly #limit: number;
  readonly #time: number;
  /**
   * End of the time in which late connections may arrive for flows that the table did not remember. Port pairing only.
   */
  #blindUntil = 0;

  constructor(pairing: Pairing, settings: Pick<GlobalSettings, 'waitingListTimeout' | 'tombstoneTime' | 'tombstoneLimit'>) {
    const { waitingListTimeout, tombstoneTime, tombstoneLimit } = settings;
    this.#pairing = pairing;
    this.#waiting = new ExpiryQueue(waitingListTimeout, tombstoneLimit, (flow) => {
      counters.held.waiting--;
      flow.waitingListTimedOut();
    });
    this.#limit = tombstoneLimit;
    this.#time = tombstoneTime;
    this.#tombstones = new ExpiryQueue(tombstoneTime, Number.POSITIVE_INFINITY, () => counters.held.tombstones--);
  }

  /**
   * Returns whether a connection belongs to a new flow, a known flow or an ended flow.
   * With port pairing, the identifier is the client's address and port, which a later flow may also use.
   * So a connection starts a new flow if the known flow has already had a connection with this index.
   * A random identifier is never used again.
   */
  place(id: string, leg: 0 | 1): Place {
    const bit = 1 << leg;
    const reusable = this.#pairing === 'port';
    const flow = this.#live.get(id);
    if (flow) return reusable && flow.seen & bit ? { kind: 'new' } : { kind: 'known', flow };
    const seen = this.#tombstones.get(id);
    if (seen === undefined || (reusable && seen & bit)) return { kind: this.#mayOpen(reusable, leg) ? 'new' : 'full' };
    this.#removeTombstone(id);
    if (!reusable) this.buryId(id, seen | bit);
    return { kind: 'late' };
  }

  /**
   * Returns whether the table can remember a new flow after its end.
   * With port pairing, a server cannot redirect a client, so it always accepts connections to port N.
   * The server refuses connections to the replica port while they may belong to a flow that was not remembered.
   */
  #mayOpen(reusable: boolean, leg: 0 | 1): boolean {
    if (reusable && leg === 0) return true;
    const room = this.#live.size + this.#tombstones.size < this.#limit;
    return room && !(reusable && performance.now() < this.#blindUntil);
  }

  /** Returns the open flow with this identifier. */
  live(id: string): Flow | undefined {
    return this.#live.get(id);
  }

  add(flow: Flow): void {
    this.#removeTombstone(flow.id);
    this.#live.set(flow.id, flow);
  }

  enterWaitingList(flow: Flow): void {
    this.#waiting.add(flow, flow);
    counters.held.waiting++;
  }

  leaveWaitingList(flow: Flow): void {
    if (this.#waiting.delete(flow)) counters.held.waiting--;
  }

  isWaiting(flow: Flow): boolean {
    return this.#waiting.get(flow) !== undefined;
  }

  bury(flow: Flow): void {
    this.leaveWaitingList(flow);
    if (this.#live.get(flow.id) !== flow) return;
    this.#live.delete(flow.id);
    if (flow.seen === BOTH_LEGS) return;
    if (this.#pairing === 'port' && this.#tombstones.size >= this.#limit) this.#blindUntil = performance.now() + this.#time;
    else this.buryId(flow.id, flow.seen);
  }

  /**
   * Ends all waits for second connections, because no connection arrives any more. No flow has to be remembered either.
   */
  stop(): void {
    for (const flow of this.#waiting.values()) {
      this.leaveWaitingList(flow);
      flow.waitingListTimedOut();
    }
    counters.held.tombstones -= this.#tombstones.size;
    this.#tombstones.clear();
  }

  /** Adds a tombstone. @param seen set of the connections that have arrived, one bit each */
  buryId(id: string, seen: number): void {
    counters.held.tombstones++;
    this.#tombstones.add(id, seen);
  }

  #removeTombstone(id: string): void {
    if (this.#tombstones.delete(id)) counters.held.tombstones--;
  }
}
