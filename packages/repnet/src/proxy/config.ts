/**
 * Configuration of `repnet-proxy`: a JSON file, command-line flags, or both. Flags override the file.
 * All values are checked before a socket is opened, and every error names the key.
 */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { parseArgs } from 'node:util';
import { readFlowSettings } from '../config';
import { RepnetError } from '../errors';
import { type FlowSettings, KEYS, parseText } from '../settings';

/** Side of a route that uses replicated flows. The other side is plain TCP. */
export type Side = 'in' | 'out';

/** TCP address. Only a listener may have port 0, for which the kernel chooses a port. */
export interface Endpoint {
  host: string;
  port: number;
}

export interface RouteConfig {
  /** Name of the route. It is unique, and a label of the metrics. */
  name: string;
  /** Address of the listener. With `replicate: 'in'` the route also listens on the replica port. */
  listen: Endpoint;
  /** Address of the target. With `replicate: 'out'` the route also connects to the replica port. */
  to: Endpoint;
  /** Position of the proxy. `'out'`: behind a client. `'in'`: in front of a server. */
  replicate: Side;
  /** Time in milliseconds without a received packet until the first keepalive probe; `Infinity`: no probes. */
  keepaliveIdle: number;
  /** Time in milliseconds without a byte in either direction after which a flow is reset; `Infinity`: no limit. */
  idleTimeout: number;
  /** Settings of this route. They override the settings of the process (`mode`, `pairing`, `maxBytes`...). */
  settings: Partial<FlowSettings>;
}

export interface ProxyConfig {
  routes: RouteConfig[];
  /** Address of the admin server for health and metrics; `false`: it does not run. */
  admin: Endpoint | false;
  /** Longest time in milliseconds that open flows may continue after a signal to stop. */
  drainTimeout: number;
}

const DEFAULT_ADMIN: Endpoint = { host: '127.0.0.1', port: 9464 };
const DEFAULT_DRAIN_MS = 10_000;
const HOUR_MS = 3_600_000;
const DEFAULT_KEEPALIVE_MS = 60_000;
/** Largest time that the kernel accepts for keepalive probes. */
const MOST_KEEPALIVE_MS = 32_767_000;
const MOST_TIMER_MS = 2 ** 31 - 1;
/** Keys of a route whose value is a time. */
const TIMES = new Set(['keepaliveIdle', 'idleTimeout']);
/** Keys of `tailcut proxy repnet` that Node cannot set. */
const FIXED_BY_NODE = ['keepaliveInterval', 'keepaliveProbes', 'userTimeout'];

function refuse(place: string, key: string, found: unknown, allowed: string): never {
  throw new RepnetError('ERR_REPNET_CONFIG', `${place}: "${key}" is ${JSON.stringify(found) ?? 'absent'}; allowed: ${allowed}`);
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function endpoint(place: string, key: string, value: unknown, lowestPort: number): Endpoint {
  const allowed = `"host:port" or "[ipv6]:port" with a port from ${lowestPort} to 65535`;
  const match = typeof value === 'string' ? /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value) : null;
  const port = Number(match?.[3]);
  if (match === null || port < lowestPort || port > 65_535) refuse(place, key, value, allowed);
  const [, bracketed, bare = ''] = match;
  if (bracketed !== undefined && !isIPv6(bracketed)) refuse(place, key, value, allowed);
  return { host: bracketed ?? bare, port };
}

function readTime(place: string, key: string, value: unknown, least: number, most: number): number {
  if (value === 'Infinity' || value === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) {
    refuse(place, key, value, `an integer from ${least} to ${most}, or "Infinity"`);
  }
  return Number(value);
}

function readRoute(place: string, key: string, value: unknown): RouteConfig {
  if (!isFields(value)) refuse(place, key, value, 'an object');
  const { name, listen, to, replicate, keepaliveIdle = DEFAULT_KEEPALIVE_MS, idleTimeout = 'Infinity', ...rest } = value;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    refuse(place, `${key}.name`, name, '1 to 64 characters of A-Z a-z 0-9 _ . -');
  }
  if (replicate !== 'in' && replicate !== 'out') refuse(place, `${key}.replicate`, replicate, '"in", "out"');
  for (const fixed of FIXED_BY_NODE) {
    if (fixed in rest)
      refuse(place, `${key}.${fixed}`, rest[fixed], 'absent (Node sets this value itself; "tailcut proxy repnet" has the key)');
  }
  return {
    name,
    listen: endpoint(place, `${key}.listen`, listen, 0),
    to: endpoint(place, `${key}.to`, to, 1),
    replicate,
    keepaliveIdle: readTime(place, `${key}.keepaliveIdle`, keepaliveIdle, 1_000, MOST_KEEPALIVE_MS),
    idleTimeout: readTime(place, `${key}.idleTimeout`, idleTimeout, 1, MOST_TIMER_MS),
    settings: readFlowSettings(place, rest, `${key}.`),
  };
}

/**
 * Checks a configuration from JSON.
 *
 * @throws RepnetError with `ERR_REPNET_CONFIG`, which names the key
 */
export function parseConfig(value: unknown, place = 'repnet-proxy'): ProxyConfig {
  if (!isFields(value)) refuse(place, '(the whole)', value, 'an object');
  const { routes, admin: adminGiven, drainTimeout = DEFAULT_DRAIN_MS, ...unknown } = value;
  for (const [key, found] of Object.entries(unknown)) refuse(place, key, found, 'only routes, admin and drainTimeout');
  if (!Array.isArray(routes) || routes.length === 0) refuse(place, 'routes', routes, 'a list of at least one route');
  const parsed = routes.map((item, index) => readRoute(place, `routes[${index}]`, item));
  const admin = adminGiven === false ? false : adminGiven === undefined ? DEFAULT_ADMIN : endpoint(place, 'admin', adminGiven, 0);
  if (!Number.isInteger(drainTimeout) || Number(drainTimeout) < 0 || Number(drainTimeout) > HOUR_MS) {
    refuse(place, 'drainTimeout', drainTimeout, `an integer from 0 to ${HOUR_MS}`);
  }
  refuseCollisions(place, parsed, admin);
  return { routes: parsed, admin, drainTimeout: Number(drainTimeout) };
}

