// One end of the Rust-Node matrix, on Node. argv[2] is its task as JSON.
//
// A server has three services. The first echoes, and the second answers with the SHA-256 of the received bytes.
// The third writes first and ends its direction.
// The server prints {"ports": [..]}, and for each line on stdin {"report": {..}}.
// A client runs flows to these services and prints {"client": {..}}.
const crypto = require('node:crypto');
const fs = require('node:fs');
const readline = require('node:readline');

const task = JSON.parse(process.argv[2]);
const net = require(task.package);
const settings = { mode: task.mode, pairing: task.pairing };
// If a fault cut off a hello, the next flow must still try the server again.
net.configure({ capabilityTtl: 1, ...(task.hurry && { waitingListTimeout: task.hurry }) });
const TAG = 16;

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const descriptors = () => fs.readdirSync('/proc/self/fd').length;
// Memory of the process at the end of each quarter of the flows, after a garbage collection.
const memory = [0, 0, 0, 0];
const quarter = Math.ceil(task.flows / memory.length);
function held() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
function measure(flows) {
  if (flows % quarter === 0) memory[flows / quarter - 1] = held();
}
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

function server() {
  const runs = new Map();
  let [wrong, failed, open] = [0, 0, 0];
  const ran = (bytes) => {
    // The client has left the replica port before its first byte, and uses another connection.
    if (bytes.length === 0) return;
    const tag = bytes.subarray(0, TAG).toString('hex');
    runs.set(tag, (runs.get(tag) ?? 0) + 1);
    if (runs.get(tag) === 1 && runs.size < task.flows) measure(runs.size);
  };
  const services = [
    (socket) => {
      const parts = [];
      socket.on('data', (part) => parts.push(part));
      socket.pipe(socket);
      socket.on('end', () => ran(Buffer.concat(parts)));
    },
    (socket) => {
      const parts = [];
      socket.on('data', (part) => parts.push(part));
      socket.on('end', () => {
        const bytes = Buffer.concat(parts);
        ran(bytes);
        socket.end(sha256(bytes));
      });
    },
    (socket) => {
      const greeting = crypto.randomBytes(task.sizes[runs.size % task.sizes.length]);
      socket.end(greeting);
      const parts = [];
      socket.on('data', (part) => parts.push(part));
      socket.on('end', () => {
        const bytes = Buffer.concat(parts);
        ran(bytes);
        if (bytes.length > 0 && bytes.subarray(TAG).toString() !== sha256(greeting)) wrong++;
      });
    },
  ];
  const servers = services.map((service) =>
    net.createServer({ allowHalfOpen: true, repnet: settings }, (socket) => {
      open++;
      socket.on('error', () => failed++);
      socket.on('close', () => open--);
      service(socket);
    }),
  );
  let left = servers.length;
  for (const one of servers) {
    one.listen(0, '127.0.0.1', () => {
      if (--left === 0) say({ ports: servers.map((each) => each.address().port) });
    });
  }
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', () => {
    const most = Math.max(0, ...runs.values());
    memory[memory.length - 1] = held();
    say({ report: { ran: runs.size, most, wrong, failed, open, memory, descriptors: descriptors() } });
  });
  lines.on('close', () => process.exit(0));
}

function flow(index) {
  return new Promise((resolve) => {
    const kind = index % task.ports.length;
    const socket = net.connect({
      host: '127.0.0.1',
      port: task.ports[kind],
      allowHalfOpen: true,
      repnet: { ...settings, assumeCapable: true, ...task.settings },
    });
    const payload = crypto.randomBytes(TAG + task.sizes[(index * 7 + 3) % task.sizes.length]);
    const parts = [];
    let outcome = 'wrong';
    socket.on('data', (part) => parts.push(part));
    socket.on('end', () => {
      const bytes = Buffer.concat(parts);
      if (kind === 0 && bytes.equals(payload)) outcome = 'right';
      if (kind === 1 && bytes.toString() === sha256(payload)) outcome = 'right';
      if (kind === 2) {
        socket.end(Buffer.concat([payload.subarray(0, TAG), Buffer.from(sha256(bytes))]));
        outcome = 'right';
      }
    });
    socket.on('error', (error) => {
      outcome = `failed: ${error.code}`;
    });
    socket.on('close', () => resolve(outcome));
    if (kind !== 2) {
      const half = payload.length >> 1;
      socket.write(payload.subarray(0, half));
      socket.end(payload.subarray(half));
    }
  });
}

async function client() {
  // The first flow creates timers and descriptors that Node keeps.
  await flow(0);
  const before = descriptors();
  const outcomes = {};
  let [next, done] = [0, 0];
  const worker = async () => {
    while (next < task.flows) {
      const outcome = await flow(next++);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      measure(++done);
    }
  };
  await Promise.all(Array.from({ length: task.concurrency }, worker));
  memory[memory.length - 1] = held();
  const { flows } = net.stats();
  const settled = async () => {
    // Lingering connections end by themselves.
    for (let tries = 0; descriptors() > before && tries < 1_000; tries++) await new Promise((go) => setTimeout(go, 10));
    return descriptors();
  };
  say({ client: { outcomes, replicated: flows.opened, diverged: flows.diverged, memory, before, after: await settled() } });
  process.exit(0);
}

task.role === 'server' ? server() : client();
