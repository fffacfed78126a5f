/**
 * Check that two connections carry the same bytes. The bytes are not kept.
 * The connection that is ahead stores checkpoints: an offset, and the CRC-32 of all bytes before it.
 * The other connection compares its CRC-32 when it reaches these offsets.
 * There are at most 256 checkpoints, and the distance between them grows with the lead of the faster connection.
 */
import zlib = require('node:zlib');

const MOST_CHECKPOINTS = 256;

export class PrefixCheck {
  readonly #crc: [number, number] = [0, 0];
  readonly #offset: [number, number] = [0, 0];
  #checkpoints: Array<{ offset: number; crc: number }> = [];

  /**
   * Processes the next bytes of a connection.
   * @returns an offset before which the connections differ, or -1 if no difference is known
   */
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
