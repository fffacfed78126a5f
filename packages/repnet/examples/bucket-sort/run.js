'use strict';

/**
 * node run.js [--numbers 20000] [--slaves 3] [--jobs 10]
 *
 * Starts each slave in a separate process.
 * Sorts random arrays one after the other, checks every result, and prints the completion times.
 */
const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { sort } = require('./master.js');
const { kind } = require('./transport.js');

const { values } = parseArgs({
  options: {
    numbers: { type: 'string', default: '20000' },
    slaves: { type: 'string', default: '3' },
    jobs: { type: 'string', default: '10' },
  },
});

function count(name) {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 1) {
    throw new Error(`--${name}: found ${values[name]}; must be an integer of at least 1`);
  }
  return number;
}

async function main() {
  const children = Array.from({ length: count('slaves') }, () => fork(path.join(__dirname, 'slave.js')));
  const slaves = await Promise.all(
    children.map(async (child) => {
      const [{ port }] = await once(child, 'message');
      return { host: '127.0.0.1', port };
    }),
  );
  const times = [];
  let flows = 0;
  for (let job = 0; job < count('jobs'); job += 1) {
    const numbers = Uint16Array.from({ length: count('numbers') }, () => Math.floor(Math.random() * 65536));
    const result = await sort(numbers, slaves);
    const expected = numbers.slice().sort();
    if (result.sorted.length !== expected.length || result.sorted.some((number, i) => number !== expected[i])) {
      throw new Error(`job ${job}: the result is not the sorted input`);
    }
    flows += result.flows;
    times.push(result.milliseconds);
  }
  for (const child of children) child.disconnect();
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
  console.log(`${kind}: ${times.length} jobs, ${flows} short flows, all sorted; median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
