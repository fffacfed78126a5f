/** Wait until a kept-alive flow has two connections again. */
import diagnostics from 'node:diagnostics_channel';
import type { TestContext } from 'node:test';

interface Pair {
  role: 'client' | 'server';
  message: number;
}

/** Message of an end that has only one connection. */
const NONE = -1;

/**
 * Watcher of second connections. It records those that both ends have, and that were not dropped.
 * On a busy machine, pauses may cut a long message into short ones, and the flow then keeps its first two connections.
 */
export class Rejoined {
  readonly #message = { client: NONE, server: NONE };
  #waiting: Array<() => void> = [];

  constructor(t: TestContext) {
    const paired = (found: unknown): void => {
      const { role, message } = found as Pair;
      this.#message[role] = message;
      if (this.#both) for (const resume of this.#waiting.splice(0)) resume();
    };
    const dropped = (found: unknown): void => {
      this.#message[(found as Pair).role] = NONE;
    };
    diagnostics.subscribe('repnet:leg:pair', paired);
    diagnostics.subscribe('repnet:leg:drop', dropped);
    t.after(() => {
      diagnostics.unsubscribe('repnet:leg:pair', paired);
      diagnostics.unsubscribe('repnet:leg:drop', dropped);
    });
  }

  get #both(): boolean {
    return this.#message.client !== NONE && this.#message.client === this.#message.server;
  }

  async now(): Promise<void> {
    while (!this.#both) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
