/** State of the process that ESM and CommonJS share: configuration, budgets, and capabilities of targets. */
import net = require('node:net');

import { Budgets } from './budget';
import { CapabilityCache } from './capability';
import { type Config, loadConfig, misspelt, type Options, readFlowSettings, withOptions } from './config';
import { reportAtExit } from './report';
import { type FlowSettings, KEYS } from './settings';
import { counters } from './stats';
import { findRule, type TargetRule } from './targets';

const PER_FLOW = Object.entries(KEYS)
  .filter(([, key]) => key.perFlow)
  .map(([name]) => name) as Array<keyof FlowSettings>;

function flowDefaults(config: Config): FlowSettings {
  return Object.fromEntries(PER_FLOW.map((name) => [name, config[name]])) as unknown as FlowSettings;
}

/** Value of the `repnet` option of a call: a mode, or settings. */
export type CallSettings = FlowSettings['mode'] | Partial<FlowSettings>;

/** Largest number of targets whose rule is remembered. */
const MOST_TARGETS = 4_096;

class Runtime {
  config: Config = loadConfig(process.env, process.cwd());
  readonly budgets = new Budgets();
  capabilities = new CapabilityCache(this.config.capabilityTtl);
  #defaults = flowDefaults(this.config);
  #byRule = new Map<TargetRule, FlowSettings>();
  #ruleByTarget = new Map<string, TargetRule | undefined>();

  configure(options: Options): void {
    const before = this.config;
    this.config = withOptions(before, options);
    this.#defaults = flowDefaults(this.config);
    this.#byRule = new Map();
    this.#ruleByTarget = new Map();
    if (this.config.capabilityTtl !== before.capabilityTtl) this.capabilities = new CapabilityCache(this.config.capabilityTtl);
  }

  /** Returns whether any target is listed. */
  get lists(): boolean {
    return this.config.rules.length > 0;
  }

  /** Returns the settings of a flow to a target; `undefined`: the target is not listed, or its mode is `off`. */
  settingsFor(host: string, port: number, call: CallSettings | undefined): FlowSettings | undefined {
    const rule = this.#ruleFor(host, port);
    if (rule === undefined && call === undefined) return undefined;
    const listed = rule === undefined ? this.#defaults : this.#settingsOf(rule);
    const settings = call === undefined ? listed : { ...listed, ...readCall(call) };
    return settings.mode === 'off' ? undefined : settings;
  }

  /**
   * Returns the reason why `settingsFor()` returns no settings, as the end of a sentence about the target.
   * Returns `undefined` if the target is listed.
   */
  whyNotListed(host: string, port: number, call: CallSettings | undefined): string | undefined {
    if (this.settingsFor(host, port, call) !== undefined) return undefined;
    const rule = this.#ruleFor(host, port);
    if (call !== undefined) return 'has the mode "off"';
    if (rule !== undefined) return `matches "${rule.text}", whose mode is "off"`;
    const { rules } = this.config;
    if (rules.length === 0) return 'is not listed: no target is (REPNET_TARGETS, repnet.config.json, configure())';
    const texts = rules.map(({ text }) => `"${text}"`).join(', ');
    const name = net.isIP(host) === 0 ? '; a name matches names only, and never an address or a block' : '';
    return `is not listed: it matches none of ${texts}${name}`;
  }

  /**
   * Returns the target's rule, like `findRule()`.
   * Results are remembered, because one check of an address costs as much as a system call.
   */
  #ruleFor(host: string, port: number): TargetRule | undefined {
    const key = `${port}|${host}`;
    let rule = this.#ruleByTarget.get(key);
    if (rule === undefined && !this.#ruleByTarget.has(key)) {
      rule = findRule(this.config.rules, host, port);
      if (this.#ruleByTarget.size >= MOST_TARGETS) this.#ruleByTarget.clear();
      this.#ruleByTarget.set(key, rule);
    }
    return rule;
  }

  #settingsOf(rule: TargetRule): FlowSettings {
    let settings = this.#byRule.get(rule);
    if (!settings) {
      settings = { ...this.#defaults, ...rule.overrides };
      this.#byRule.set(rule, settings);
    }
    return settings;
  }

  /** Returns the settings of the flows that a server accepts. */
  serverSettings(call: Partial<FlowSettings> | undefined): FlowSettings {
    return call === undefined ? this.#defaults : { ...this.#defaults, ...readFlowSettings('option "repnet"', call) };
  }
}

export function readCall(call: CallSettings): Partial<FlowSettings> {
  return readFlowSettings('option "repnet"', typeof call === 'string' ? { mode: call } : call);
}

export const runtime = new Runtime();

for (const sentence of misspelt(process.env)) process.emitWarning(sentence, { type: 'RepnetWarning', code: 'REPNET_MISSPELT_VARIABLE' });
reportAtExit(process.env, counters, () => runtime.config.rules.length);
