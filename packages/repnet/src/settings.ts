/** Settings with their defaults, units and ranges. A test compares the README's table with `KEYS`. */
import type { Mode } from './state-machine';

export type Pairing = 'hello' | 'port';

/** Settings of one flow. */
export interface FlowSettings {
  /** Mode: the part of a flow that is replicated. `off`: every flow is one plain connection. */
  mode: Mode | 'off';
  pairing: Pairing;
  /** Port of the second listener; `undefined`: the port after the service's port. */
  replicaPort: number | undefined;
  /** Number of sent and received bytes after which a flow uses only one connection. */
  maxBytes: number;
  /** Largest number of bytes that are kept for a connection that has not arrived. */
  archiveCap: number;
  /** Largest number of bytes that wait in user space for a slow connection. */
  lagCap: number;
  /** Longest time in milliseconds until a connection is established. */
  legDeadline: number;
  /** Longest time in milliseconds that a finished flow waits for its slower connection. */
  confirmTimeout: number;
  /** Whether to open both connections to a target that has not been probed yet. */
  assumeCapable: boolean;
  /** Time in milliseconds without an answer from the replica port after which a flow uses the service's port. */
  fallbackDelay: number;
  /**
   * Time in milliseconds after which a flow without moving bytes is idle.
   * The next message of an idle flow is replicated again.
   */
  idleTime: number;
  /** Whether a target whose connections often fail gets fewer second connections. */
  adaptive: boolean;
  /** Addresses from which a server accepts a flow's second connection: the address of the first one, or any address. */
  secondLegFrom: 'same-address' | 'anywhere';
  /** Whether to send the first bytes together with the hello, if the target has answered with a banner recently. */
  eager: boolean;
}

/** Settings of the process. */
export interface GlobalSettings extends FlowSettings {
  /** Ports that get a replica port when a server listens on them: all, none, or the ports of the list. */
  listen: 'all' | 'none' | readonly number[];
  /** Longest time in milliseconds that a server waits for the second connection of a flow. */
  waitingListTimeout: number;
  /** Longest time in milliseconds until a server has received a complete hello. */
  helloTimeout: number;
  /** Time in milliseconds for which a server remembers an ended flow. */
  tombstoneTime: number;
  /**
   * Largest number of flows that a server remembers: ended flows, and open flows with one connection.
   * Further flows are plain.
   */
  tombstoneLimit: number;
  /** Largest number of connections with an incomplete hello. */
  pendingHellos: number;
  /**
   * Time in milliseconds after which a target without repnet is probed again.
   * A capable target may get eager flows for this time after its last banner.
   */
  capabilityTtl: number;
  /** Largest share of listed flows with a second connection, 0 to 1. */
  budget: number;
  /** Number of open RepFlow flows at which new flows use RepSYN. */
  incastLimit: number;
}

interface NumberKey {
  readonly kind: 'number';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
  /** Whether the value may be "no limit". */
  readonly infinity: boolean;
  readonly unit: string;
  readonly perFlow: boolean;
}
interface ChoiceKey {
  readonly kind: 'choice';
  readonly default: string;
  readonly choices: readonly string[];
  readonly unit: string;
  readonly perFlow: boolean;
}
interface BooleanKey {
  readonly kind: 'boolean';
  readonly default: boolean;
  readonly unit: string;
  readonly perFlow: boolean;
}
interface PortKey {
  readonly kind: 'port';
  readonly default: undefined;
  readonly unit: string;
  readonly perFlow: boolean;
}
interface ListenKey {
  readonly kind: 'listen';
  readonly default: 'all';
  readonly unit: string;
  readonly perFlow: boolean;
}
export type Key = NumberKey | ChoiceKey | BooleanKey | PortKey | ListenKey;

const MAX_TIMER = 2 ** 31 - 1;

function number(unit: string, value: number, min: number, max: number, flags: Partial<NumberKey> = {}): NumberKey {
  return { kind: 'number', default: value, min, max, unit, integer: true, infinity: false, perFlow: false, ...flags };
}
const perFlow = { perFlow: true };