/** Checks that names and listening addresses are unique, replica ports included. */
function refuseCollisions(place: string, routes: RouteConfig[], admin: Endpoint | false): void {
  const names = new Map<string, string>();
  const addresses = new Map<string, string>();
  const claim = (key: string, host: string, port: number): void => {
    if (port === 0) return;
    const address = `${host}:${port}`;
    const owner = addresses.get(address);
    if (owner !== undefined) refuse(place, key, address, `an address that ${owner} does not use`);
    addresses.set(address, key);
  };
  routes.forEach(({ name, listen, replicate, settings }, index) => {
    const key = `routes[${index}]`;
    const owner = names.get(name);
    if (owner !== undefined) refuse(place, `${key}.name`, name, `a name that ${owner} does not have`);
    names.set(name, key);
    claim(`${key}.listen`, listen.host, listen.port);
    if (replicate === 'in' && listen.port !== 0) {
      claim(`${key}.listen (its replica port)`, listen.host, settings.replicaPort ?? listen.port + 1);
    }
  });
  if (admin !== false) claim('admin', admin.host, admin.port);
}

function readJson(file: string): Fields {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    refuse('command line', '--config', file, `a readable file (${(error as Error).message})`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    refuse('command line', '--config', file, `a JSON file (${(error as Error).message})`);
  }
  if (!isFields(value)) refuse(file, '(the whole)', value, 'an object');
  return value;
}

/** Returns the route of a flag `name=redis,listen=127.0.0.1:6379,...`, in the form of the JSON file. */
function routeFromFlag(key: string, text: string): Fields {
  const found: Fields = {};
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    if (at < 1) refuse('command line', key, part, 'name=value');
    const name = part.slice(0, at);
    const value = part.slice(at + 1);
    const setting = Object.hasOwn(KEYS, name) ? KEYS[name as keyof typeof KEYS] : undefined;
    const isTime = TIMES.has(name) && /^\d+$/.test(value);
    found[name] = setting?.perFlow ? parseText(setting, value) : isTime ? Number(value) : value;
  }
  return found;
}

export interface Invocation {
  /** Action of the command: run, check the configuration, or print a text. */
  action: 'run' | 'check' | 'help' | 'version';
  /** Configuration of the proxy, for `run` and `check` only. */
  config?: ProxyConfig;
}

export const HELP = `usage: repnet-proxy --config FILE | --route ROUTE [--route ROUTE]... [options]

Puts RepNet in front of a TCP server, or behind a TCP client.

  --config FILE        a JSON file: {"routes": [{...}], "admin": "host:port", "drainTimeout": ms}
  --route ROUTE        a route as name=value pairs with commas between; may be given again
                         name=NAME            label in the metrics
                         listen=HOST:PORT     where to accept connections
                         to=HOST:PORT         where to connect to
                         replicate=in|out     out: behind a client; in: in front of a server
                         keepaliveIdle=MS     time until the first keepalive probe, default ${DEFAULT_KEEPALIVE_MS}
                         idleTimeout=MS       time without a byte until a flow is reset, default Infinity
                       and any setting of a flow, such as
                         mode=repflow|repsyn  pairing=hello|port  maxBytes=N|Infinity
  --admin HOST:PORT    health and metrics, default ${DEFAULT_ADMIN.host}:${DEFAULT_ADMIN.port}
  --no-admin           no health and metrics
  --drain-timeout MS   how long open flows may go on at shutdown, default ${DEFAULT_DRAIN_MS}
  --check              check the configuration and leave
  --version, --help

A route with replicate=in listens on its port and on the next one; a route with replicate=out
connects to its target's port and to the next one, and to no other.
`;

function readFlags(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        config: { type: 'string' },
        route: { type: 'string', multiple: true },
        admin: { type: 'string' },
        'no-admin': { type: 'boolean' },
        'drain-timeout': { type: 'string' },
        check: { type: 'boolean' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new RepnetError('ERR_REPNET_CONFIG', `command line: ${(error as Error).message}`);
  }
}

/**
 * Reads the command line.
 *
 * @throws RepnetError with `ERR_REPNET_CONFIG`
 */
export function parseCommandLine(argv: string[]): Invocation {
  const flags = readFlags(argv);
  if (flags.help === true) return { action: 'help' };
  if (flags.version === true) return { action: 'version' };
  const given: Fields = flags.config === undefined ? {} : readJson(flags.config);
  if (flags.route !== undefined) {
    const before = given.routes ?? [];
    if (!Array.isArray(before)) refuse(flags.config ?? 'command line', 'routes', before, 'a list of at least one route');
    given.routes = [...before, ...flags.route.map((text, index) => routeFromFlag(`--route (number ${index + 1})`, text))];
  }
  if (flags.admin !== undefined) given.admin = flags.admin;
  if (flags['no-admin'] === true) given.admin = false;
  const drain = flags['drain-timeout'];
  if (drain !== undefined) given.drainTimeout = /^\d+$/.test(drain) ? Number(drain) : drain;
  return { action: flags.check === true ? 'check' : 'run', config: parseConfig(given, flags.config ?? 'command line') };
}
