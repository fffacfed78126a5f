/** Tests of the limit and the count of open descriptors that do not belong to live flows. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { encodePreamble, VERSION } from '../../src/wire';
import { Arena, Sink } from '../harness/arena';
import { published, UNHURRIED } from '../harness/replication';

const descriptors = (): number => readdirSync('/proc/self/fd').length;

const preamble = (number: number, probe: boolean): Buffer =>
  encodePreamble({ version: VERSION, probe, mode: 'repflow', leg: 0, flowId: number.toString(16).padStart(32, 'f') });

test('flows whose second connection stands still leave a bounded number of connections behind', async (t) => {
  const arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repflow',
    server: { confirmTimeout: 1 },
    client: { confirmTimeout: 1 },
    onConnection: (socket) => void socket.pipe(socket),
    // The path relays only the hello of each flow's second connection, in both directions.
    path: {
      admit: (leg) => (leg.door === 'replica' ? 'hold' : 'pass'),
      onLeg: async (leg) => {
        await leg.up.untilTaken(32);
        if (leg.up.start[10] === 0) return leg.admit();
        leg.up.allow(32);
        leg.down.allow(32);
        await leg.admit();
      },
    },
  });
  const flows = 400;
  for (let flow = 0; flow < flows; flow++) {
    const paired = (['client', 'server'] as const).map((role) =>
      published<{ role: string }>('repnet:leg:pair', (message) => message.role === role),
    );
    const client = arena.connect();
    const sink = new Sink(client);
    client.write('echo');
    await Promise.all([sink.until(4), ...paired]);
    client.end();
    await sink.untilClose();
  }
  const { lingering } = repnet.stats().held;
  assert.ok(lingering > 0 && lingering <= 128, `${lingering} linger after ${flows} flows`);
});

async function replicaPort(t: TestContext, options: object, prepare: (server: net.Server) => void = () => {}): Promise<number> {
  repnet.configure({ ...UNHURRIED, ...options });
  t.after(() => repnet.configure({ pendingHellos: 4_096 }));
  const server = repnet.createServer();
  prepare(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port + 1;
}

/** Opens connections that send `bytes`, wait for the answer, and stay open. */
async function hold(t: TestContext, port: number, count: number, bytes: (number: number) => Buffer): Promise<void> {
  const sockets: net.Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let number = 0; number < count; number++) {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(bytes(number));
    await once(socket, 'data');
  }
}

test('probes that do not hang up count as pending hellos, and are no more than these may be', async (t) => {
  const port = await replicaPort(t, { pendingHellos: 20 });
  const before = descriptors();
  await hold(t, port, 300, (number) => preamble(number, true));
  assert.ok(repnet.stats().held.pendingHellos <= 20);
  // A held connection has one descriptor at each end. A dropped connection may still have the client's.
  assert.ok(descriptors() - before <= 300 + 20 + 5, `${descriptors() - before} more descriptors`);
});

test("refused hellos are held within the server's maxConnections", async (t) => {
  const port = await replicaPort(t, {}, (server) => {
    server.maxConnections = 3;
    server.on('connection', (socket) => socket.on('error', () => {}));
  });
  await hold(t, port, 50, (number) => preamble(number, false));
  assert.ok(repnet.stats().held.pendingHellos <= 3, `${repnet.stats().held.pendingHellos} held`);
});
