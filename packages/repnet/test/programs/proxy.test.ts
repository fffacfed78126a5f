/** Tests of the command repnet-proxy as an operator uses it: process, signals, health, metrics. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { Sink } from '../harness/arena';

const COMMAND = require.resolve('repnet/proxy').replace(/index\.js$/, 'cli.js');

class Command {
  output = '';
  readonly child: ChildProcess;
  #watchers: Array<() => void> = [];

  constructor(t: TestContext, argv: string[]) {
    this.child = spawn(process.execPath, [COMMAND, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
    const collect = (chunk: Buffer): void => {
      this.output += chunk.toString();
      for (const resume of this.#watchers.splice(0)) resume();
    };
    this.child.stdout?.on('data', collect);
    this.child.stderr?.on('data', collect);
    this.child.on('close', () => {
      for (const resume of this.#watchers.splice(0)) resume();
    });
    t.after(() => void this.child.kill('SIGKILL'));
  }

  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      if (this.child.exitCode !== null) throw new Error(`the command ended and did not say ${pattern}:\n${this.output}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  async ends(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, 'close');
    return this.child.exitCode;
  }
}

interface Chain {
  outer: Command;
  inner: Command;
  /** Port for a plain client. */
  port: number;
  admin: string;
  /** Sockets that the plain server behind both proxies has accepted. */
  served: net.Socket[];
}

async function chain(t: TestContext, drain: string): Promise<Chain> {
  const served: net.Socket[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    served.push(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of served) socket.destroy();
  });
  const to = (server.address() as net.AddressInfo).port;
  const inner = new Command(t, ['--no-admin', '--route', `name=in,listen=127.0.0.1:0,to=127.0.0.1:${to},replicate=in`]);
  const middle = (await inner.says(/in: 127\.0\.0\.1:(\d+)/))[1];
  const outer = new Command(t, [
    ...['--admin', '127.0.0.1:0', '--drain-timeout', drain],
    ...['--route', `name=out,listen=127.0.0.1:0,to=127.0.0.1:${middle},replicate=out`],
  ]);
  const port = Number((await outer.says(/out: 127\.0\.0\.1:(\d+)/))[1]);
  const admin = (await outer.says(/admin: (http:\S+)\/metrics/))[1] as string;
  return { outer, inner, port, admin, served };
}

function sample(page: string, name: string): number {
  const line = page.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  assert.ok(line !== undefined, `no sample ${name} in\n${page}`);
  return Number(line.split(' ').at(-1));
}

test('flows are counted, and health and metrics tell it', async (t) => {
  const { port, admin } = await chain(t, '0');
  const client = net.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  client.end('twelve bytes');
  await sink.untilClose();
  assert.equal(sink.text(), 'twelve bytes');
  const health = await fetch(`${admin}/healthz`);
  assert.deepEqual([health.status, await health.text()], [200, 'ok\n']);
  const response = await fetch(`${admin}/metrics`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const page = await response.text();
  assert.equal(sample(page, 'repnet_proxy_flows_total{route="out"}'), 1);
  // The page also contains counters below the first level.
  assert.equal(sample(page, 'repnet_flows_plain{kind="unknown"}'), 1);
  assert.equal(sample(page, 'repnet_legs_won{kind="1"}'), 0);
  assert.equal((await fetch(`${admin}/elsewhere`)).status, 404);
  assert.equal((await fetch(`${admin}/metrics`, { method: 'POST' })).status, 405);
});

test('a signal stops accepting at once and lets open flows finish', async (t) => {
  const { outer, port, admin } = await chain(t, '60000');
  const client = net.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  client.write('before ');
  await sink.until(7);
  outer.child.kill('SIGTERM');
  await outer.says(/SIGTERM: draining/);
  const health = await fetch(`${admin}/healthz`);
  assert.equal(health.status, 503);
  await health.text();
  const late = net.connect({ host: '127.0.0.1', port });
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
  client.end('and after');
  await sink.untilClose();
  assert.equal(sink.text(), 'before and after');
  assert.equal(await outer.ends(), 0);
});

test('flows that do not finish in time are reset, not ended', async (t) => {
  const { outer, port } = await chain(t, '0');
  const client = net.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  client.write('x');
  await sink.until(1);
  outer.child.kill('SIGINT');
  await sink.untilClose();
  assert.equal(sink.error?.code, 'ECONNRESET');
  assert.equal(sink.ended, false);
  assert.equal(await outer.ends(), 0);
});

test('a server that resets is seen as a reset by the client, through both proxies', async (t) => {
  const { port, served } = await chain(t, '0');
  const client = net.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  client.write('x');
  await sink.until(1);
  served[0]?.resetAndDestroy();
  await sink.untilClose();
  assert.equal(sink.error?.code, 'ECONNRESET');
});

test('a target that refuses is a reset for the client, and a line for the operator', async (t) => {
  const { outer, port, inner } = await chain(t, '0');
  inner.child.kill('SIGKILL');
  await inner.ends();
  const client = net.connect({ host: '127.0.0.1', port });
  const sink = new Sink(client);
  await sink.untilClose();
  assert.equal(sink.error?.code, 'ECONNRESET');
  const line = /out: flow from 127\.0\.0\.1:\d+ to 127\.0\.0\.1:\d+ failed after [\d.]+ s: (.*) \(0 bytes in, 0 bytes out\)/;
  assert.equal((await outer.says(line))[1], 'the connection to the target: ECONNREFUSED');
});

test('an address that is taken ends the command with status 1 and names the route', async (t) => {
  const blocker = net.createServer();
  blocker.listen(0, '127.0.0.1');
  await once(blocker, 'listening');
  t.after(() => void blocker.close());
  const { port } = blocker.address() as net.AddressInfo;
  const command = new Command(t, ['--no-admin', '--route', `name=r,listen=127.0.0.1:${port},to=127.0.0.1:1,replicate=out`]);
  assert.equal(await command.ends(), 1);
  assert.match(command.output, new RegExp(`route r: cannot listen on 127\\.0\\.0\\.1:${port} \\(EADDRINUSE\\)`));
});

test('a bad configuration ends the command with status 2 and names the key', async (t) => {
  const command = new Command(t, ['--route', 'name=r,listen=127.0.0.1:99999,to=127.0.0.1:1,replicate=out']);
  assert.equal(await command.ends(), 2);
  assert.match(command.output, /^repnet-proxy: command line: "routes\[0\]\.listen" is "127\.0\.0\.1:99999"; allowed: /);
});

test('--help, --version and --check print and leave', async (t) => {
  const help = new Command(t, ['--help']);
  assert.equal(await help.ends(), 0);
  assert.match(help.output, /^usage: repnet-proxy/);
  const version = new Command(t, ['--version']);
  assert.equal(await version.ends(), 0);
  assert.match(version.output, /^repnet-proxy \d+\.\d+\.\d+/);
  const check = new Command(t, ['--check', '--route', 'name=r,listen=127.0.0.1:0,to=127.0.0.1:1,replicate=out']);
  assert.equal(await check.ends(), 0);
});
