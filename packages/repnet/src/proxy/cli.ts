#!/usr/bin/env node
/** Command `repnet-proxy`. Exit status: 0 after a clean stop, 1 if it cannot listen, 2 for a wrong configuration. */
import '../node-only';

import { RepnetError } from '../errors';
import { HELP, type Invocation, parseCommandLine } from './config';
import { Proxy } from './index';

async function run(invocation: Invocation): Promise<void> {
  if (invocation.action === 'help') {
    process.stdout.write(HELP);
    return;
  }
  if (invocation.action === 'version') {
    const { version } = require('repnet/package.json') as { version: string };
    process.stdout.write(`repnet-proxy ${version}\n`);
    return;
  }
  const config = invocation.config;
  if (config === undefined) return;
  if (invocation.action === 'check') {
    process.stdout.write(`repnet-proxy: configuration is valid: ${config.routes.length} route(s)\n`);
    return;
  }
  const proxy = new Proxy(config, (line) => void process.stderr.write(`repnet-proxy: ${line}\n`));
  await proxy.start();
  for (const { name, to, replicate } of config.routes) {
    const at = proxy.address(name);
    process.stdout.write(`repnet-proxy: ${name}: ${at?.address}:${at?.port} -> ${to.host}:${to.port} (replicate=${replicate})\n`);
  }
  const admin = proxy.adminAddress();
  if (admin !== undefined) process.stdout.write(`repnet-proxy: admin: http://${admin.address}:${admin.port}/metrics\n`);
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) {
      // A second signal ends the process immediately.
      process.exit(1);
    }
    stopping = true;
    process.stdout.write(`repnet-proxy: ${signal}: draining\n`);
    void proxy.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function fail(error: unknown, status: number): void {
  process.stderr.write(`repnet-proxy: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = status;
}

try {
  run(parseCommandLine(process.argv.slice(2))).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, error instanceof RepnetError ? 2 : 1);
}
