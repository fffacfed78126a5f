/**
 * Tests of real clients with kept-alive connections, over a path that delays and drops connections.
 * Every message is replicated, not only the first ones.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import pg from 'pg';
import repnet from 'repnet';
import { Proxy, parseConfig } from 'repnet/proxy';
import { Pool } from 'undici';
import { ChaosPath } from '../harness/chaos';
import { Rejoined } from '../harness/rejoined';
import { UNHURRIED } from '../harness/replication';
import { startServer } from './servers';

/** Connection of a real client. */
interface Client {
  /** Requests an answer with this number of characters. */
  ask(length: number): Promise<string>;
  close(): Promise<unknown>;
}

const LONG = 300_000;

/**
 * Opens a path to a repnet server at `port`.
 * The path's newest connection arrives late, and its other connections can be stopped.
 */
async function pathTo(t: TestContext, port: number): Promise<ChaosPath> {
  const path = await ChaosPath.open({
    to: { host: '127.0.0.1', port },
    // The connection reaches the server some turns of the event loop later.
    admit: (leg) => {
      setImmediate(() => setImmediate(() => void leg.admit().catch(() => {})));
      return 'hold';
    },
  });
  t.after(() => path.close());
  repnet.configure({ ...UNHURRIED, idleTime: 20, targets: [{ target: `${path.host}:${path.port}`, assumeCapable: true }] });
  t.after(() => repnet.configure({ ...UNHURRIED, targets: [] }));
  return path;
}

/**
 * Checks that a client survives a lost path. After a long answer, the flow uses one connection.
 * When the flow has been idle, the path drops that connection.
 */
async function outlivesItsPath(t: TestContext, path: ChaosPath, client: Client): Promise<void> {
  const rejoined = new Rejoined(t);
  for (const round of [1, 2, 3]) {
    assert.equal((await client.ask(LONG + round)).length, LONG + round);
    await rejoined.now();
    for (const leg of path.legs.slice(0, -1)) {
      leg.up.stall();
      leg.down.stall();
    }
    assert.equal(await client.ask(round), 'x'.repeat(round), 'over the new one');
  }
  await client.close();
}

async function listen(t: TestContext, onConnection: (socket: net.Socket) => void): Promise<number> {
  const server = repnet.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

test("undici's pool is replicated request by request", async (t) => {
  const web = http.createServer((request, response) => void response.end('x'.repeat(Number(request.url?.slice(1)))));
  const path = await pathTo(t, await listen(t, (socket) => web.emit('connection', socket)));
  const pool = new Pool(`http://${path.host}:${path.port}`, {
    connections: 1,
    connect: (_options, done) => {
      const socket = repnet.connect(path.port, path.host);
      socket.once('connect', () => done(null, socket as never));
      socket.once('error', (error) => done(error, null));
    },
  });
  await outlivesItsPath(t, path, {
    ask: async (length) => (await pool.request({ path: `/${length}`, method: 'GET' })).body.text(),
    close: () => pool.destroy(),
  });
});

test("ioredis' connection to a real Redis is replicated command by command", async (t) => {
  const port = await startServer(t, 'redis-server');
  if (port === undefined) return;
  const routes = [{ name: 'in', listen: '127.0.0.1:0', to: `127.0.0.1:${port}`, replicate: 'in' }];
  const proxy = new Proxy(parseConfig({ admin: false, routes, drainTimeout: 0 }));
  await proxy.start();
  t.after(() => proxy.stop());
  const path = await pathTo(t, (proxy.address('in') as net.AddressInfo).port);
  class Connector {
    connect(): Promise<net.Socket> {
      const socket = repnet.connect(path.port, path.host);
      return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
    }
    check = (): boolean => true;
    disconnect(): void {}
  }
  const redis = new Redis({ Connector: Connector as never });
  await outlivesItsPath(t, path, {
    ask: async (length) => {
      await redis.setrange('key', 0, 'x'.repeat(length));
      return redis.getrange('key', 0, length - 1);
    },
    close: async () => redis.disconnect(),
  });
});

/**
 * Answers queries like a PostgreSQL server (protocol version 3). The answer to `SELECT n` is a text of n characters.
 */
function speakPostgres(socket: net.Socket): void {
  const message = (type: string, ...parts: Array<Buffer | number>): Buffer => {
    const body = Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part >> 8, part & 255]) : part)));
    const head = Buffer.alloc(5, type);
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const length = (bytes: number): Buffer => {
    const field = Buffer.alloc(4);
    field.writeUInt32BE(bytes);
    return field;
  };
  const ready = message('Z', Buffer.from('I'));
  let heard = Buffer.alloc(0);
  let started = false;
  socket.on('data', (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
    for (;;) {
      const head = started ? 1 : 0;
      if (heard.length < head + 4 || heard.length < head + heard.readUInt32BE(head)) return;
      const end = head + heard.readUInt32BE(head);
      const type = started ? heard.toString('latin1', 0, 1) : '';
      const text = heard.toString('latin1', head + 4, end - 1);
      heard = heard.subarray(end);
      if (!started) socket.write(Buffer.concat([message('R', length(0)), ready]));
      else if (type === 'X') socket.end();
      else if (type === 'Q') {
        const value = Buffer.from('x'.repeat(Number(text.split(' ')[1])));
        const column = [Buffer.from('text\0'), length(0), 0, length(25), 0xffff, length(0xffffffff), 0];
        socket.write(
          Buffer.concat([
            message('T', 1, ...column),
            message('D', 1, length(value.length), value),
            message('C', Buffer.from('SELECT 1\0')),
            ready,
          ]),
        );
      }
      started = true;
    }
  });
}

test("pg's connection is replicated query by query", async (t) => {
  const path = await pathTo(t, await listen(t, speakPostgres));
  const client = new pg.Client({ host: path.host, port: path.port, user: 'u', database: 'd', stream: () => new repnet.Socket() as never });
  await client.connect();
  await outlivesItsPath(t, path, {
    ask: async (length) => ((await client.query<{ text: string }>(`SELECT ${length}`)).rows[0] as { text: string }).text,
    close: () => client.end(),
  });
});
