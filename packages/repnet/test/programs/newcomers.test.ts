/** Tests of the README's commands for new users, and of the messages after a user's mistake. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { packageFolder } from '../harness/package-folder';
import { UNHURRIED_ENV } from '../harness/replication';

const run = promisify(execFile);

/** Starts a script that prints its port. */
async function serve(
  t: TestContext,
  script: string,
  node: string[],
  env: Record<string, string>,
): Promise<{ port: number; report: () => Promise<string> }> {
  const child = spawn(process.execPath, [...node, '--eval', script], {
    cwd: packageFolder,
    env: { ...process.env, ...UNHURRIED_ENV, ...env },
  });
  t.after(() => void child.kill());
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const closed = new Promise<string>((resolve) => child.on('close', () => resolve(errors)));
  /** Ends the script, and returns its output on stderr. */
  const report = (): Promise<string> => {
    child.stdin.end();
    return closed;
  };
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk)));
    child.on('close', () => reject(new Error(errors)));
  });
  return { port, report };
}

const SERVER = (net: string) => `
  const net = require('${net}');
  const server = net.createServer((socket) => socket.pipe(socket));
  server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => console.log(server.address().port));
  process.stdin.resume().on('end', () => process.exit());
`;

/** Script that opens two flows. The second one starts when the probe of the first one has its answer. */
const CLIENT = (net: string, port: number) => `
  const net = require('${net}');
  const flow = () => new Promise((resolve) => {
    const socket = net.connect(${port}, '127.0.0.1');
    if (!(socket instanceof require('node:net').Socket) && '${net}' !== 'repnet') throw new Error('no net.Socket');
    socket.on('data', (chunk) => socket.end(() => resolve(String(chunk))));
    socket.write('hello');
  });
  // Only this loop waits for the answer. The loop does not keep the process alive, so a timer does.
  const waiting = setInterval(() => {}, 1_000);
  const asked = new Promise((resolve) => require('node:diagnostics_channel').subscribe('repnet:capability', resolve));
  flow().then(() => asked).then(() => clearInterval(waiting)).then(flow).then(console.log);
`;

