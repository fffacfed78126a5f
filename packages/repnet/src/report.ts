/**
 * Summary of a process's flows for users.
 * With `REPNET_REPORT=1`, the summary is written to stderr when the process exits.
 * The summary contains the reasons why flows to listed targets were not replicated.
 */
import fs = require('node:fs');

import type { PlainReason } from './events';
import type { Stats } from './stats';

/** Reasons why a flow used one plain connection, with advice. */
const PLAIN: Record<PlainReason, string> = {
  unknown: 'nothing was known of the replica port yet: the first flow asks (assumeCapable, or probe(), saves that)',
  incapable:
    'no repnet server answers on the replica port: does the server load repnet, and under register, does REPNET_LISTEN name its port?',
  doubtful: 'the replica port did not answer the last time, and was being asked',
  silent: 'the replica port did not answer within fallbackDelay',
  budget: 'the budget was used up: too many flows (budget), or too many of their connections failed (adaptive)',
  fallback: 'neither connection to the replica port could be used',
  lookup: 'the name has no address that can be dialed twice',
};

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** @param targets number of listed targets */
export function report({ flows, legs, servers }: Stats, targets: number): string {
  const plain = Object.entries(flows.plain).filter(([, number]) => number > 0) as Array<[PlainReason, number]>;
  const ranPlain = plain.reduce((sum, [, number]) => sum + number, 0);
  const lines: string[] = [];
  if (targets === 0 && flows.opened + ranPlain === 0)
    lines.push('no target is listed (REPNET_TARGETS): this process replicates nothing that it opens');
  else lines.push(`${count(flows.opened + ranPlain, 'flow')} to listed targets: ${flows.opened} raced, ${ranPlain} ran plain`);
  const [first, second] = legs.won;
  if (first + second > 0) lines.push(`of ${first + second} with both connections, the second one was ahead in ${second}`);
  if (legs.rejoined > 0) lines.push(`${count(legs.rejoined, 'time')} a connection that had been idle got a second one again`);
  for (const [reason, number] of plain) lines.push(`${number} plain, "${reason}": ${PLAIN[reason]}`);
  if (servers.paired + servers.plain > 0) {
    lines.push(
      `${count(flows.accepted, 'replicated flow')} accepted; ${servers.paired} of ${count(servers.paired + servers.plain, 'server')} had a replica port`,
    );
  }
  if (servers.paired === 0 && servers.plain > 0) lines.push('under register a server has one only if REPNET_LISTEN names its port');
  const refused = Object.entries(flows.refused).filter(([, number]) => number > 0);
  for (const [reason, number] of refused) lines.push(`${number} refused, "${reason}": their clients ran them plain`);
  if (flows.diverged > 0) lines.push(`${flows.diverged} times two connections of a flow differed`);
  return lines.map((line, index) => `${index === 0 ? 'repnet: ' : '        '}${line}\n`).join('');
}

/** Writes the report when the process exits, if `env` requests it. */
export function reportAtExit(env: NodeJS.ProcessEnv, stats: Stats, targets: () => number): void {
  if (env.REPNET_REPORT !== '1') return;
  process.once('exit', () => fs.writeSync(process.stderr.fd, report(stats, targets())));
}