export const KEYS: Readonly<Record<keyof GlobalSettings, Key>> = {
  mode: { kind: 'choice', default: 'repflow', choices: ['repflow', 'repsyn', 'off'], unit: '', perFlow: true },
  pairing: { kind: 'choice', default: 'hello', choices: ['hello', 'port'], unit: '', perFlow: true },
  replicaPort: { kind: 'port', default: undefined, unit: 'port', perFlow: true },
  maxBytes: number('bytes', 100_000, 0, Number.MAX_SAFE_INTEGER, { infinity: true, ...perFlow }),
  archiveCap: number('bytes', 100_000, 0, 2 ** 30, perFlow),
  lagCap: number('bytes', 8 * 2 ** 20, 65_536, 2 ** 30, perFlow),
  legDeadline: number('ms', 3_000, 1, MAX_TIMER, perFlow),
  confirmTimeout: number('ms', 250, 1, 60_000, perFlow),
  assumeCapable: { kind: 'boolean', default: false, unit: '', perFlow: true },
  fallbackDelay: number('ms', 500, 1, MAX_TIMER, { infinity: true, ...perFlow }),
  idleTime: number('ms', 5, 1, MAX_TIMER, { infinity: true, ...perFlow }),
  adaptive: { kind: 'boolean', default: true, unit: '', perFlow: true },
  secondLegFrom: { kind: 'choice', default: 'same-address', choices: ['same-address', 'anywhere'], unit: '', perFlow: true },
  eager: { kind: 'boolean', default: false, unit: '', perFlow: true },
  listen: { kind: 'listen', default: 'all', unit: '', perFlow: false },
  waitingListTimeout: number('ms', 1_000, 1, MAX_TIMER),
  helloTimeout: number('ms', 1_000, 1, MAX_TIMER),
  tombstoneTime: number('ms', 30_000, 1, MAX_TIMER),
  tombstoneLimit: number('flows', 65_536, 1, 2 ** 24),
  pendingHellos: number('connections', 4_096, 1, 2 ** 20),
  capabilityTtl: number('ms', 60_000, 1, MAX_TIMER),
  budget: number('share', 1, 0, 1, { integer: false }),
  incastLimit: number('flows', 256, 0, Number.MAX_SAFE_INTEGER, { infinity: true }),
};

export const DEFAULTS = Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, key.default])) as unknown as GlobalSettings;

/** Returns the allowed values of a key, for messages. */
export function allowed(key: Key): string {
  switch (key.kind) {
    case 'number': {
      const what = key.integer ? 'an integer' : 'a number';
      return `${what} from ${key.min} to ${key.max}${key.infinity ? ', or "Infinity"' : ''}`;
    }
    case 'choice':
      return key.choices.map((choice) => `"${choice}"`).join(', ');
    case 'boolean':
      return 'true or false';
    case 'port':
      return 'a port from 1 to 65535';
    case 'listen':
      return '"all", "none", or a list of ports from 1 to 65535';
  }
}

const isPort = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65535;

/** Reads one value. @returns `{ value }`, or `undefined` if it is not allowed */
export function readValue(key: Key, found: unknown): { value: unknown } | undefined {
  switch (key.kind) {
    case 'number': {
      const value = found === 'Infinity' ? Number.POSITIVE_INFINITY : found;
      if (value === Number.POSITIVE_INFINITY) return key.infinity ? { value } : undefined;
      if (typeof value !== 'number' || !(value >= key.min && value <= key.max)) return undefined;
      return key.integer && !Number.isInteger(value) ? undefined : { value };
    }
    case 'choice':
      return typeof found === 'string' && key.choices.includes(found) ? { value: found } : undefined;
    case 'boolean':
      return typeof found === 'boolean' ? { value: found } : undefined;
    case 'port':
      return isPort(found) ? { value: found } : undefined;
    case 'listen':
      if (found === 'all' || found === 'none') return { value: found };
      return Array.isArray(found) && found.every(isPort) ? { value: [...found] } : undefined;
  }
}

/** Converts the text of an environment variable to the type that `readValue` accepts. */
export function parseText(key: Key, text: string): unknown {
  switch (key.kind) {
    case 'number':
    case 'port':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
    case 'boolean':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
    case 'listen':
      return text === 'all' || text === 'none' ? text : text.split(',').map(Number);
    case 'choice':
      return text;
  }
}
