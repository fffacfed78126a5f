/**
 * Soak test with 1,000 flows. `make soak` runs the whole test with 100,000 flows.
 * REPNET_SOAK_FLOWS is the number of flows of each combination.
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

/** Returns the open sockets, listeners and timers of the process. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /^(TCP|Timeout)/.test(name));
}

/**
 * Returns handles that are still open after a while.
 * The wait is necessary: handles close in a later turn of the event loop, and connections finish a short time later.
 */
async function leftOver(): Promise<string[]> {
  const deadline = performance.now() + 20_000;
  while (handles().length > 0 && performance.now() < deadline) await delay(20);
  return handles();
}

/**
 * Whether the whole test runs. Only the whole test has eager flows.
 * Before its banner has arrived, an eager flow ends together with its first connection, which is intended.
 * On a busy machine, a reset by the kernel can cause this, so it is not a fault of the package.
 * `matrix/eager-cuts.test.ts` tests every cut of an eager flow.
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
      // Upper limit of the memory of all flows that are open at the same time.
      // The limit includes both ends and the path.
      const bound = 64 * 1024 * 1024 + CONCURRENCY * 4 * 1024 * 1024;
      const held = Math.max(...result.memory);
      assert.ok(held < bound, `${held} bytes were held, at most ${bound} may be`);
      // Each flow has two sockets at each end and four on its path.
      // In addition, some connections linger after their flow.
      const sockets = 8 * CONCURRENCY + 4 * 128;
      const open = Math.max(...result.sockets);
      assert.ok(open <= sockets, `${open} sockets were open, at most ${sockets} may be`);
    });
  }
}
