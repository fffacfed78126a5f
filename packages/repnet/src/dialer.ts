/**
 * Connector of a client's flow. It opens two connections to a listed target that is known to be capable.
 * For all other targets, or if both connections fail, it opens one stock connection.
 * The stock connection goes to the port that the application named, and has all features of `net`.
 */
import dns = require('node:dns');
import net = require('node:net');

import type { Budget, BudgetLimits } from './budget';
import { type PlainReason, publish } from './events';
import { Flow } from './flow';
import { randomId } from './flow-id';
import { HelloExchange } from './hello-exchange';
import { Leg } from './leg';
import { Patience } from './patience';
import { Rejoiner } from './rejoiner';
import { runtime } from './runtime';
import type { FlowSettings } from './settings';
import type { Mode } from './state-machine';
import { counters } from './stats';
import { connectStock } from './stock';

/** Methods of the application's socket that the dialer needs. */
export interface DialingSocket {
  readonly destroyed: boolean;
  autoSelectFamilyAttemptedAddresses: string[] | undefined;
  emit(event: string, ...args: unknown[]): boolean;
  destroy(error?: Error): unknown;
  /** Makes the flow send all bytes that were written before the flow existed. */
  useFlow(flow: Flow): void;
}

export interface Target {
  host: string;
  port: number;
  /** Options that the application passed to `connect()`. */
  options: net.TcpNetConnectOpts;
  /** Settings of the flow; `undefined`: the target is not listed. */
  settings: FlowSettings | undefined;
}

interface Address {
  address: string;
  family: number;
}

/** Options of `connect()` that apply to every connection, including options of newer Node versions. */
type LegOptions = net.TcpNetConnectOpts & { blockList?: net.BlockList; typeOfService?: number; allowHalfOpen?: boolean };

const FORWARDED = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout'] as const;

export class Dialer {
  readonly #socket: DialingSocket;
  readonly #target: Target;
  readonly #replicaPort: number;
  readonly #autoSelectFamily: boolean;
  #addresses: Address[] | undefined;
  #plain = false;
  #hellos: HelloExchange | undefined;
  #announced = false;
  /** Timer of the fallback delay. It runs until the flow is open. */
  #patience: Patience | undefined;

  constructor(socket: DialingSocket, target: Target) {
    this.#socket = socket;
    this.#target = target;
    this.#replicaPort = target.settings?.replicaPort ?? target.port + 1;
    // This default is read now, as Node does.
    // A flow that falls back connects later, and the default may have changed by then.
    this.#autoSelectFamily = target.options.autoSelectFamily ?? net.getDefaultAutoSelectFamily();
  }

  start(): void {
    const { host, settings } = this.#target;
    if (!settings) {
      this.#connectPlain(undefined);
      return;
    }
    const family = net.isIP(host);
    if (family !== 0) this.#choose(settings, [{ address: host, family }]);
    else this.#lookUp(settings);
  }

