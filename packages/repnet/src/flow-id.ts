/** Random ids of 128 bits, drawn from the operating system's source a page at a time. */
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
