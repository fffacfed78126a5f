/** Archive of all bytes that a flow has written, for a connection that has not arrived yet. */
import { counters } from './stats';

export class Archive {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #freed = false;

  get bytes(): number {
    return this.#bytes;
  }

  get chunks(): readonly Buffer[] {
    return this.#chunks;
  }

  add(chunk: Buffer): void {
    if (this.#freed) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    counters.held.archivedBytes += chunk.length;
  }

  free(): void {
    counters.held.archivedBytes -= this.#bytes;
    this.#chunks = [];
    this.#bytes = 0;
    this.#freed = true;
  }
}
