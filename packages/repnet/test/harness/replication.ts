/** What the tests of replication vary, and how they see that it took place. */
import repnet from 'repnet';

export const PAIRINGS = ['hello', 'port'] as const;
export type Pairing = (typeof PAIRINGS)[number];

export const MODES = ['repflow', 'repsyn'] as const;
export type Mode = (typeof MODES)[number];

/** Bytes of the hello's preamble and of its banner (docs/repnet-wire.md). */
const HELLO_BYTES = 32;

/** How many bytes of a leg precede the application's, in either direction. */
export function headOf(pairing: Pairing): number {
  return pairing === 'hello' ? HELLO_BYTES : 0;
}
