/**
 * The soak in a small form, 1,000 flows; `make soak` runs the whole, 100,000 (REPNET_SOAK_FLOWS: how many a combination).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MODES } from '../harness/replication';
import { type SoakSize, soak } from './soak';

function count(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name}: found "${text}"; must be an integer of at least 1`);
  return value;
}

const FLOWS = count('REPNET_SOAK_FLOWS', 250);
const CONCURRENCY = count('REPNET_SOAK_CONCURRENCY', 100);
const SEED = count('REPNET_SOAK_SEED', 20_260_101);

/** Sockets, listeners and timers that there are. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /^(TCP|Timeout)/.test(name));
}

/** Handles close in a later turn of the loop; legs that confirm, some moments later. @returns those that are still there after a while */
async function leftOver(): Promise<string[]> {
  const deadline = performance.now() + 20_000;
  while (handles().length > 0 && performance.now() < deadline) await delay(20);
  return handles();
}

/**
 * An eager flow ends with its first leg while no banner is in, by design, so it is no fault of the package when a busy
 * machine's kernel resets one: only the whole soak has them. `matrix/eager-cuts.test.ts` has every cut of one.
 */
const WHOLE = process.env.REPNET_SOAK_FLOWS !== undefined;

const WAYS: ReadonlyArray<Pick<SoakSize, 'pairing' | 'eager'>> = [
  { pairing: 'hello', eager: false },
  ...(WHOLE ? [{ pairing: 'hello', eager: true } as const] : []),
  { pairing: 'port', eager: false },
];

for (const way of WAYS) {
  for (const mode of MODES) {
    const name = `${mode}, ${way.pairing}${way.eager ? ', eager' : ''}`;
    test(`${FLOWS} flows lose no byte, surface once, and leave nothing behind (${name})`, async (t) => {
      const result = await soak({ flows: FLOWS, concurrency: CONCURRENCY, mostBytes: 300_000, seed: SEED, mode, ...way });
      t.diagnostic(JSON.stringify({ ...result, faults: result.faults.length }));
      assert.deepEqual(result.faults, []);
      assert.equal(result.flows, FLOWS);
      assert.ok(result.late > 0 && result.stalled > 0, 'the path was upset');
      if (mode === 'repflow') assert.ok(result.killed + result.cut > 0, 'legs were killed, or cut');
      assert.deepEqual(await leftOver(), []);
      // Upper bound of memory for the flows that are open at one time: both ends, both legs and the path.
      const bound = 64 * 1024 * 1024 + CONCURRENCY * 4 * 1024 * 1024;
      const held = Math.max(...result.memory);
      assert.ok(held < bound, `${held} bytes were held, at most ${bound} may be`);
      // Two at each end of a flow and four on its path, and those that linger after theirs.
      const sockets = 8 * CONCURRENCY + 4 * 128;
      const open = Math.max(...result.sockets);
      assert.ok(open <= sockets, `${open} sockets were open, at most ${sockets} may be`);
    });
  }
}
