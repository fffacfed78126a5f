/** Wait until a kept-alive flow has two connections again. */
import diagnostics from 'node:diagnostics_channel';
import type { TestContext } from 'node:test';

interface Pair {
  role: 'client' | 'server';
  message: number;
}

/** Watcher of second connections. It records those that have rejoined at both ends and were not dropped. */
export class Rejoined {
  readonly #message = { client: 0, server: 0 };
  #waiting: Array<() => void> = [];

  constructor(t: TestContext) {
    const paired = (found: unknown): void => {
      const { role, message } = found as Pair;
      this.#message[role] = message;
      if (this.#both) for (const resume of this.#waiting.splice(0)) resume();
    };
    const dropped = (found: unknown): void => {
      this.#message[(found as Pair).role] = 0;
    };
    diagnostics.subscribe('repnet:leg:pair', paired);
    diagnostics.subscribe('repnet:leg:drop', dropped);
    t.after(() => {
      diagnostics.unsubscribe('repnet:leg:pair', paired);
      diagnostics.unsubscribe('repnet:leg:drop', dropped);
    });
  }

  get #both(): boolean {
    return this.#message.client > 0 && this.#message.client === this.#message.server;
  }

  async now(): Promise<void> {
    while (!this.#both) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
