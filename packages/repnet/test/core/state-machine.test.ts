/**
 * Comparison of the state machine with spec/state-machine.json. Another implementation is tested with the same table.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type FlowEvent, type Mode, type OtherLeg, type Role, START, type State, transition } from '../../src/state-machine';
import { packageFolder } from '../harness/package-folder';

interface Row {
  roles: Role[];
  modes: Mode[];
  state: State;
  event: FlowEvent;
  guard?: string;
  next: State;
  actions: string[];
}
interface Table {
  legend: Record<'roles' | 'modes' | 'states' | 'guards' | 'events' | 'actions', Record<string, string>>;
  start: Record<Role, { state: State; legs: OtherLeg[]; actions: string[] }>;
  transitions: Row[];
}

const table = JSON.parse(readFileSync(`${packageFolder}/spec/state-machine.json`, 'utf8')) as Table;
const words = (kind: keyof Table['legend']) => Object.keys(table.legend[kind]);
const OTHERS: OtherLeg[] = ['live', 'pending', 'gone'];

function holds(guard: string | undefined, other: OtherLeg, waiting: boolean): boolean {
  if (guard === undefined) return true;
  if (guard === 'on_waiting_list') return waiting;
  if (guard === 'off_waiting_list') return !waiting;
  return guard === `other_${other}`;
}

test('every situation that the table can name ends as the table says, and no other does anything', () => {
  let situations = 0;
  const used = new Set<Row>();
  for (const role of words('roles') as Role[]) {
    for (const mode of words('modes') as Mode[]) {
      for (const state of words('states') as State[]) {
        for (const event of words('events') as FlowEvent[]) {
          for (const other of OTHERS) {
            for (const waiting of [true, false]) {
              const rows = table.transitions.filter(
                (row) =>
                  row.roles.includes(role) &&
                  row.modes.includes(mode) &&
                  row.state === state &&
                  row.event === event &&
                  holds(row.guard, other, waiting),
              );
              const where = `${role} ${mode} ${state} ${event} other ${other}, ${waiting ? 'on' : 'off'} the waiting list`;
              assert.ok(rows.length <= 1, `two rows for ${where}`);
              const step = transition(role, mode, state, event, other, waiting);
              const row = rows[0];
              assert.deepEqual(
                step && { next: step.next, actions: [...step.actions] },
                row && { next: row.next, actions: row.actions },
                where,
              );
              if (row) used.add(row);
              situations += 1;
            }
          }
        }
      }
    }
  }
  assert.equal(situations, 2 * 2 * 4 * words('events').length * 3 * 2);
  assert.equal(used.size, table.transitions.length, 'a row that no situation reaches');
});

test('a flow starts as the table says', () => {
  for (const role of ['client', 'server'] as const) {
    assert.deepEqual(
      { state: START[role].next, actions: START[role].actions },
      { state: table.start[role].state, actions: table.start[role].actions },
    );
  }
});

test('the table uses only words that its legend explains, and explains none that it does not use', () => {
  const used = (pick: (row: Row) => string[]) => new Set(table.transitions.flatMap(pick));
  const actions = used((row) => row.actions);
  for (const role of ['client', 'server'] as const) for (const action of table.start[role].actions) actions.add(action);
  assert.deepEqual([...actions].sort(), words('actions').sort());
  assert.deepEqual([...used((row) => [row.event])].sort(), words('events').sort());
  assert.deepEqual([...used((row) => (row.guard ? [row.guard] : []))].sort(), words('guards').sort());
  assert.deepEqual([...used((row) => [row.state, row.next])].sort(), words('states').sort());
});

test('nothing leaves ENDED', () => {
  for (const row of table.transitions) if (row.state === 'ENDED') assert.equal(row.next, 'ENDED');
});
