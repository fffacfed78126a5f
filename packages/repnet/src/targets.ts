/** Rules of replication. Each target is compared with the rules that the user listed. */
import net = require('node:net');

import type { FlowSettings } from './settings';

/** Rule for all targets that match it. */
export interface TargetRule {
  /** Text that the user wrote. Messages contain it. */
  readonly text: string;
  matches(host: string, port: number): boolean;
  /** Settings that override the global settings. With `mode: 'off'`, the rule excludes its targets. */
  readonly overrides: Partial<FlowSettings>;
}

type HostTest = (host: string) => boolean;

const HOST_PORT = /^(?:\[(?<bracketed>[^\]]+)\]|(?<bare>[^:[\]]*|[^[\]]*:[^[\]]*:[^[\]]*?))(?::(?<ports>[^:]+))?$/;
const PORTS = /^(?<from>\d{1,5})(?:-(?<to>\d{1,5}))?$/;

/**
 * Parses `host`, `host:port`, `host:from-to`, `*.glob:port`, `10.0.0.0/8:port`, `[fd00::/8]:port` or `:port`.
 *
 * @returns a rule without overrides, or a sentence with the allowed forms
 */
export function parseTarget(text: string): Pick<TargetRule, 'text' | 'matches'> | string {
  const found = HOST_PORT.exec(text.trim());
  if (!found?.groups || text.trim() === '') return 'a host, glob or CIDR block, with an optional :port or :from-to';
  const ports = parsePorts(found.groups.ports);
  if (typeof ports === 'string') return ports;
  const host = hostTest(found.groups.bracketed ?? found.groups.bare ?? '');
  if (typeof host === 'string') return host;
  return { text, matches: (name, port) => port >= ports.from && port <= ports.to && host(name) };
}

function parsePorts(text: string | undefined): { from: number; to: number } | string {
  if (text === undefined || text === '*') return { from: 1, to: 65535 };
  const groups = PORTS.exec(text)?.groups;
  const from = Number(groups?.from);
  const to = Number(groups?.to ?? groups?.from);
  if (!groups || from < 1 || to > 65535 || from > to) return 'a port from 1 to 65535, or a range such as 7000-7010';
  return { from, to };
}

function hostTest(text: string): HostTest | string {
  const host = text.toLowerCase();
  if (host === '' || host === '*') return () => true;
  if (host.includes('/')) return cidrTest(host);
  const family = net.isIP(host);
  if (family !== 0) return cidrTest(`${host}/${family === 4 ? 32 : 128}`);
  if (host.includes('*') || host.includes('?')) return globTest(host);
  if (/[^a-z0-9._-]/.test(host)) return 'a host name, a glob with * and ?, an address, or a CIDR block';
  return (name) => name === host;
}

/** Returns a test for a block of addresses. A name never matches, because this test does not resolve names. */
function cidrTest(text: string): HostTest | string {
  const [address = '', prefix = ''] = text.split('/');
  const family = net.isIP(address);
  const bits = Number(prefix);
  const most = family === 4 ? 32 : 128;
  if (family === 0 || !/^\d+$/.test(prefix) || bits > most) return 'a CIDR block such as 10.1.0.0/16 or fd00::/8';
  const block = new net.BlockList();
  block.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  return (name) => {
    const version = net.isIP(name);
    return version !== 0 && block.check(name, version === 4 ? 'ipv4' : 'ipv6');
  };
}

const WILDCARDS: Readonly<Record<string, string>> = { '**': '.*', '*': '[^.]*', '?': '[^.]' };

/**
 * Returns a test for a glob. `*` matches any characters within one label, `**` any characters, and `?` one character.
 */
function globTest(glob: string): HostTest {
  const pattern = glob.replace(/\*\*|[*?.+^${}()|[\]\\]/g, (found) => WILDCARDS[found] ?? `\\${found}`);
  const expression = new RegExp(`^${pattern}$`);
  return (name) => expression.test(name);
}

/** Returns the first rule that matches; `undefined`: the target is not listed. */
export function findRule(rules: readonly TargetRule[], host: string, port: number): TargetRule | undefined {
  const name = host.toLowerCase();
  return rules.find((rule) => rule.matches(name, port));
}
