/**
 * Capabilities of replica ports: whether a repnet server listens on a port.
 * A port's capability is learned from probes and from the hellos of flows.
 * A capable target stays capable after the lifetime of its entry.
 * This is safe, because each hello checks the capability before any byte of the application is sent.
 * Only eager flows need a recent entry.
 */
import { ClientHello } from './client-hello';
import { publish } from './events';
import { ExpiryQueue } from './expiry-queue';
import { randomId } from './flow-id';
import { Leg } from './leg';
import { connectStock } from './stock';

/** State of a replica port. `doubtful`: it answered with a banner earlier, but not the last time. */
export type Capability = 'capable' | 'incapable' | 'doubtful' | 'unknown';

/** Largest number of remembered targets. */
const LIMIT = 4_096;

export class CapabilityCache {
  readonly #known: ExpiryQueue<string, Capability>;
  /** Ports that have answered with a banner. An entry stays after its lifetime has ended. */
  readonly #before = new Set<string>();
  readonly #probes = new Map<string, Promise<boolean>>();

  /** @param ttl lifetime of an entry in milliseconds */
  constructor(ttl: number) {
    this.#known = new ExpiryQueue(ttl, LIMIT, () => {});
  }

  of(address: string, port: number): Capability {
    const key = `${address}|${port}`;
    return this.#known.get(key) ?? (this.#before.has(key) ? 'capable' : 'unknown');
  }

  /** Returns whether the port has answered with a banner within the lifetime of its entry. */
  isFresh(address: string, port: number): boolean {
    return this.#known.unexpired(`${address}|${port}`) === 'capable';
  }

  forget(address: string, port: number): void {
    const key = `${address}|${port}`;
    this.#known.delete(key);
    this.#before.delete(key);
  }

  /** Marks a target that did not answer in time. Its flows use one plain connection until a probe gets an answer. */
  doubt(address: string, port: number): void {
    this.forget(address, port);
    this.#known.add(`${address}|${port}`, 'doubtful');
  }

  learn(address: string, port: number, capable: boolean, reason: string): void {
    const key = `${address}|${port}`;
    const found: Capability = capable ? 'capable' : 'incapable';
    if (this.#known.get(key) !== found) publish('repnet:capability', () => ({ address, port, capable, reason }));
    this.#known.add(key, found);
    if (capable && this.#before.size < LIMIT) this.#before.add(key);
    else if (!capable) this.#before.delete(key);
  }

  /**
   * Probes the port. Concurrent calls for one port share a probe. A probe does not keep the process alive.
   *
   * @param service port N, if it is not known whether the target is up.
   * Nothing is learned from a target that accepts no connection on either port
   */
  probe(address: string, port: number, timeout: number, service?: number): Promise<boolean> {
    const key = `${address}|${port}`;
    let probe = this.#probes.get(key);
    if (!probe) {
      probe = this.#probe(address, port, timeout, service).finally(() => void this.#probes.delete(key));
      this.#probes.set(key, probe);
    }
    return probe;
  }

  async #probe(address: string, port: number, timeout: number, service: number | undefined): Promise<boolean> {
    const { capable, reached, reason } = await ask(address, port, timeout);
    if (reached || service === undefined || (await accepts(address, service, timeout))) this.learn(address, port, capable, reason);
    return capable;
  }
}

interface Answer {
  capable: boolean;
  /** Whether a program has accepted the connection. */
  reached: boolean;
  reason: string;
}

function ask(address: string, port: number, timeout: number): Promise<Answer> {
  const { promise, resolve } = withResolvers<Answer>();
  const socket = connectStock({ host: address, port, allowHalfOpen: true, noDelay: true }).unref();
  const none = () => {};
  const leg = new Leg(socket, 0, { legData: () => true, legEof: none, legFailed: none, legClosed: none });
  const late = () => finish({ capable: false, reached: !socket.connecting, reason: `no banner within ${timeout} ms` });
  const timer = setTimeout(late, timeout).unref();
  const finish = (answer: Answer) => {
    clearTimeout(timer);
    leg.reset();
    resolve(answer);
  };
  const hello = new ClientHello(leg, randomId(), {
    accepted: (_, banner) => {
      finish({ capable: banner.status === 'probed', reached: true, reason: banner.status });
      return true;
    },
    refused: (_, error, kind) => finish({ capable: false, reached: kind !== 'failed', reason: error.message }),
    closed: none,
  });
  hello.send(leg, { mode: 'repflow', probe: true });
  return promise;
}

/** Returns whether a program accepts a connection on this port. */
function accepts(host: string, port: number, timeout: number): Promise<boolean> {
  const { promise, resolve } = withResolvers<boolean>();
  const socket = connectStock({ host, port }).unref();
  const timer = setTimeout(() => finish(false), timeout).unref();
  const finish = (accepted: boolean) => {
    clearTimeout(timer);
    socket.destroy();
    resolve(accepted);
  };
  socket.once('connect', () => finish(true));
  socket.on('error', () => finish(false));
  return promise;
}

function withResolvers<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
