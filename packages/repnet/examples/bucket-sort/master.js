'use strict';

const { createServer: createPlainServer } = require('node:net');
const { randomUUID } = require('node:crypto');
const { connectMouse } = require('./transport.js');

const VALUES = 65536;
/** Number of integers in one short flow, the same as in the paper. */
const CHUNK = 20;
/** Largest number of short flows that are open at the same time. */
const WINDOW = 64;

/** Opens one short flow: it sends a line, and receives "ok". */
function tell(target, message) {
  return new Promise((resolve, reject) => {
    const socket = connectMouse({ ...target, allowHalfOpen: true });
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (piece) => {
      answer += piece;
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (answer === 'ok') resolve();
      else reject(new Error(`slave at port ${target.port} answered "${answer}"`));
    });
    socket.end(`${JSON.stringify(message)}\n`);
  });
}

/** Yields chunks of numbers for the slaves. The numbers keep the order of the array within each slave's bucket. */
function* chunks(numbers, slaves) {
  const open = slaves.map(() => []);
  for (const number of numbers) {
    const slave = Math.floor((number * slaves.length) / VALUES);
    open[slave].push(number);
    if (open[slave].length === CHUNK) {
      yield { slave, numbers: open[slave] };
      open[slave] = [];
    }
  }
  for (const [slave, rest] of open.entries()) {
    if (rest.length > 0) yield { slave, numbers: rest };
  }
}

/**
 * Listens for the slaves' buckets: one long flow of plain TCP from each slave. `address` is the address of this host.
 */
function collect(count, address) {
  return new Promise((ready, fail) => {
    const buckets = new Array(count);
    let missing = count;
    let finish;
    const all = new Promise((resolve) => (finish = resolve));
    const server = createPlainServer((socket) => {
      const pieces = [];
      socket.on('data', (piece) => pieces.push(piece));
      socket.on('end', () => {
        const { slave, sorted } = JSON.parse(Buffer.concat(pieces).toString());
        buckets[slave] = sorted;
        missing -= 1;
        if (missing === 0) server.close(() => finish(buckets));
      });
    });
    server.on('error', fail);
    server.listen(0, address, () => ready({ port: server.address().port, all }));
  });
}

/**
 * Sorts numbers with the help of the slaves. Resolves with the sorted array and the job's completion time.
 * @param {Uint16Array} numbers
 * @param {Array<{host: string, port: number}>} slaves
 * @param {string} address address of this host, to which the slaves send their buckets
 */
async function sort(numbers, slaves, address = '127.0.0.1') {
  const start = performance.now();
  const job = randomUUID();
  const results = await collect(slaves.length, address);
  const work = chunks(numbers, slaves);
  let flows = 0;
  const lane = async () => {
    for (const chunk of work) {
      flows += 1;
      await tell(slaves[chunk.slave], { job, numbers: chunk.numbers });
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, lane));
  await Promise.all(slaves.map((target, slave) => tell(target, { job, finish: { host: address, port: results.port, slave } })));
  const sorted = (await results.all).flat();
  return { sorted, flows, milliseconds: performance.now() - start };
}

module.exports = { sort };
