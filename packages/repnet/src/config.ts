/**
 * Configuration of the process.
 * The sources are the defaults, `repnet.config.json`, `REPNET_*` environment variables, and `configure()`.
 * A later source overrides an earlier one. Each value is checked when it is read.
 */
import fs = require('node:fs');
import path = require('node:path');

import { RepnetError } from './errors';
import { nearest } from './nearest';
import { allowed, DEFAULTS, type FlowSettings, type GlobalSettings, KEYS, parseText, readValue } from './settings';
import { parseTarget, type TargetRule } from './targets';

/** Target with settings that override the global settings. */
export type TargetOptions = { target: string } & Partial<FlowSettings>;

/** Options of `configure()`. The file `repnet.config.json` has the same form. */
export type Options = Partial<GlobalSettings> & {
  /** Targets whose flows are replicated. The first match counts. Without targets, nothing is replicated. */
  targets?: ReadonlyArray<string | TargetOptions>;
};

export interface Config extends GlobalSettings {
  readonly rules: readonly TargetRule[];
}

const FILE = 'repnet.config.json';

function refuse(place: string, key: string, found: unknown, allowedText: string): never {
  const shown = typeof found === 'function' ? 'a function' : (JSON.stringify(found) ?? String(found));
  throw new RepnetError('ERR_REPNET_CONFIG', `${place}: "${key}" is ${shown}; allowed: ${allowedText}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads the settings of one flow, from the options of a call or from a target.
 * The value `undefined` means that the setting is missing.
 */
export function readFlowSettings(place: string, found: unknown, prefix = ''): Partial<FlowSettings> {
  if (!isRecord(found)) refuse(place, prefix || 'repnet', found, 'an object with settings');
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(found)) {
    if (value === undefined) continue;
    settings[name] = readKey(place, name, value, prefix, true);
  }
  return settings as Partial<FlowSettings>;
}

function readKey(place: string, name: string, value: unknown, prefix: string, flowOnly: boolean): unknown {
  const known = Object.hasOwn(KEYS, name) ? KEYS[name as keyof GlobalSettings] : undefined;
  if (!known || (flowOnly && !known.perFlow)) {
    const names = Object.entries(KEYS).filter(([, key]) => !flowOnly || key.perFlow);
    const list = names.map(([key]) => key).join(', ');
    throw new RepnetError(
      'ERR_REPNET_CONFIG',
      `${place}: "${prefix}${name}" is not a setting here; allowed: ${list}${flowOnly ? '' : ', targets'}`,
    );
  }
  const read = readValue(known, value);
  if (!read) refuse(place, prefix + name, value, allowed(known));
  return read.value;
}

function readTargets(place: string, found: unknown): TargetRule[] {
  if (!Array.isArray(found)) refuse(place, 'targets', found, 'a list of targets');
  return found.map((entry: unknown, index) => {
    const key = `targets[${index}]`;
    const { target, ...rest } = isRecord(entry) ? entry : { target: entry };
    if (typeof target !== 'string') refuse(place, isRecord(entry) ? `${key}.target` : key, target, 'a string such as "10.0.0.0/8:6379"');
    const parsed = parseTarget(target);
    if (typeof parsed === 'string') refuse(place, key, target, parsed);
    return { ...parsed, overrides: readFlowSettings(place, rest, `${key}.`) };
  });
}

function readOptions(place: string, found: unknown): Partial<Config> {
  if (!isRecord(found)) refuse(place, '(the whole)', found, 'an object with settings');
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(found)) {
    if (value === undefined) continue;
    if (name === 'targets') config.rules = readTargets(place, value);
    else config[name] = readKey(place, name, value, '', false);
  }
  return config as Partial<Config>;
}

/** Returns the name of a key's environment variable: `maxBytes` becomes `REPNET_MAX_BYTES`. */
export const environmentName = (key: string): string => `REPNET_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

const PREFIX = 'REPNET_';
/** Variables that are no settings. */
const OTHER_VARIABLES = ['REPNET_TARGETS', 'REPNET_CONFIG', 'REPNET_REPORT'];

/** Returns a sentence for each variable that is probably a misspelling of a variable of repnet. */
export function misspelt(env: NodeJS.ProcessEnv): string[] {
  const known = [...Object.keys(KEYS).map(environmentName), ...OTHER_VARIABLES];
  const words = known.map((variable) => variable.slice(PREFIX.length));
  const found: string[] = [];
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue;
    const word = nearest(variable.slice(PREFIX.length), words);
    if (word !== undefined) found.push(`${variable} is not a variable of repnet and has no effect; did you mean ${PREFIX}${word}?`);
  }
  return found;
}

function readEnvironment(env: NodeJS.ProcessEnv): Partial<Config> {
  const config: Record<string, unknown> = {};
  for (const [name, key] of Object.entries(KEYS)) {
    const variable = environmentName(name);
    const text = env[variable];
    if (text === undefined || text === '') continue;
    const read = readValue(key, parseText(key, text));
    if (!read) refuse('environment', variable, text, allowed(key));
    config[name] = read.value;
  }
  const targets = env.REPNET_TARGETS;
  if (targets) {
    const list = targets.split(',').map((target) => target.trim());
    config.rules = readTargets(
      'environment, REPNET_TARGETS',
      list.filter((target) => target !== ''),
    );
  }
  return config as Partial<Config>;
}

function readFile(env: NodeJS.ProcessEnv, directory: string): Partial<Config> {
  const named = env.REPNET_CONFIG;
  const file = path.resolve(directory, named || FILE);
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!named && code !== undefined) return {};
    throw new RepnetError('ERR_REPNET_CONFIG', `${file} (named by REPNET_CONFIG) cannot be read: ${message}`);
  }
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new RepnetError('ERR_REPNET_CONFIG', `${file} is not JSON: ${(error as Error).message}`);
  }
  return readOptions(file, found);
}

/** Returns the defaults with the values of the file and of the environment, which override them. */
export function loadConfig(env: NodeJS.ProcessEnv, directory: string): Config {
  return { ...DEFAULTS, rules: [], ...readFile(env, directory), ...readEnvironment(env) };
}

/**
 * Returns `config` with the values of `options`, which override it.
 *
 * @throws RepnetError with `ERR_REPNET_CONFIG` if a value is not allowed. Nothing is changed then.
 */
export function withOptions(config: Config, options: Options): Config {
  return { ...config, ...readOptions('configure()', options) };
}
