/** Tests of the permission to join a flow, of the public name of a flow, and of the limit of remembered flows. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { decodeBanner, encodePreamble, VERSION } from '../../src/wire';
import { Arena, Sink } from '../harness/arena';
import { UNHURRIED } from '../harness/replication';

const ID = 'c0ffee'.padEnd(32, '1');

const hello = (leg: number, flowId = ID): Buffer => encodePreamble({ version: VERSION, probe: false, mode: 'repflow', leg, flowId });

async function listen(t: TestContext, settings: object, onConnection: (socket: net.Socket) => void): Promise<number> {
  repnet.configure(UNHURRIED);
  const server = repnet.createServer({ repnet: settings }, onConnection);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port + 1;
}

function dial(t: TestContext, port: number, localAddress: string, ...bytes: Array<Buffer | string>): Sink {
  const socket = net.connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  t.after(() => void socket.destroy());
  for (const chunk of bytes) socket.write(chunk);
  return new Sink(socket);
}

test('who knows the id of a flow and comes from another address neither reads nor adds a byte', async (t) => {
  const heard: string[] = [];
  const port = await listen(t, {}, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      heard.push(chunk.toString());
      socket.write('a secret');
    });
  });
  const owner = dial(t, port, '127.0.0.1', hello(0), 'question');
  await owner.until(32 + 8);
  const stranger = dial(t, port, '127.0.0.9', hello(1), 'question and more');
  await stranger.untilClose();
  assert.equal(stranger.length, 0);
  const second = dial(t, port, '127.0.0.1', hello(1), 'question');
  await second.until(32 + 8);
  assert.deepEqual(heard, ['question'], 'the flow has not noticed');
});

test('a first connection that was reset before the server saw it keeps nobody from using the other one', async (t) => {
  const port = await listen(t, {}, (socket) => void socket.on('error', () => {}).pipe(socket));
  const first = `const socket = require('node:net').connect(${port}, '127.0.0.1', () => {
    socket.write(Buffer.from('${hello(0).toString('hex')}', 'hex'), () => socket.resetAndDestroy());
  })`;
  // This process accepts no connection during this call. When it accepts, both the hello and the reset have arrived.
  execFileSync(process.execPath, ['-e', first]);
  const second = dial(t, port, '127.0.0.1', hello(1), 'x');
  await second.until(33);
  assert.equal(second.text().slice(32), 'x');
});

test('a server may be told to take second connections from anywhere', async (t) => {
  const port = await listen(t, { secondLegFrom: 'anywhere' }, (socket) => void socket.on('error', () => {}).pipe(socket));
  const first = dial(t, port, '127.0.0.1', hello(0), 'x');
  await first.until(33);
  const second = dial(t, port, '127.0.0.9', hello(1));
  await second.until(33);
  const banner = decodeBanner(second.bytes());
  assert.equal(typeof banner === 'object' && banner.status, 'joined');
});

test('no event and no error carries the id by which a flow can be joined', async (t) => {
  const told: string[] = [];
  const channels = ['flow:open', 'flow:end', 'flow:chosen', 'flow:diverged', 'leg:open', 'leg:pair', 'leg:drop', 'leg:late'];
  const listenTo = (message: unknown): void => {
    const { error, ...rest } = message as { error?: Error };
    told.push(JSON.stringify(rest), String(error?.message));
  };
  for (const name of channels) diagnostics.subscribe(`repnet:${name}`, listenTo);
  t.after(() => channels.forEach((name) => void diagnostics.unsubscribe(`repnet:${name}`, listenTo)));
  const arena = await Arena.open(t, {
    pairing: 'hello',
    mode: 'repflow',
    onB: (leg) => leg.up.rewrite((byte, offset) => (offset === 33 ? byte ^ 1 : byte)),
  });
  const sink = new Sink(arena.connect());
  sink.socket.write('different');
  await sink.untilClose();
  const id = (await arena.legA()).up.start.toString('hex', 16, 32);
  const name = createHash('sha256').update(id).digest('hex').slice(0, 32);
  for (const role of ['client', 'server']) {
    const own = told.filter((text) => text.includes(`"flowId":"${name}"`) && text.includes(`"role":"${role}"`));
    assert.ok(own.length >= 3, `${own.length} events of the ${role}`);
  }
  for (const text of told) assert.ok(!text.includes(id), text);
});

test('a request never runs twice, however many flows came after it: those that cannot be remembered run plain', async (t) => {
  let requests = 0;
  repnet.configure({ ...UNHURRIED, tombstoneLimit: 100 });
  t.after(() => repnet.configure({ tombstoneLimit: 65_536 }));
  const server = repnet.createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      if (chunk.toString() === 'PAY ONCE') requests++;
      socket.end('done');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const single = async (flowId: string, text: string): Promise<string> => {
    const sink = dial(t, port + 1, '127.0.0.1', hello(0, flowId), text);
    await sink.untilEnd();
    sink.socket.destroy();
    const banner = decodeBanner(sink.bytes());
    return typeof banner === 'object' ? banner.status : banner;
  };
  assert.equal(await single(ID, 'PAY ONCE'), 'opened');
  const before = repnet.stats().flows.refused.tombstones;
  const statuses = [];
  for (let flow = 0; flow < 120; flow++) statuses.push(await single(flow.toString(16).padStart(32, 'a'), 'other'));
  assert.equal(statuses.filter((status) => status === 'busy').length, repnet.stats().flows.refused.tombstones - before);
  assert.ok(statuses.includes('busy'));
  const late = dial(t, port + 1, '127.0.0.1', hello(1), 'PAY ONCE');
  await late.untilClose();
  assert.deepEqual([late.length, requests], [0, 1]);
  // repnet's client uses a plain connection until the tombstones expire.
  const plain = repnet.stats().flows.plain.fallback;
  const client = repnet.connect({ host: '127.0.0.1', port, repnet: { assumeCapable: true } });
  client.write('other');
  assert.equal(Buffer.concat(await client.toArray()).toString(), 'done');
  assert.equal(repnet.stats().flows.plain.fallback - plain, 1);
});
