'use strict';

/**
 * node node.js --nodes 10.0.0.1,10.0.0.2,10.0.0.3 --own 0 [--port 9000] [--jobs 20] [--numbers 50000]
 *              [--jitter 10]
 *
 * One host of the paper's cluster. It is the master of its own jobs, and a slave in the jobs of other hosts.
 * A job reads its numbers from a text file and writes them, sorted, to another file.
 * The completion time of a job begins with the read and ends with the write.
 * The program prints a line of JSON for each job, and serves the other hosts until its standard input ends.
 */
const { readFile, writeFile, mkdtemp, rm } = require('node:fs/promises');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { sort } = require('./master.js');
const { createSlave } = require('./slave.js');

const { values } = parseArgs({
  options: {
    nodes: { type: 'string' },
    own: { type: 'string' },
    port: { type: 'string', default: '9000' },
    jobs: { type: 'string', default: '20' },
    numbers: { type: 'string', default: '50000' },
    jitter: { type: 'string', default: '10' },
  },
});

function count(name, least) {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < least) {
    throw new Error(`--${name}: found ${values[name]}; must be an integer of at least ${least}`);
  }
  return number;
}

/** Returns whether a program listens at the address. The connection sends nothing, which a slave accepts. */
function listens({ host, port }) {
  return new Promise((resolve) => {
    const probe = net.connect({ host, port });
    probe.on('connect', () => probe.end());
    probe.on('close', (hasFailed) => resolve(!hasFailed));
    probe.on('error', () => {});
    probe.resume();
  });
}

async function job(folder, slaves, address) {
  const [unsorted, sorted] = ['unsorted.txt', 'sorted.txt'].map((name) => path.join(folder, name));
  const numbers = Uint16Array.from({ length: count('numbers', 1) }, () => Math.floor(Math.random() * 65536));
  await writeFile(unsorted, numbers.join('\n'));
  const start = performance.now();
  const read = Uint16Array.from((await readFile(unsorted, 'utf8')).split('\n'), Number);
  const result = await sort(read, slaves, address);
  await writeFile(sorted, result.sorted.join('\n'));
  const milliseconds = performance.now() - start;
  const expected = numbers.sort();
  if (result.sorted.length !== expected.length || result.sorted.some((number, i) => number !== expected[i])) {
    throw new Error('the result is not the sorted input');
  }
  console.log(JSON.stringify({ milliseconds, flows: result.flows }));
}

async function main() {
  const port = count('port', 1);
  const own = count('own', 0);
  const nodes = (values.nodes ?? '').split(',');
  const address = nodes[own];
  if (nodes.length < 2 || address === undefined) {
    throw new Error(`--nodes: found ${values.nodes}; must be two addresses at least, of which --own is one`);
  }
  await new Promise((ready) => createSlave().listen(port, '0.0.0.0', ready));
  process.stdin.on('end', () => process.exit()).resume();
  const slaves = nodes.filter((node) => node !== address).map((host) => ({ host, port }));
  for (const slave of slaves) {
    while (!(await listens(slave))) await sleep(20);
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), 'bucket-sort-'));
  await sleep(Math.random() * count('jitter', 0));
  for (let done = 0; done < count('jobs', 1); done += 1) await job(folder, slaves, address);
  await rm(folder, { recursive: true });
  console.log(JSON.stringify({ done: true }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
