/**
 * The configuration of `repnet-proxy`: a JSON file, command-line flags, or both (flags win).
 * Everything is checked before a socket is opened, and every error names the key.
 */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { parseArgs } from 'node:util';

/** Which side of a route carries replicated flows; the other one is plain TCP. */
export type Side = 'in' | 'out';

/** A TCP address. Port 0 lets the kernel choose, for listening only. */
export interface Endpoint {
  host: string;
  port: number;
}

export interface RouteConfig {
  /** Unique; a label in the metrics. */
  name: string;
  /** Where the proxy accepts connections; with `replicate: 'in'` also the next port. */
  listen: Endpoint;
  /** Where the proxy connects to; with `replicate: 'out'` also the next port. */
  to: Endpoint;
  /** `'out'`: behind a client. `'in'`: in front of a server. */
  replicate: Side;
  mode: 'repflow' | 'repsyn';
  pairing: 'hello' | 'port';
  /** Bytes after which a flow settles on one connection. */
  maxBytes: number;
}

export interface ProxyConfig {
  routes: RouteConfig[];
  /** Where health and metrics are served; `false`: nowhere. */
  admin: Endpoint | false;
  /** How long open flows may go on after a signal to stop, in milliseconds. */
  drainTimeout: number;
}

export const DEFAULTS = {
  mode: 'repflow',
  pairing: 'hello',
  maxBytes: 100 * 1024,
  admin: { host: '127.0.0.1', port: 9464 },
  drainTimeout: 10_000,
} as const;

/** A fault in the configuration: which key, what was found, what is allowed. */
export class ProxyConfigError extends Error {
  readonly code = 'ERR_REPNET_PROXY_CONFIG';

  constructor(
    readonly key: string,
    found: unknown,
    allowed: string,
  ) {
    super(`${key}: found ${found === undefined ? 'nothing' : JSON.stringify(found)}; must be ${allowed}`);
    this.name = 'ProxyConfigError';
  }
}

type Fields = Record<string, unknown>;

function fields(key: string, value: unknown, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProxyConfigError(key, value, 'an object');
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) {
      throw new ProxyConfigError(key === '' ? name : `${key}.${name}`, (value as Fields)[name], `absent; known here: ${known.join(', ')}`);
    }
  }
  return value as Fields;
}

function endpoint(key: string, value: unknown, lowestPort: number, highestPort: number): Endpoint {
  const allowed = `"host:port" or "[ipv6]:port" with a port from ${lowestPort} to ${highestPort}`;
  if (typeof value !== 'string') throw new ProxyConfigError(key, value, allowed);
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port < lowestPort || port > highestPort) throw new ProxyConfigError(key, value, allowed);
  const [, bracketed, bare] = match;
  if (bracketed !== undefined && !isIPv6(bracketed)) throw new ProxyConfigError(key, value, allowed);
  return { host: bracketed ?? (bare as string), port };
}

function oneOf<T extends string>(key: string, value: unknown, allowed: readonly T[]): T {
  if (!allowed.includes(value as T)) {
    throw new ProxyConfigError(key, value, allowed.map((item) => JSON.stringify(item)).join(' or '));
  }
  return value as T;
}

function integer(key: string, value: unknown, lowest: number, highest: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < lowest || value > highest) {
    throw new ProxyConfigError(key, value, `an integer from ${lowest} to ${highest}`);
  }
  return value;
}

const ROUTE_KEYS = ['name', 'listen', 'to', 'replicate', 'mode', 'pairing', 'maxBytes'] as const;
const PROXY_KEYS = ['routes', 'admin', 'drainTimeout'] as const;
const HOUR_MS = 3_600_000;

