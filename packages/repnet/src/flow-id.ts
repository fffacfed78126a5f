/**
 * Random identifiers of 128 bits. They are read from the operating system's random source, one memory page at a time.
 * A peer that knows a flow's identifier may join the flow, so only hellos contain the identifier.
 * Events and errors contain a public name, which is a hash of the identifier.
 */
import crypto = require('node:crypto');

const ID_BYTES = 16;
const page = Buffer.allocUnsafeSlow(4096);
let used = page.length;

/** @returns 32 hexadecimal digits, not all zeros */
export function randomId(): string {
  if (used === page.length) {
    crypto.randomFillSync(page);
    used = 0;
  }
  const id = page.toString('hex', used, used + ID_BYTES);
  page.fill(0, used, used + ID_BYTES);
  used += ID_BYTES;
  return /[^0]/.test(id) ? id : randomId();
}

/**
 * Returns the public name of a flow: the first 16 bytes of the SHA-256 of the flow's identifier.
 * Both ends have the same name. @returns 32 hexadecimal digits
 */
export function publicName(id: string): string {
  return crypto
    .createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, 2 * ID_BYTES);
}
