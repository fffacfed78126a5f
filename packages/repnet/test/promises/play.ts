/**
 * Plays all scenarios in this process, and prints what happened as JSON.
 * The first argument is the way to load `net`: `stock`, `register`, `require` or `import`.
 * Two ports and the names of scenarios follow. Without names, all scenarios run.
 */
import net from 'node:net';
import repnet from 'repnet';
import { scenarios } from './list';
import { type Net, Stage, short } from './scenario';

/** Time in milliseconds after which a scenario counts as hung. Only a scenario with a fault takes this long. */
const PATIENCE_MS = Number(process.env.PATIENCE ?? 60_000);

export interface Played {
  log: unknown;
  /** Number of flows that were raced. */
  raced: number;
}

async function load(way: string): Promise<Net> {
  if (way === 'require') return require('repnet') as Net;
  if (way === 'import') return (await import('repnet')) as unknown as Net;
  return net;
}

async function main(): Promise<void> {
  const [way = '', port, other, ...names] = process.argv.slice(2);
  const nodeNet = await load(way);
  const played: Record<string, Played> = {};
  for (const [name, { run }] of Object.entries(scenarios)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const stage = new Stage(nodeNet, Number(port), Number(other));
    const before = repnet.stats().flows.opened;
    let late: NodeJS.Timeout | undefined;
    const uncaught: unknown[] = [];
    const note = (error: unknown): void =>
      void uncaught.push(`uncaught ${short(error)} ${process.env.VERBOSE ? (error as Error).stack : ''}`);
    process.on('uncaughtException', note);
    const hung = new Promise((resolve) => {
      late = setTimeout(() => resolve('hung'), PATIENCE_MS);
    });
    const log = await Promise.race([run(stage).catch((error: Error) => `threw ${error.stack}`), hung]);
    await Promise.race([stage.clear(), hung]);
    clearTimeout(late);
    process.off('uncaughtException', note);
    played[name] = { log: uncaught.length > 0 ? { log, uncaught } : log, raced: repnet.stats().flows.opened - before };
  }
  process.stdout.write(JSON.stringify(played), () => process.exit());
}

void main();