function route(key: string, value: unknown): RouteConfig {
  const given = fields(key, value, ROUTE_KEYS);
  const { name } = given;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new ProxyConfigError(`${key}.name`, name, '1 to 64 characters of A-Z a-z 0-9 _ . -');
  }
  const replicate = oneOf(`${key}.replicate`, given['replicate'], ['in', 'out'] as const);
  // The replicated side needs the next port too.
  const listen = endpoint(`${key}.listen`, given['listen'], 0, replicate === 'in' ? 65_534 : 65_535);
  const to = endpoint(`${key}.to`, given['to'], 1, replicate === 'out' ? 65_534 : 65_535);
  return {
    name,
    listen,
    to,
    replicate,
    mode: oneOf(`${key}.mode`, given['mode'] ?? DEFAULTS.mode, ['repflow', 'repsyn'] as const),
    pairing: oneOf(`${key}.pairing`, given['pairing'] ?? DEFAULTS.pairing, ['hello', 'port'] as const),
    maxBytes: integer(`${key}.maxBytes`, given['maxBytes'] ?? DEFAULTS.maxBytes, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** Checks a configuration as it comes from JSON. Throws `ProxyConfigError`. */
export function parseConfig(value: unknown): ProxyConfig {
  const given = fields('', value, PROXY_KEYS);
  const { routes } = given;
  if (!Array.isArray(routes) || routes.length === 0) {
    throw new ProxyConfigError('routes', routes, 'a list of at least one route');
  }
  const parsed = routes.map((item, index) => route(`routes[${index}]`, item));
  const names = new Map<string, number>();
  const taken = new Map<string, string>();
  const claim = (key: string, host: string, port: number): void => {
    if (port === 0) return;
    const address = `${host}:${port}`;
    const owner = taken.get(address);
    if (owner !== undefined) throw new ProxyConfigError(key, address, `an address that ${owner} does not use`);
    taken.set(address, key);
  };
  parsed.forEach((item, index) => {
    const first = names.get(item.name);
    if (first !== undefined) throw new ProxyConfigError(`routes[${index}].name`, item.name, `unique; routes[${first}] has it`);
    names.set(item.name, index);
    claim(`routes[${index}].listen`, item.listen.host, item.listen.port);
    if (item.replicate === 'in' && item.listen.port !== 0) {
      claim(`routes[${index}].listen (its next port)`, item.listen.host, item.listen.port + 1);
    }
  });
  const adminGiven = given['admin'];
  const admin =
    adminGiven === undefined ? { ...DEFAULTS.admin } : adminGiven === false ? false : endpoint('admin', adminGiven, 0, 65_535);
  if (admin !== false) claim('admin', admin.host, admin.port);
  return {
    routes: parsed,
    admin,
    drainTimeout: integer('drainTimeout', given['drainTimeout'] ?? DEFAULTS.drainTimeout, 0, HOUR_MS),
  };
}

function readJson(file: string): Fields {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ProxyConfigError('--config', file, `a readable file (${(error as Error).message})`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProxyConfigError('--config', file, `a JSON file (${(error as Error).message})`);
  }
  return fields('', value, PROXY_KEYS);
}

/** `name=redis,listen=127.0.0.1:6379,...` as one route in JSON's shape. */
function routeFromFlag(key: string, text: string): Fields {
  const found: Fields = {};
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    if (at < 1) throw new ProxyConfigError(key, part, `name=value; known names: ${ROUTE_KEYS.join(', ')}`);
    const name = part.slice(0, at);
    const value = part.slice(at + 1);
    found[name] = name === 'maxBytes' && /^\d+$/.test(value) ? Number(value) : value;
  }
  return found;
}

export interface Invocation {
  /** What to do: run, only check, or print and leave. */
  action: 'run' | 'check' | 'help' | 'version';
  config?: ProxyConfig;
}

export const HELP = `usage: repnet-proxy --config FILE | --route ROUTE [--route ROUTE]... [options]

Puts RepNet in front of a TCP server, or behind a TCP client.

  --config FILE        a JSON file: {"routes": [...], "admin": "host:port", "drainTimeout": ms}
  --route ROUTE        a route as name=value pairs with commas between; may be given again
                         name=NAME            label in the metrics
                         listen=HOST:PORT     where to accept connections
                         to=HOST:PORT         where to connect to
                         replicate=in|out     out: behind a client; in: in front of a server
                         mode=repflow|repsyn  default ${DEFAULTS.mode}
                         pairing=hello|port   default ${DEFAULTS.pairing}
                         maxBytes=N           default ${DEFAULTS.maxBytes}
  --admin HOST:PORT    health and metrics, default ${DEFAULTS.admin.host}:${DEFAULTS.admin.port}
  --no-admin           no health and metrics
  --drain-timeout MS   how long open flows may go on at shutdown, default ${DEFAULTS.drainTimeout}
  --check              check the configuration and leave
  --version, --help

A route with replicate=in listens on its port and on the next one; a route with replicate=out
connects to its target's port and to the next one, and to no other.
`;

/** Reads the command line. Throws `ProxyConfigError`. */
export function parseCommandLine(argv: string[]): Invocation {
  let values;
  try {
    ({ values } = parseArgs({
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
    }));
  } catch (error) {
    throw new ProxyConfigError('command line', argv.join(' '), `as --help says (${(error as Error).message})`);
  }
  if (values.help === true) return { action: 'help' };
  if (values.version === true) return { action: 'version' };
  const given: Fields = values.config === undefined ? {} : readJson(values.config);
  if (values.route !== undefined) {
    const before = given['routes'] ?? [];
    if (!Array.isArray(before)) throw new ProxyConfigError('routes', before, 'a list of at least one route');
    given['routes'] = [...before, ...values.route.map((text, index) => routeFromFlag(`--route (number ${index + 1})`, text))];
  }
  if (values.admin !== undefined) given['admin'] = values.admin;
  if (values['no-admin'] === true) given['admin'] = false;
  const drain = values['drain-timeout'];
  if (drain !== undefined) given['drainTimeout'] = /^\d+$/.test(drain) ? Number(drain) : drain;
  return { action: values.check === true ? 'check' : 'run', config: parseConfig(given) };
}
