/** Random source with a seed, for numbers and bytes (xorshift32), so that a run of the soak test can be repeated. */
export class Random {
  #state: number;

  /**
   * @param seed any number. It is mixed first.
   * Otherwise a source whose seed came from another source would repeat numbers of that source
   */
  constructor(seed: number) {
    let x = seed >>> 0;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    this.#state = (x ^ (x >>> 16)) >>> 0 || 0x9e3779b9;
  }

  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state;
  }

  /** Returns a number from 0 to `bound - 1`. */
  below(bound: number): number {
    return this.next() % bound;
  }

  /** Returns true for this share of all calls, 0 to 1. */
  chance(share: number): boolean {
    return this.next() < share * 0x1_0000_0000;
  }

  /** Returns a size from 0 to about `most`. Small sizes are as likely as large ones. */
  size(most: number): number {
    return this.below(20) === 0 ? 0 : Math.floor(Math.exp((this.next() / 0x1_0000_0000) * Math.log(most)));
  }

  bytes(length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length + 4);
    for (let at = 0; at < length; at += 4) buffer.writeUInt32LE(this.next(), at);
    return buffer.subarray(0, length);
  }
}
