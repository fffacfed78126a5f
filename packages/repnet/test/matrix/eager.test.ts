/** Tests of eager flows: effects of the bytes that the first connection sends before its banner. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import repnet from 'repnet';
import { CapabilityCache } from '../../src/capability';
import { decodePreamble, encodeBanner, HELLO_BYTES, type Preamble, type Status, VERSION } from '../../src/wire';
import { Sink } from '../harness/arena';
import { MODES, type Mode, UNHURRIED } from '../harness/replication';

const QUESTION = 'a question';

/** Connection to the replica port, as the test's server sees it. */
interface Visit {
  socket: net.Socket;
  preamble: Preamble;
  /** Bytes that arrived together with the preamble in one read. */
  first: Buffer;
  /** All bytes after the preamble. */
  bytes: () => string;
  answer: (status: Status, instance?: string) => void;
}

/** Test server on port N (an echo service that counts) and port N+1 (controlled by the test). */
class Stage {
  visits: Visit[] = [];
  plain = 0;
  onVisit: (visit: Visit) => void = () => {};
  /** Connections of the present flow to the replica port. */
  #connections: net.Socket[] = [];
  #onConnection: () => void = () => {};
  #sockets: net.Socket[] = [];

  private constructor(
    readonly port: number,
    readonly replicaPort: number,
  ) {}

  static async open(t: TestContext, ttl: number): Promise<Stage> {
    repnet.configure({ ...UNHURRIED, capabilityTtl: ttl, eager: true });
    const track = (socket: net.Socket) => {
      stage.#sockets.push(socket);
      socket.on('error', () => {});
    };
    const main = net.createServer({ allowHalfOpen: true }, (socket) => {
      stage.plain += 1;
      track(socket);
      socket.pipe(socket);
    });
    const replica = net.createServer({ allowHalfOpen: true }, (socket) => {
      track(socket);
      stage.#connections.push(socket);
      stage.#onConnection();
      stage.#visited(socket);
    });
    const ports = await Promise.all(
      [main, replica].map(async (server) => {
        await once(server.listen(0, '127.0.0.1'), 'listening');
        return (server.address() as net.AddressInfo).port;
      }),
    );
    const stage = new Stage(ports[0] as number, ports[1] as number);
    t.after(() => {
      for (const socket of stage.#sockets) socket.destroy();
      main.close();
      replica.close();
    });
    return stage;
  }

  #visited(socket: net.Socket): void {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (chunks.length > 1) return;
      const preamble = decodePreamble(chunk);
      assert.ok(typeof preamble === 'object');
      const { leg, flowId } = preamble;
      const visit: Visit = {
        socket,
        preamble,
        first: chunk,
        bytes: () => Buffer.concat(chunks).subarray(HELLO_BYTES).toString('latin1'),
        answer: (status, instance = '1') => {
          socket.write(encodeBanner({ version: VERSION, status, leg, flowCheck: flowId.slice(0, 8), instanceId: instance.repeat(32) }));
        },
      };
      this.visits.push(visit);
      this.onVisit(visit);
    });
  }

  connect(mode: Mode, options: object = {}): net.Socket {
    return repnet.connect({ host: '127.0.0.1', port: this.port, repnet: { mode, replicaPort: this.replicaPort, ...options } });
  }

  /** Opens a first flow, so that the client gets a banner. This flow waits for the banner before it sends any byte. */
  async teach(mode: Mode): Promise<void> {
    this.onVisit = (visit) => visit.answer(this.visits.length === 1 ? 'opened' : 'joined');
    const client = this.connect(mode, { assumeCapable: true });
    client.on('error', () => {});
    await once(client, 'connect');
    // Without this wait, a connection that is accepted later would count as a connection of the next flow.
    await this.untilConnected(2);
    client.destroy();
    await once(client, 'close');
    this.visits = [];
    this.#connections = [];
    this.plain = 0;
  }

  /** Resolves when the present flow has this number of connections, even if they send no bytes. */
  async untilConnected(count: number): Promise<net.Socket[]> {
    while (this.#connections.length < count) await new Promise<void>((resolve) => (this.#onConnection = resolve));
    return this.#connections;
  }

  /** Resolves when the present flow has sent this number of hellos. */
  async until(count: number): Promise<Visit[]> {
    while (this.visits.length < count) await new Promise<void>((resolve) => (this.onVisit = () => resolve()));
    return this.visits;
  }
}

