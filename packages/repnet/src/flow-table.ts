/**
 * The flows of one server: those that live, those that wait for their second leg (RepNet paper, section III-D), and tombstones: ids of
 * flows that have ended while a leg of theirs may still be on its way. A leg that finds a tombstone is reset instead of being taken for a
 * new connection, which would run the request twice. A tombstone is never taken down before its time: when there are as many flows to
 * remember as there may be, no new one is opened.
 */
import { ExpiryQueue } from './expiry-queue';
import type { Flow } from './flow';
import type { FlowRegistry } from './flow-parties';
import type { GlobalSettings, Pairing } from './settings';
import { counters } from './stats';

const BOTH_LEGS = 3;

/** `full`: a new flow, which could not be remembered after its end. */
export type Place = { kind: 'new' } | { kind: 'full' } | { kind: 'late' } | { kind: 'known'; flow: Flow };

export class FlowTable implements FlowRegistry {
  readonly #pairing: Pairing;
  readonly #live = new Map<string, Flow>();
  readonly #waiting: ExpiryQueue<Flow, Flow>;
  readonly #tombstones: ExpiryQueue<string, number>;
  readonly #limit: number;
  readonly #time: number;
  /** Port pairing: until then flows may have ended that could not be remembered. */
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
   * Where a leg belongs. With port pairing an id is a client's address and port, which can be used again: a leg that its flow has already
   * seen is a new connection then. A random id is never used again.
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
   * Whether a new flow can be remembered after its end. With port pairing the server cannot send a client elsewhere: it still accepts
   * a connection to port N, and refuses connections to the replica port as long as one of them may be the second leg of such a flow.
   */
  #mayOpen(reusable: boolean, leg: 0 | 1): boolean {
    if (reusable && leg === 0) return true;
    const room = this.#live.size + this.#tombstones.size < this.#limit;
    return room && !(reusable && performance.now() < this.#blindUntil);
  }

  /** The flow with this id, while it lives. */
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

  /** No leg comes any more: nobody waits, and nothing has to be remembered. */
  stop(): void {
    for (const flow of this.#waiting.values()) {
      this.leaveWaitingList(flow);
      flow.waitingListTimedOut();
    }
    counters.held.tombstones -= this.#tombstones.size;
    this.#tombstones.clear();
  }

  /** Puts up a tombstone. @param seen the legs that have come, as a set of two bits */
  buryId(id: string, seen: number): void {
    counters.held.tombstones++;
    this.#tombstones.add(id, seen);
  }

  #removeTombstone(id: string): void {
    if (this.#tombstones.delete(id)) counters.held.tombstones--;
  }
}
