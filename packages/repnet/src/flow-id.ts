/**
 * Random ids of 128 bits, drawn from the operating system's source a page at a time. Who knows a flow's id may join the flow, so an id leaves
 * the process in the hello only; events and errors carry a name made of it.
 */
import crypto = require('node:crypto');

const ID_BYTES = 16;
const page = Buffer.allocUnsafeSlow(4096);
let used = page.length;

/** @returns 32 hexadecimal digits, not all zeros. */
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

/** The name of a flow outside of the process: the first 16 bytes of its id's SHA-256, alike at both ends. @returns 32 hexadecimal digits */
export function publicName(id: string): string {
  return crypto
    .createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, 2 * ID_BYTES);
}
