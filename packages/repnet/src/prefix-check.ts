/**
 * Tells whether two legs carry the same bytes without keeping the bytes: the leg that is ahead leaves checkpoints (offset, CRC-32 of
 * everything before it), the other compares when it gets there. Memory: at most 256 checkpoints, spread ever wider over what one leg is
 * ahead by.
 */
import zlib = require('node:zlib');

const MOST_CHECKPOINTS = 256;

export class PrefixCheck {
  readonly #crc: [number, number] = [0, 0];
  readonly #offset: [number, number] = [0, 0];
  #checkpoints: Array<{ offset: number; crc: number }> = [];

  /** Takes the next bytes of a leg. @returns the offset before which the legs are known to differ, or -1. */
  add(leg: 0 | 1, chunk: Buffer): number {
    let rest = chunk;
    while (rest.length > 0) {
      const next = this.#checkpoints[0];
      const behind = next !== undefined && this.#offset[leg] < this.#offset[(1 - leg) as 0 | 1];
      const take = behind ? Math.min(rest.length, next.offset - this.#offset[leg]) : rest.length;
      const part = take === rest.length ? rest : rest.subarray(0, take);
      this.#crc[leg] = zlib.crc32(part, this.#crc[leg]);
      this.#offset[leg] += take;
      rest = rest.subarray(take);
      if (behind && this.#offset[leg] === next.offset) {
        if (this.#crc[leg] !== next.crc) return next.offset;
        this.#checkpoints.shift();
      }
    }
    if (this.#offset[leg] > this.#offset[(1 - leg) as 0 | 1]) this.#leaveCheckpoint(leg);
    return -1;
  }

  #leaveCheckpoint(leg: 0 | 1): void {
    this.#checkpoints.push({ offset: this.#offset[leg], crc: this.#crc[leg] });
    if (this.#checkpoints.length <= MOST_CHECKPOINTS) return;
    this.#checkpoints = this.#checkpoints.filter((_, index, all) => (all.length - index) % 2 === 1);
  }
}
