/**
 * Proxy `repnet-proxy`: RepNet for programs that do not use Node.
 * A route with `replicate: 'in'` is in front of a server (Redis, memcached, nginx).
 * A route with `replicate: 'out'` is behind a client.
 */
import '../node-only';

import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

import repnet = require('../index');

import { createAdmin } from './admin';
import type { Endpoint, ProxyConfig, RouteConfig } from './config';
import { RouteMetrics, render } from './metrics';
import { type Relayed, relay } from './relay';

export type { Endpoint, ProxyConfig, RouteConfig } from './config';
export { parseCommandLine, parseConfig } from './config';

interface Flow {
  accepted: Relayed;
  target: Relayed;
}

class Route {
  readonly metrics: RouteMetrics;
  readonly server: Server;
  readonly flows = new Set<Flow>();
  /** Options of all connections. */
  readonly #options: { allowHalfOpen: boolean; noDelay: boolean };

  constructor(
    readonly config: RouteConfig,
    private readonly onIdle: () => void,
    private readonly report: (line: string) => void,
  ) {
    this.metrics = new RouteMetrics(config.name);
    this.#options = { allowHalfOpen: true, noDelay: true };
    // Node sets the interval and the number of the probes.
    const { keepaliveIdle } = config;
    if (Number.isFinite(keepaliveIdle)) Object.assign(this.#options, { keepAlive: true, keepAliveInitialDelay: keepaliveIdle });
    this.server = repnet.createServer({ ...this.#options, repnet: config.replicate === 'in' ? config.settings : false }, (accepted) =>
      this.#accept(accepted),
    );
  }

  #accept(accepted: Relayed): void {
    const { name, to, replicate, settings, idleTimeout } = this.config;
    const started = performance.now();
    const { remoteAddress, remotePort } = accepted as Relayed & Partial<Socket>;
    const target = repnet.connect({
      ...to,
      ...this.#options,
      // With `replicate: 'in'`, connections to the target stay plain TCP, also if the process lists targets.
      repnet: replicate === 'out' ? settings : 'off',
    });
    const flow: Flow = { accepted, target };
    this.flows.add(flow);
    this.metrics.flows += 1;
    this.metrics.active += 1;
    relay(accepted, target, idleTimeout, (end) => {
      this.flows.delete(flow);
      this.metrics.active -= 1;
      this.metrics.bytesIn += end.bytesIn;
      this.metrics.bytesOut += end.bytesOut;
      if (end.failed === 'accepted') this.metrics.acceptedErrors += 1;
      if (end.failed === 'target') this.metrics.targetErrors += 1;
      if (end.failed !== undefined) {
        const side = end.failed === 'target' ? 'the connection to the target' : 'the accepted connection';
        const seconds = ((performance.now() - started) / 1_000).toFixed(3);
        const flow = `${name}: flow from ${remoteAddress}:${remotePort} to ${to.host}:${to.port}`;
        this.report(`${flow} failed after ${seconds} s: ${side}: ${end.error} (${end.bytesIn} bytes in, ${end.bytesOut} bytes out)`);
      }
      if (this.flows.size === 0) this.onIdle();
    });
  }

  /** Resets every open flow. */
  cut(): void {
    for (const { accepted, target } of this.flows) {
      this.metrics.cut += 1;
      accepted.resetAndDestroy();
      target.resetAndDestroy();
    }
  }
}

async function listen(server: Server | HttpServer, key: string, at: Endpoint): Promise<void> {
  server.listen({ host: at.host, port: at.port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${key}: cannot listen on ${at.host}:${at.port} (${code ?? message})`, { cause: error });
  }
}

export class Proxy {
  readonly #config: ProxyConfig;
  readonly #routes: Route[];
  readonly #admin: HttpServer | undefined;
  #accepting = false;
  #idleWaiters: Array<() => void> = [];

  /** @param report called with a line for each flow that fails */
  constructor(config: ProxyConfig, report: (line: string) => void = () => {}) {
    this.#config = config;
    this.#routes = config.routes.map((route) => new Route(route, () => this.#wakeIdle(), report));
    if (config.admin !== false) {
      this.#admin = createAdmin({
        healthy: () => this.#accepting,
        metrics: () =>
          render(
            this.#routes.map((route) => route.metrics),
            repnet.stats(),
          ),
      });
    }
  }

  /** Listens on all routes and on the admin address. After an error, all listeners are closed again. */
  async start(): Promise<void> {
    try {
      for (const route of this.#routes) await listen(route.server, `route ${route.config.name}`, route.config.listen);
      if (this.#admin !== undefined && this.#config.admin !== false) await listen(this.#admin, 'admin', this.#config.admin);
    } catch (error) {
      for (const route of this.#routes) if (route.server.listening) route.server.close();
      throw error;
    }
    this.#accepting = true;
  }

  /** Returns the address of a route's listener. The caller needs it if the configured port was 0. */
  address(name: string): AddressInfo | undefined {
    const route = this.#routes.find((candidate) => candidate.config.name === name);
    return (route?.server.address() as AddressInfo | null) ?? undefined;
  }

  /** Returns the address of the admin server for health and metrics. */
  adminAddress(): AddressInfo | undefined {
    return (this.#admin?.address() as AddressInfo | null) ?? undefined;
  }

  /** Stops accepting flows. Open flows may finish within `drainTimeout`, and are then reset. */
  async stop(): Promise<void> {
    this.#accepting = false;
    const closed = this.#routes.map(
      (route) => new Promise<void>((resolve) => void (route.server.listening ? route.server.close(() => resolve()) : resolve())),
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#config.drainTimeout);
    });
    await Promise.race([this.#idle(), late]);
    clearTimeout(timer);
    for (const route of this.#routes) route.cut();
    await Promise.all(closed);
    const admin = this.#admin;
    if (admin?.listening === true) {
      await new Promise<void>((resolve) => {
        admin.close(() => resolve());
        admin.closeAllConnections();
      });
    }
  }

  async #idle(): Promise<void> {
    while (this.#routes.some((route) => route.flows.size > 0)) {
      await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
  }

  #wakeIdle(): void {
    for (const resume of this.#idleWaiters.splice(0)) resume();
  }
}