/** Returns a free port whose next port is free, too. The port is below the kernel's ports for outgoing connections. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 31_000);
    const free = await Promise.all(
      [port, port + 1].map(async (number) => {
        const server = net.createServer();
        const listening = await new Promise<boolean>((resolve) => {
          server.on('error', () => resolve(false));
          server.listen(number, '127.0.0.1', () => resolve(true));
        });
        if (listening) await new Promise((resolve) => server.close(resolve));
        return listening;
      }),
    );
    if (free.every(Boolean)) return port;
  }
}

test('with require: one line at the server, two at the client, and the report says that a flow raced', async (t) => {
  const { port } = await serve(t, SERVER('repnet'), [], {});
  const env = { ...process.env, REPNET_REPORT: '1', ...UNHURRIED_ENV, REPNET_TARGETS: `127.0.0.1:${port}` };
  const { stdout, stderr } = await run(process.execPath, ['--eval', CLIENT('repnet', port)], { cwd: packageFolder, env });
  assert.equal(stdout, 'hello\n');
  assert.match(stderr, /^repnet: 2 flows to listed targets: 1 raced, 1 ran plain\n/);
  assert.match(stderr, /1 plain, "unknown": .*the first flow asks/);
});

test('with register on both sides and the two variables: not a line of the applications is changed', async (t) => {
  const wanted = String(await freePort());
  const register = ['--import', 'repnet/register'];
  const { port } = await serve(t, SERVER('node:net'), register, { REPNET_LISTEN: wanted, PORT: wanted });
  const env = { ...process.env, REPNET_REPORT: '1', ...UNHURRIED_ENV, REPNET_TARGETS: `127.0.0.1:${port}` };
  const { stdout, stderr } = await run(process.execPath, [...register, '--eval', CLIENT('node:net', port)], { cwd: packageFolder, env });
  assert.equal(stdout, 'hello\n');
  assert.match(stderr, /^repnet: 2 flows to listed targets: 1 raced, 1 ran plain\n/);
});

test('who forgets the port at the server is told so, at either end', async (t) => {
  const register = ['--import', 'repnet/register'];
  const { port, report } = await serve(t, SERVER('node:net'), register, {
    REPNET_REPORT: '1',
  });
  const env = { ...process.env, REPNET_REPORT: '1', ...UNHURRIED_ENV, REPNET_TARGETS: `127.0.0.1:${port}` };
  const { stderr } = await run(process.execPath, [...register, '--eval', CLIENT('node:net', port)], { cwd: packageFolder, env });
  assert.match(stderr, /2 flows to listed targets: 0 raced, 2 ran plain/);
  assert.match(stderr, /"incapable": no repnet server answers on the replica port: .*REPNET_LISTEN/);
  assert.match(await report(), /0 of 1 server had a replica port\n.*only if REPNET_LISTEN names its port/);
});

test('a misspelt variable is named, with the right one, and other variables are not', async () => {
  const env = { ...process.env, REPNET_MAXBYTES: '5', REPNET_TARGET: '127.0.0.1', REPNET_NODE_TESTS: 'x', REPNET_MODE: 'repsyn' };
  const { stderr } = await run(process.execPath, ['--eval', "require('repnet')"], { cwd: packageFolder, env });
  const sentences = [...stderr.matchAll(/RepnetWarning: (.*)/g)].map(([, sentence]) => sentence).sort();
  assert.deepEqual(sentences, [
    'REPNET_MAXBYTES is not a variable of repnet and has no effect; did you mean REPNET_MAX_BYTES?',
    'REPNET_TARGET is not a variable of repnet and has no effect; did you mean REPNET_TARGETS?',
  ]);
});

const UNLISTED: Array<[settings: string, call: string, why: RegExp]> = [
  ['{}', '', /127\.0\.0\.1, port 7, is not listed: no target is/],
  ["{ targets: ['10.0.0.0/8', 'db:7'] }", '', /is not listed: it matches none of "10\.0\.0\.0\/8", "db:7"$/m],
  ["{ targets: ['127.0.0.0/8'] }", ", host: 'localhost'", /it matches none of .*; a name matches names only/],
  ["{ targets: [{ target: '127.0.0.1', mode: 'off' }] }", '', /matches "127\.0\.0\.1", whose mode is "off"/],
  ["{ targets: ['127.0.0.1'] }", ", repnet: 'off'", /has the mode "off"/],
  ["{ targets: ['127.0.0.1'], pairing: 'port' }", '', /has pairing by port/],
  ["{ targets: ['127.0.0.1'] }", ', port: 65535', /no port after its port/],
];
for (const [settings, call, why] of UNLISTED) {
  test(`probe() with ${settings}${call} says why it asks nothing`, async () => {
    const script = `const net = require('repnet'); net.configure(${settings});
      net.probe({ host: '127.0.0.1', port: 7${call} }).then((capable) => console.log(capable));`;
    const { stdout, stderr } = await run(process.execPath, ['--eval', script], { cwd: packageFolder });
    assert.equal(stdout, 'false\n');
    assert.match(stderr, why);
  });
}

test('the report of a primary of cluster counts no replica port, because its workers have none', async () => {
  const port = String(await freePort());
  const env = { ...process.env, PORT: port, REPNET_LISTEN: port, REPNET_REPORT: '1' };
  const app = path.join('test', 'programs', 'apps', 'cluster.cjs');
  const { stderr } = await run(process.execPath, ['--import', 'repnet/register', app], { cwd: packageFolder, env });
  assert.match(stderr, /0 of 1 server had a replica port/);
  assert.doesNotMatch(stderr, /1 of 1 server had a replica port/);
});

test('publint has nothing to say about the package', async () => {
  const command = path.join(packageFolder, 'node_modules', '.bin', 'publint');
  const { stdout } = await run(process.execPath, [command, '--strict'], { cwd: packageFolder });
  assert.match(stdout, /All good!/);
});

test('arethetypeswrong has nothing to say about the package', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'repnet-pack-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: packageFolder });
  const [packed = ''] = readdirSync(folder);
  const command = path.join(packageFolder, 'node_modules', '.bin', 'attw');
  const { stdout } = await run(process.execPath, [command, '--no-definitely-typed', path.join(folder, packed)]);
  assert.match(stdout, /No problems found/);
});

test('the package has every file that its README names', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: packageFolder });
  const [{ files }] = JSON.parse(stdout) as [{ files: Array<{ path: string }> }];
  const shipped = new Set(files.map((file) => file.path));
  const readme = readFileSync(path.join(packageFolder, 'README.md'), 'utf8');
  const named = [...readme.matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:md|json))`|\]\(([^):]+)\)/g)].map((match) => match[1] ?? match[2] ?? '');
  assert.ok(named.length >= 4);
  for (const file of named) if (file !== 'repnet.config.json') assert.ok(shipped.has(file), `${file} is named, and not shipped`);
});
