/** Tests of the examples in a small size, as their README files describe them. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { packageFolder } from '../harness/package-folder';
import { UNHURRIED_ENV } from '../harness/replication';
import { startServer } from './servers';

const examples = path.join(packageFolder, 'examples');

async function run(
  script: string,
  argv: string[],
  env: Record<string, string> = {},
  node: string[] = [],
): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [...node, path.join(examples, script), ...argv], {
    cwd: path.dirname(path.join(examples, script)),
    env: { ...process.env, ...env },
  });
}

for (const transport of ['net', 'repflow', 'repsyn']) {
  test(`bucket sort sorts over ${transport}`, async () => {
    const argv = ['--numbers', '2000', '--slaves', '2', '--jobs', '2'];
    const { stdout, stderr } = await run('bucket-sort/run.js', argv, { TRANSPORT: transport, ...UNHURRIED_ENV });
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^${transport}: 2 jobs, 2\\d\\d short flows, all sorted; median [\\d.]+ ms, p99 [\\d.]+ ms\\n$`));
  });
}

async function startHttp(t: TestContext): Promise<number> {
  const child: ChildProcess = spawn(process.execPath, [path.join(examples, 'http/server.js')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill());
  for await (const chunk of child.stdout ?? []) {
    const match = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(String(chunk));
    if (match !== null) return Number(match[1]);
  }
  throw new Error('the HTTP example ended before it said where it listens');
}

test('the HTTP example answers a replicated, a plain and an unmodified client', async (t) => {
  const port = await startHttp(t);
  const url = `http://127.0.0.1:${port}/page`;
  for (const mode of ['repflow', 'repsyn']) {
    const { stdout, stderr } = await run('http/client.js', [url], { MODE: mode });
    assert.equal(stdout, 'hello from /page\n');
    assert.equal(JSON.parse(stderr).opened, 2);
  }
  assert.equal(await (await fetch(url)).text(), 'hello from /page\n');
  const preloaded = await run('http/unmodified.js', [url], { REPNET_TARGETS: `127.0.0.1:${port}` }, ['--import', 'repnet/register']);
  assert.equal(preloaded.stdout, 'hello from /page\n');
});

test('the Redis example talks to a real Redis', async (t) => {
  const port = await startServer(t, 'redis-server');
  if (port === undefined) return;
  const { stdout } = await run('redis/client.js', [`127.0.0.1:${port}`], { REQUESTS: '50', REPNET_ASSUME_CAPABLE: 'true' });
  assert.match(stdout, /^50 requests; median [\d.]+ ms/);
  assert.equal(JSON.parse(stdout.split('\n')[1] as string).flows.opened, 1);
});
