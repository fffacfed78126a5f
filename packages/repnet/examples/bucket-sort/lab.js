'use strict';

/**
 * node lab.js [--hosts 12] [--jobs 20] [--numbers 50000] [--rate 1Gbps] [--slowdown 10] [--rounds 1]
 *             [--program PROGRAM] [--full] [--json]
 *
 * The paper's experiment on separate Linux hosts in two racks with three spines.
 * It starts a lab (`tailcut lab`) whose network is SLOWDOWN times slower.
 * On every host it runs `node.js`, over `net`, RepFlow and RepSYN.
 * The program prints the jobs' completion times in wall-clock time. Each round runs the three transports in turn.
 * PROGRAM replaces `node node.js` and gets the same arguments, such as the Rust example `bucket_sort`.
 * --full uses the paper's size. --json prints a line for each round of a transport.
 * The last line reports whether the lab was punctual. The variable TAILCUT contains the path of the program `tailcut`.
 */
const { spawn, execFileSync } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { parseArgs } = require('node:util');

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '12' },
    jobs: { type: 'string', default: '20' },
    numbers: { type: 'string', default: '50000' },
    rate: { type: 'string', default: '1Gbps' },
    slowdown: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    program: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
});

const tailcut = process.env.TAILCUT ?? 'tailcut';
const lab = `bucket-sort-${process.pid}`;
const hosts = Number(values.hosts);
if (!Number.isInteger(hosts) || hosts < 2 || hosts % 2 !== 0) {
  throw new Error(`--hosts: found ${values.hosts}; must be an even number of at least 2`);
}
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  throw new Error(`--rounds: found ${values.rounds}; must be an integer of at least 1`);
}
const numbers = values.full ? '1000000' : values.numbers;
const jobs = values.full ? '1000' : values.jobs;
const nodes = Array.from({ length: hosts }, (_, host) => `10.0.0.${host + 1}`).join(',');
const program = values.program === undefined ? [process.execPath, path.join(__dirname, 'node.js')] : [path.resolve(values.program)];

/** Starts one node on its host. Resolves with the process and the times of its jobs when the jobs are complete. */
async function runNode(transport, own) {
  const command = ['lab', 'exec', '--lab', lab, `h${own}`, '--', ...program];
  const settings = ['--nodes', nodes, '--own', String(own), '--jobs', jobs, '--numbers', numbers];
  const child = spawn(tailcut, [...command, ...settings], {
    env: { ...process.env, TRANSPORT: transport },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const times = [];
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const said = JSON.parse(line);
    if (said.done) return { child, times };
    times.push(said.milliseconds);
  }
  throw new Error(`${transport}: h${own} ended before its jobs did`);
}

async function run(transport) {
  const all = await Promise.all(Array.from({ length: hosts }, (_, own) => runNode(transport, own)));
  // The nodes get no further requests, so they end.
  for (const { child } of all) child.stdin.end();
  await Promise.all(all.map(({ child }) => child.exitCode ?? once(child, 'exit')));
  return all.flatMap(({ times }) => times).sort((a, b) => a - b);
}

/** Returns two numbers of ticks since the start of the machine: those with a busy processor, and all. */
function processors() {
  const ticks = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].trim().split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, some) => sum + some, 0);
  return { busy: all - ticks[3] - ticks[4], all };
}

/** Returns a quantile of the completion times, if at least ten of them exceed it. */
function at(times, share) {
  const beyond = Math.round(times.length * (1 - share));
  return beyond < 10 ? `too few (${times.length} jobs)` : times[times.length - 1 - beyond].toFixed(0);
}

const transports = ['net', 'repflow', 'repsyn'];

/** Runs one round of a transport, and measures how busy the machine was. */
async function timed(transport) {
  const before = processors();
  const milliseconds = await run(transport);
  const after = processors();
  return { transport, milliseconds, busy: (after.busy - before.busy) / (after.all - before.all) };
}

/** Runs all rounds. Each round starts with another transport. */
async function measure() {
  const all = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const turn of transports.keys()) {
      const one = await timed(transports[(round + turn) % transports.length]);
      if (values.json) console.log(JSON.stringify({ round, ...one }));
      all.push(one);
    }
  }
  return all;
}

function table(all) {
  console.log('| transport | jobs | median, ms | p99, ms | p99.9, ms | processors busy, % |\n|---|---|---|---|---|---|');
  for (const transport of transports) {
    const own = all.filter((one) => one.transport === transport);
    const times = own.flatMap(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
    const busy = (own.reduce((sum, one) => sum + one.busy, 0) / own.length) * 100;
    const shown = [0.5, 0.99, 0.999].map((share) => at(times, share));
    console.log(`| ${[transport, times.length, ...shown, busy.toFixed(0)].join(' | ')} |`);
  }
}

function down() {
  execFileSync(tailcut, ['lab', 'down', '--lab', lab]);
}

async function main() {
  const topology = `leaf-spine:hosts=${hosts / 2},leaves=2,spines=3,rate=${values.rate}`;
  const network = ['--topology', topology, '--design', 'cubic', '--slowdown', values.slowdown];
  execFileSync(tailcut, ['lab', 'up', '--detach', '--name', lab, ...network], { stdio: ['ignore', 2, 2] });
  // The lab has its own session, so it would continue to run after this process.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      down();
      process.exit(1);
    });
  }
  try {
    const all = await measure();
    if (!values.json) table(all);
    const {
      lateness,
      is_valid: isValid,
      why_not: whyNot,
    } = JSON.parse(execFileSync(tailcut, ['lab', 'status', '--lab', lab, '--json'], { encoding: 'utf8' }));
    if (values.json) console.log(JSON.stringify({ lateness, isValid, whyNot }));
    else console.log(`lateness of packets: ${JSON.stringify(lateness)}; ${isValid ? 'valid' : `NOT VALID: ${whyNot}`}`);
  } finally {
    down();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
