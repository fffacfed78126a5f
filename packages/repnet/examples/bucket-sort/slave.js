'use strict';

/**
 * Slave of the bucket sort. The slave has one bucket for each job. Each chunk of numbers arrives in a short flow.
 * The slave sorts by counting while numbers arrive.
 * When the master requests the bucket, the slave sends it as one long flow.
 *
 * A flow carries one line of JSON:
 *   {"job": "...", "numbers": [...]}                       a chunk; the answer is "ok"
 *   {"job": "...", "finish": {"host": "...", "port": N}}   send the bucket to this address; the answer is "ok"
 */
const { connectElephant, createServer } = require('./transport.js');

const VALUES = 65536;

/** @type {Map<string, Uint32Array>} */
const buckets = new Map();

function receive(line) {
  const message = JSON.parse(line);
  let counts = buckets.get(message.job);
  if (counts === undefined) {
    counts = new Uint32Array(VALUES);
    buckets.set(message.job, counts);
  }
  if (message.numbers !== undefined) {
    for (const number of message.numbers) counts[number] += 1;
    return;
  }
  buckets.delete(message.job);
  const sorted = [];
  counts.forEach((count, number) => {
    for (let i = 0; i < count; i += 1) sorted.push(number);
  });
  const elephant = connectElephant(message.finish);
  elephant.on('error', (error) => console.error(`slave: results of ${message.job}: ${error.message}`));
  elephant.end(`${JSON.stringify({ slave: message.finish.slave, sorted })}\n`);
}

/** @returns {import('node:net').Server} a slave's server, which does not listen yet */
function createSlave() {
  return createServer({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.on('end', () => {
      // A connection without bytes only checks whether this host listens.
      if (text === '') return socket.end();
      receive(text);
      socket.end('ok');
    });
    socket.on('error', (error) => console.error(`slave: ${error.message}`));
  });
}

module.exports = { createSlave };

// run.js starts this file as a separate process.
if (require.main === module) {
  const server = createSlave();
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ port: server.address().port });
  });
  process.on('disconnect', () => process.exit());
}
