/** Real servers for the tests. They must be installed on this machine, and start on a free port of loopback. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';

const ARGUMENTS = {
  'redis-server': (port: number) => ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
  // memcached refuses to run as root without -u. For other users -u is ignored.
  memcached: (port: number) => ['-p', String(port), '-l', '127.0.0.1', '-U', '0', '-u', 'nobody'],
};

export type Program = keyof typeof ARGUMENTS;

function find(program: Program): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin'];
  for (const folder of folders) {
    const file = path.join(folder, program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The program is not in this folder, so the next folder is tried.
    }
  }
  return undefined;
}

async function freePort(): Promise<number> {
  const probe = net.createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as net.AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Resolves when a connection to the port succeeds. Rejects when the child has ended. */
async function answers(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const probe = net.connect({ host: '127.0.0.1', port });
    const connected = await new Promise<boolean>((resolve) => {
      probe.on('connect', () => resolve(true));
      probe.on('error', () => resolve(false));
    });
    probe.destroy();
    if (connected) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`ended at once (${child.exitCode ?? child.signalCode})`);
}

/**
 * Starts a server for one test and returns its port.
 * If the program is not installed, the test is skipped with a message that names it. With CI=true the test then fails.
 */
export async function startServer(t: TestContext, program: Program): Promise<number | undefined> {
  const file = find(program);
  if (file === undefined) {
    const missing = `${program} is not installed on this machine`;
    if (process.env['CI'] === 'true') throw new Error(missing);
    t.skip(missing);
    return undefined;
  }
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const child = spawn(file, ARGUMENTS[program](port), { stdio: 'ignore' });
    try {
      await answers(port, child);
      t.after(async () => {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      });
      return port;
    } catch (error) {
      // Another program may have taken the port in the meantime, so the start is repeated.
      if (attempt === 5) throw new Error(`${program} does not start`, { cause: error });
    }
  }
}