for (const mode of MODES) {
  test(`the first bytes come in one go with the hello, on one leg only (${mode})`, async (t) => {
    const stage = await Stage.open(t, 600_000);
    await stage.teach(mode);
    stage.onVisit = () => {};
    const client = stage.connect(mode);
    client.write(QUESTION);
    const visits = await stage.until(mode === 'repflow' ? 2 : 1);
    assert.deepEqual(
      visits.map(({ first }) => first.toString('latin1', HELLO_BYTES)).sort(),
      mode === 'repflow' ? ['', QUESTION] : [QUESTION],
    );
    assert.equal(client.connecting, true, 'no banner, no connection');
    client.destroy();
  });

  test(`with eager off, or when the capability has expired, the hello goes alone (${mode})`, async (t) => {
    for (const [ttl, options] of [
      [600_000, { eager: false }],
      [1, { assumeCapable: true }],
    ] as const) {
      const stage = await Stage.open(t, ttl);
      await stage.teach(mode);
      stage.onVisit = () => {};
      for (const taught = performance.now(); performance.now() < taught + 2; );
      const client = stage.connect(mode, options);
      client.write(QUESTION);
      for (const visit of await stage.until(mode === 'repflow' ? 2 : 1)) assert.equal(visit.first.length, HELLO_BYTES);
      client.destroy();
    }
  });

  test(`a foreign service that came within the capability's time gets one flow's bytes, and no more (${mode})`, async (t) => {
    const stage = await Stage.open(t, 600_000);
    await stage.teach(mode);
    stage.onVisit = ({ socket }) => socket.end('-ERR unknown command, said in a line of more than 32 bytes\r\n');
    for (const text of ['first flow', 'second flow']) {
      const sink = new Sink(stage.connect(mode));
      sink.socket.end(text);
      await sink.untilClose();
      assert.deepEqual([sink.text(), sink.errors], [text, 0]);
    }
    assert.equal(stage.plain, 2);
    assert.equal(stage.visits.map((visit) => visit.bytes()).join(''), 'first flow');
  });

  test(`a server that has the first bytes and dies without a banner may have run them: nobody else gets them (${mode})`, async (t) => {
    for (const die of ['end', 'resetAndDestroy'] as const) {
      const stage = await Stage.open(t, 600_000);
      await stage.teach(mode);
      stage.onVisit = (visit) => {
        if (visit.first.length > HELLO_BYTES) visit.socket[die]();
      };
      const sink = new Sink(stage.connect(mode));
      sink.socket.write(QUESTION);
      await sink.untilClose();
      assert.deepEqual([sink.errors, sink.length, stage.plain], [1, 0, 0]);
      assert.equal(stage.visits.map((visit) => visit.bytes()).join(''), QUESTION);
      const next = new Sink(stage.connect(mode));
      next.socket.end('next');
      await next.until(4);
      assert.equal(stage.plain, 1, 'the capability is forgotten');
      next.socket.destroy();
    }
  });
}

for (const firstAnswer of ['the one with the bytes', 'the other one'] as const) {
  test(`a load balancer splits the legs of an eager flow, ${firstAnswer} answers first: one server gets the flow`, async (t) => {
    const stage = await Stage.open(t, 600_000);
    await stage.teach('repflow');
    stage.onVisit = () => {};
    const sink = new Sink(stage.connect('repflow'));
    sink.socket.write(QUESTION);
    const visits = await stage.until(2);
    const served = visits.find(({ first }) => first.length > HELLO_BYTES) as Visit;
    const other = visits.find(({ first }) => first.length === HELLO_BYTES) as Visit;
    const left = once(other.socket, 'end');
    if (firstAnswer === 'the other one') other.answer('opened', '2');
    served.answer('opened', '1');
    if (firstAnswer === 'the one with the bytes') other.answer('opened', '2');
    served.socket.write('an answer');
    await sink.until(9);
    await left;
    assert.deepEqual([served.bytes(), other.bytes(), sink.text(), sink.errors, stage.plain], [QUESTION, '', 'an answer', 0, 0]);
    sink.socket.destroy();
  });
}

test('a leg that has joined shows that its server has the hello of the other one: it carries the flow (repflow)', async (t) => {
  const stage = await Stage.open(t, 600_000);
  await stage.teach('repflow');
  stage.onVisit = () => {};
  const sink = new Sink(stage.connect('repflow'));
  sink.socket.write(QUESTION);
  const visits = await stage.until(2);
  const other = visits.find(({ first }) => first.length === HELLO_BYTES) as Visit;
  other.answer('joined');
  other.socket.write('an answer');
  await sink.until(9);
  sink.socket.destroy();
});

test('the connection that an eager RepSYN flow did not choose never says a word, also after the flow', async (t) => {
  const stage = await Stage.open(t, 600_000);
  await stage.teach('repsyn');
  const sink = new Sink(stage.connect('repsyn'));
  sink.socket.end(QUESTION);
  const [[served], connections] = await Promise.all([stage.until(1), stage.untilConnected(2)]);
  const silent = connections.find((socket) => socket !== served?.socket) ?? assert.fail('no other connection');
  const gone = silent.closed ? undefined : new Promise((resolve) => silent.on('close', resolve));
  served?.answer('opened');
  served?.socket.end('an answer');
  await Promise.all([sink.untilClose(), gone]);
  assert.deepEqual([sink.text(), sink.errors, silent.bytesRead], ['an answer', 0, 0]);
});

test('a repnet server runs an eager flow once, and its answer comes behind the banner', async (t) => {
  repnet.configure({ ...UNHURRIED, capabilityTtl: 600_000, eager: true });
  let accepted = 0;
  const server = repnet.createServer((socket) => {
    accepted += 1;
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const flows = [...MODES, ...MODES, ...MODES];
  for (const mode of flows) {
    const sink = new Sink(repnet.connect({ host: '127.0.0.1', port, repnet: { mode, assumeCapable: true } }));
    sink.socket.end(QUESTION);
    await sink.untilClose();
    assert.deepEqual([sink.text(), sink.errors], [QUESTION, 0]);
  }
  assert.equal(accepted, flows.length);
});

test('a capability is not fresh any more when its time is over, even if no timer could run', () => {
  const cache = new CapabilityCache(1);
  cache.learn('192.0.2.1', 7001, true, 'opened');
  assert.equal(cache.isFresh('192.0.2.1', 7002), false);
  for (const learnt = performance.now(); performance.now() < learnt + 2; );
  assert.equal(cache.isFresh('192.0.2.1', 7001), false);
  const longer = new CapabilityCache(600_000);
  longer.learn('192.0.2.1', 7001, true, 'opened');
  assert.equal(longer.isFresh('192.0.2.1', 7001), true);
  longer.forget('192.0.2.1', 7001);
  assert.equal(longer.isFresh('192.0.2.1', 7001), false);
});