  /** Called when a flow has ended before it was open. @returns whether a plain connection is tried instead */
  fallBack(): boolean {
    if (this.#plain) return false;
    this.#connectPlain('fallback');
    return true;
  }

  /** Called when the flow is open or was given up. */
  stop(): void {
    this.#patience?.stop();
  }

  /**
   * Starts the fallback delay.
   * If the replica port does not answer within the delay, the flow uses port N, and does not wait for the leg deadline.
   * Until then, only hellos were sent.
   */
  #watch(flow: Flow, settings: FlowSettings, to: Address): void {
    if (!Number.isFinite(settings.fallbackDelay)) return;
    const giveUp = (): void => {
      if (flow.opened || flow.outbound.exposed || flow.state === 'ENDED' || this.#socket.destroyed) return;
      runtime.capabilities.doubt(to.address, this.#replicaPort);
      flow.host = undefined;
      flow.abort(false);
      this.#connectPlain('silent');
    };
    this.#patience = new Patience(settings.fallbackDelay, giveUp);
  }

  #lookUp(settings: FlowSettings): void {
    const { host, options } = this.#target;
    const lookup = options.lookup ?? (dns.lookup as unknown as net.LookupFunction);
    const query = { family: options.family, hints: options.hints ?? 0, all: true };
    lookup(host, query, (error, found, family) => {
      if (this.#socket.destroyed) return;
      if (error) {
        this.#socket.emit('lookup', error, undefined, undefined, host);
        process.nextTick(() => this.#socket.destroy(error));
        return;
      }
      const list = Array.isArray(found) ? found : [{ address: found, family: family ?? net.isIP(found) }];
      this.#addresses = list;
      this.#choose(settings, list.every(({ address }) => net.isIP(address) !== 0) ? list : []);
    });
  }

  #choose(settings: FlowSettings, addresses: readonly Address[]): void {
    const address = this.#capableAddress(settings, addresses);
    if (typeof address === 'string') {
      this.#connectPlain(address);
      return;
    }
    const budget = runtime.budgets.of(this.#target.host, this.#target.port);
    const mode = budget.ask(settings.mode as Mode, this.#limits(settings));
    if (mode === 'off') {
      this.#connectPlain('budget');
      return;
    }
    this.#announceLookup();
    if (this.#autoSelectFamily && addresses.length > 1) {
      this.#socket.autoSelectFamilyAttemptedAddresses = [`${address.address}:${this.#target.port}`];
    }
    if (settings.pairing === 'port') this.#connectByPort(settings, mode, address, budget);
    else this.#connectByHello(settings, mode, address, budget);
  }

  #limits({ adaptive }: FlowSettings): BudgetLimits {
    return { budget: runtime.config.budget, incastLimit: runtime.config.incastLimit, adaptive };
  }

  /** Forwards the lookup events of the stock connection to the application's socket. */
  #announceLookup(): void {
    this.#announced = true;
    for (const { address, family } of this.#addresses ?? []) this.#socket.emit('lookup', null, address, family, this.#target.host);
  }

  #capableAddress(settings: FlowSettings, addresses: readonly Address[]): Address | PlainReason {
    const [first] = addresses;
    if (!first) return 'lookup';
    if (settings.pairing === 'port') return first;
    const known = addresses.map(({ address }) => runtime.capabilities.of(address, this.#replicaPort));
    const capable = addresses[known.indexOf('capable')];
    if (capable) return capable;
    if (known.includes('doubtful')) return 'doubtful';
    const unknown = addresses[known.indexOf('unknown')];
    if (unknown && settings.assumeCapable) return unknown;
    return unknown ? 'unknown' : 'incapable';
  }

  /** Returns the options of a plain connection. The application's socket applies all other options. */
  #plainOptions(): net.TcpNetConnectOpts {
    const { options } = this.#target;
    const mine = { signal: undefined, timeout: undefined, onread: undefined, noDelay: undefined, keepAlive: undefined };
    return { ...options, ...mine, autoSelectFamily: this.#autoSelectFamily, allowHalfOpen: true };
  }

  /** Returns the options of a flow's connection to a known address. Only necessary options are copied, to save time. */
  #legOptions({ address, family }: Address, port: number): LegOptions {
    const { localAddress, blockList, typeOfService } = this.#target.options as LegOptions;
    return { host: address, port, family, localAddress, blockList, typeOfService, allowHalfOpen: true };
  }

  #connectPlain(reason: PlainReason | undefined): void {
    const { host, port, settings } = this.#target;
    this.#plain = true;
    if (reason) {
      counters.flows.plain[reason]++;
      publish('repnet:flow:plain', () => ({ host, port, reason }));
    }
    const flow = new Flow({ id: randomId(), role: 'client', mode: 'repflow', settings: settings ?? runtime.config });
    const options = this.#plainOptions();
    if (this.#addresses) options.lookup = answerWith(this.#addresses);
    const connection = connectStock(options);
    const leg = new Leg(connection, 0, flow);
    // If a flow falls back, its lookup was already reported, and is not reported again.
    const forwarded = this.#announced ? FORWARDED.slice(1) : FORWARDED;
    for (const event of forwarded) connection.on(event, (...args: unknown[]) => this.#socket.emit(event, ...args));
    for (const event of ['connectionAttempt', 'connect', 'error'] as const) {
      connection.prependListener(event, () => {
        this.#socket.autoSelectFamilyAttemptedAddresses = connection.autoSelectFamilyAttemptedAddresses;
      });
    }
    connection.on('connect', () => {
      flow.legEstablished(leg);
      this.#hellos?.reachedService();
      if (reason === 'unknown' || reason === 'doubtful') this.#probe(connection.remoteAddress);
    });
    flow.startSingle(leg);
    this.#socket.useFlow(flow);
  }

  #probe(address: string | undefined): void {
    if (address === undefined || this.#target.settings?.pairing !== 'hello') return;
    void runtime.capabilities.probe(address, this.#replicaPort, this.#target.settings.legDeadline);
  }

  #connectByHello(settings: FlowSettings, mode: Mode, to: Address, budget: Budget): void {
    const flow = new Flow({ id: randomId(), role: 'client', mode, settings, budget });
    const eager = settings.eager && runtime.capabilities.isFresh(to.address, this.#replicaPort);
    const exchange = new HelloExchange(flow, to.address, this.#replicaPort, eager);
    this.#hellos = exchange;
    const options = this.#legOptions(to, this.#replicaPort);
    for (const index of [0, 1] as const) {
      const leg = new Leg(connectStock(options), index, flow);
      flow.adopt(leg);
      exchange.start(leg);
    }
    if (mode === 'repflow' && Number.isFinite(settings.idleTime)) {
      flow.messages.secondLegs = new Rejoiner(flow, {
        connection: options,
        budget,
        limits: this.#limits(settings),
        deadline: settings.legDeadline,
        instanceId: () => exchange.instanceId,
      });
    }
    flow.startClient();
    this.#socket.useFlow(flow);
    this.#watch(flow, settings, to);
  }

  /**
   * Opens both connections with pairing by port, as in the paper.
   * The connections go from one source port to ports N and N+1, without additional bytes.
   */
  #connectByPort(settings: FlowSettings, mode: Mode, { address, family }: Address, budget: Budget): void {
    const { port, options } = this.#target;
    const local = options.localAddress ?? (family === 6 ? '::' : '0.0.0.0');
    const flow = new Flow({ id: randomId(), role: 'client', mode, settings, budget });
    const open = (index: 0 | 1, to: number, localPort: number) => {
      const bound = { ...this.#legOptions({ address, family }, to), localAddress: local, localPort };
      const leg = new Leg(connectStock(bound), index, flow);
      leg.socket.on('connect', () => flow.legEstablished(leg));
      flow.adopt(leg);
      return leg;
    };
    const first = open(0, port, 0);
    first.socket.once('connectionAttempt', () => {
      const localPort = first.socket.localPort;
      if (localPort === undefined) flow.legUnusable(1, new Error('the source port is not known'), 'unpaired');
      else if (flow.status[1] === 'pending') open(1, this.#replicaPort, localPort);
    });
    flow.startClient();
    this.#socket.useFlow(flow);
  }
}

/** Returns a lookup function with a known result. */
function answerWith(addresses: readonly Address[]): net.LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    process.nextTick(() => {
      if (options.all) done(null, [...addresses]);
      else done(null, first?.address ?? '', first?.family);
    });
  };
}
