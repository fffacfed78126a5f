/**
 * Tests of eager flows with a connection that is cut.
 * The tests cut either connection after each byte of the hello and of the first write, before and after the banner.
 * The flow is served once and completely, or it fails as a plain connection would.
 * The two connections are never reported as different.
 */
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { HELLO_BYTES } from '../../src/wire';
import { Arena, Sink } from '../harness/arena';
import type { ChaosLeg } from '../harness/chaos';

const REQUEST = 'four';
const WHOLE = HELLO_BYTES + REQUEST.length;

interface Cut {
  /** Connection that is cut: the connection with the first write, or the other one. */
  victim: 'eager' | 'other';
  /** Whether the cut connection reaches the server first. */
  first: boolean;
  /** Number of bytes of the cut connection that reach the server. */
  at: number;
  /** Whether the banner of the cut connection reaches the client. */
  banner: boolean;
  /** Whether the application has already ended its direction. */
  ended: boolean;
}

/**
 * Returns whether the client can identify the server that has the first write.
 * The banner of that connection identifies the server, or the other connection has joined the flow there.
 */
function known({ victim, first, at, banner }: Cut): boolean {
  if (victim === 'other') return true;
  return at >= HELLO_BYTES && (banner || first);
}

async function openArena(t: TestContext): Promise<Arena> {
  const arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repflow',
    a: 'hold',
    b: 'hold',
    process: { eager: true, capabilityTtl: 600_000 },
    onConnection: (socket) => socket.pipe(socket),
  });
  // An eager flow needs an earlier banner of the server, so a probe gets one.
  const { host, port } = arena.path;
  const [capable] = await Promise.all([
    repnet.probe({ host, port, repnet: { pairing: 'hello' } }),
    arena.legA().then((leg) => leg.admit()),
  ]);
  assert.equal(capable, true);
  return arena;
}

/**
 * Returns both connections of a flow when the path has received all their bytes.
 * The connection with the first write comes first.
 */
async function legsOf(arena: Arena): Promise<[eager: ChaosLeg, other: ChaosLeg]> {
  const [a, b] = await Promise.all([arena.legA(), arena.legB()]);
  await Promise.all([a.up.untilTaken(HELLO_BYTES), b.up.untilTaken(HELLO_BYTES)]);
  const [eager, other] = a.up.taken > HELLO_BYTES ? [a, b] : [b, a];
  await eager.up.untilTaken(WHOLE);
  return [eager, other];
}

/**
 * Runs complete flows, to undo the effects of a test. A connection that is cut before its banner reduces the budget.
 * An end without a banner removes the capability.
 */
async function recover(arena: Arena): Promise<void> {
  for (let flow = 0; flow < 4; flow++) {
    const sink = new Sink(arena.connect());
    sink.socket.end(REQUEST);
    await sink.untilClose();
    assert.deepEqual([sink.text(), sink.errors], [REQUEST, 0]);
  }
}

async function play(arena: Arena, cut: Cut): Promise<void> {
  arena.path.legs.length = 0;
  arena.accepted.length = 0;
  const client = arena.connect();
  const sink = new Sink(client);
  const connected = once(client, 'connect').catch(() => {});
  if (cut.ended) client.end(REQUEST);
  else client.write(REQUEST);
  const [eager, other] = await legsOf(arena);
  const [victim, survivor] = cut.victim === 'eager' ? [eager, other] : [other, eager];
  // Limits the bytes that pass on the cut connection. If it does not carry the first write, only its hello passes.
  victim.up.allow(cut.victim === 'eager' ? cut.at : Math.min(cut.at, HELLO_BYTES));
  victim.down.allow(cut.banner ? HELLO_BYTES : 0);
  const reached = async (): Promise<void> => {
    await victim.admit();
    await victim.up.until(Math.min(cut.at, victim.up.taken));
    if (cut.at >= HELLO_BYTES) await (cut.banner ? victim.down.until(HELLO_BYTES) : victim.down.untilTaken(HELLO_BYTES));
  };
  const survivorReached = async (): Promise<void> => {
    await survivor.admit();
    await survivor.down.until(HELLO_BYTES);
  };
  if (cut.first) await reached();
  await survivorReached();
  if (!cut.first) await reached();
  if (known(cut)) await connected;
  victim.reset();
  if (known(cut)) {
    await sink.until(REQUEST.length);
    if (!cut.ended) client.end();
    await sink.untilClose();
    assert.deepEqual([sink.text(), sink.ended, sink.errors], [REQUEST, true, 0]);
    assert.equal(arena.accepted.length, 1);
  } else {
    await sink.untilClose();
    assert.deepEqual([sink.text(), sink.errors, sink.error?.code], ['', 1, 'ECONNRESET']);
    assert.ok(arena.accepted.length <= 1);
  }
  if (!cut.banner) await recover(arena);
}

for (const victim of ['eager', 'other'] as const) {
  for (const first of [true, false]) {
    test(`the ${victim} leg dies after any byte, it comes ${first ? 'first' : 'second'}`, async (t) => {
      const arena = await openArena(t);
      let diverged = 0;
      const count = (): void => void diverged++;
      diagnostics.subscribe('repnet:flow:diverged', count);
      t.after(() => diagnostics.unsubscribe('repnet:flow:diverged', count));
      const last = victim === 'eager' ? WHOLE : HELLO_BYTES;
      for (let at = 0; at <= last; at++) {
        for (const banner of at >= HELLO_BYTES ? [false, true] : [false]) {
          for (const ended of [false, true]) {
            const cut = { victim, first, at, banner, ended };
            await play(arena, cut).catch((error: Error) => {
              throw new Error(JSON.stringify(cut), { cause: error });
            });
          }
        }
      }
      assert.equal(diverged, 0);
    });
  }
}
