/** Tests of parts without sockets: comparison of two connections, budget, waiting list and tombstones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Budget, Budgets } from '../../src/budget';
import { ExpiryQueue } from '../../src/expiry-queue';
import { Flow } from '../../src/flow';
import { FlowTable } from '../../src/flow-table';
import { PrefixCheck } from '../../src/prefix-check';
import { DEFAULTS } from '../../src/settings';
import { pattern } from '../harness/arena';

test('legs that carry the same bytes in different pieces are found equal, whoever is ahead', () => {
  const bytes = pattern(300_000);
  const check = new PrefixCheck();
  const at: [number, number] = [0, 0];
  let step = 1;
  while (at[0] < bytes.length || at[1] < bytes.length) {
    step = (step * 7919) % 4_999;
    const leg = step % 2 === 0 ? 0 : 1;
    assert.equal(check.add(leg, bytes.subarray(at[leg], at[leg] + step)), -1);
    at[leg] = Math.min(bytes.length, at[leg] + step);
  }
});

test('one byte that differs is found, however far the other leg is ahead', () => {
  const bytes = pattern(3_000_000);
  for (const wrong of [0, 1, 70_000, 2_999_999]) {
    const check = new PrefixCheck();
    for (let at = 0; at < bytes.length; at += 1_000) assert.equal(check.add(0, bytes.subarray(at, at + 1_000)), -1);
    const other = Buffer.from(bytes);
    other[wrong] = (other[wrong] ?? 0) ^ 1;
    assert.ok(check.add(1, other) > wrong, `byte ${wrong}`);
  }
});

test('the budget never lets more than its share of flows have a second leg', () => {
  const budget = new Budget();
  const limits = { budget: 0.2, incastLimit: Infinity, adaptive: true };
  let extra = 0;
  for (let flow = 1; flow <= 1_000; flow++) {
    if (budget.ask('repflow', limits) !== 'off') extra++;
    assert.ok(extra <= 0.2 * flow + 2, `${extra} of ${flow}`);
  }
  assert.ok(extra >= 195, `${extra} of 1000`);
  assert.equal(new Budget().ask('repflow', { budget: 0, incastLimit: Infinity, adaptive: true }), 'off');
});

test('failing legs make the budget shed by itself, and it recovers when they do not fail any more', () => {
  const budget = new Budget();
  const limits = { budget: 1, incastLimit: Infinity, adaptive: true };
  const granted = () => Array.from({ length: 400 }, () => budget.ask('repflow', limits)).filter((mode) => mode !== 'off').length;
  assert.equal(granted(), 400);
  for (let leg = 0; leg < 96; leg++) budget.legOutcome(leg % 2 === 0);
  assert.ok(granted() <= 400 / 8 + 17, 'three bad windows leave an eighth');
  for (let leg = 0; leg < 32 * 8; leg++) budget.legOutcome(true);
  assert.equal(granted(), 400);
});

test('many live RepFlow flows at once are taken for an incast: new ones race only their handshakes', () => {
  const budget = new Budget();
  const limits = { budget: 1, incastLimit: 2, adaptive: true };
  budget.flowStarted();
  budget.flowStarted();
  assert.equal(budget.ask('repflow', limits), 'repsyn');
  budget.flowEnded();
  assert.equal(budget.ask('repflow', limits), 'repflow');
});

test('entries expire in order, and the oldest goes first when there are too many', async () => {
  const gone: number[] = [];
  const expired = new EventTarget();
  const queue = new ExpiryQueue<number, number>(5, 3, (key) => {
    gone.push(key);
    if (gone.length === 3) expired.dispatchEvent(new Event('done'));
  });
  const done = once(expired, 'done');
  for (const key of [1, 2, 3, 4]) queue.add(key, key);
  assert.deepEqual(gone, [1]);
  queue.delete(3);
  await keepAlive(done);
  assert.deepEqual(gone, [1, 2, 4]);
  assert.equal(queue.size, 0);
});

/** Keeps the process alive until `done`, because the queue's timer does not. */
async function keepAlive(done: Promise<unknown>): Promise<void> {
  const alive = setInterval(() => {}, 1_000);
  await done;
  clearInterval(alive);
}

function flowOf(table: FlowTable, id: string, seen: number): Flow {
  const flow = new Flow({ id, role: 'server', mode: 'repflow', settings: DEFAULTS, registry: table });
  flow.seen = seen;
  table.add(flow);
  return flow;
}

test('a leg of a flow that has ended finds a tombstone; of a random id for ever, of a source port once', () => {
  const hello = new FlowTable('hello', DEFAULTS);
  hello.bury(flowOf(hello, 'id', 0b01));
  assert.equal(hello.place('id', 1).kind, 'late');
  assert.equal(hello.place('id', 1).kind, 'late');
  assert.equal(hello.place('id', 0).kind, 'late');
  assert.equal(hello.place('other', 0).kind, 'new');

  const port = new FlowTable('port', DEFAULTS);
  port.bury(flowOf(port, 'a|1', 0b01));
  assert.equal(port.place('a|1', 1).kind, 'late');
  assert.equal(port.place('a|1', 1).kind, 'new');
  port.bury(flowOf(port, 'a|2', 0b01));
  assert.equal(port.place('a|2', 0).kind, 'new', 'a plain client that uses its port again');
});

test('no tombstone goes before its time: when the table is full new flows are refused', () => {
  const table = new FlowTable('hello', { ...DEFAULTS, tombstoneLimit: 100 });
  const ended = Array.from({ length: 60 }, (_, index) => flowOf(table, `ended ${index}`, 1));
  for (const flow of ended) table.bury(flow);
  for (let index = 0; index < 40; index++) flowOf(table, `live ${index}`, 1);
  assert.equal(table.place('one more', 0).kind, 'full');
  for (const { id } of ended) assert.equal(table.place(id, 1).kind, 'late');
  assert.equal(table.place('live 0', 1).kind, 'known');
});

test('with port pairing a flow that could not be remembered keeps later ones off the replica port for as long', () => {
  const table = new FlowTable('port', { ...DEFAULTS, tombstoneLimit: 1 });
  const [first, second] = [flowOf(table, 'first', 1), flowOf(table, 'second', 1)];
  table.bury(first);
  assert.equal(table.place('third', 0).kind, 'new', 'a connection to port N is always taken');
  table.bury(second);
  assert.equal(table.place('second', 1).kind, 'full', 'its second leg is no flow of its own');
  assert.equal(table.place('first', 1).kind, 'late');
  assert.equal(table.place('second', 1).kind, 'full', 'neither is it when there is room again');
});

test('a target whose legs fail takes nothing from the flows to another one', () => {
  const budgets = new Budgets();
  const limits = { budget: 1, incastLimit: Infinity, adaptive: true };
  const granted = (host: string, adaptive: boolean) =>
    Array.from({ length: 100 }, () => budgets.of(host, 1).ask('repflow', { ...limits, adaptive })).filter((mode) => mode === 'repflow')
      .length;
  for (let leg = 0; leg < 320; leg++) budgets.of('flapping', 1).legOutcome(false);
  assert.ok(granted('flapping', true) < 20);
  assert.equal(granted('healthy', true), 100);
  assert.equal(granted('flapping', false), 100, 'nobody adapts who was told not to');
});
