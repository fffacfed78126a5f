/** Parts of the scenarios: a log of events, a server for one scenario, and the end of an emitter. */
import { once } from 'node:events';
import type net from 'node:net';

export type Net = typeof net;

/** Sentence of Node's documentation in our words, and a program that shows whether the sentence is true. */
export interface Scenario {
  promise: string;
  /** Whether no flow of the scenario is raced, for example because a call fails before. */
  unraced?: true;
  /** @returns the events, without times and port numbers. They must be equal to the events with Node's own `net`. */
  run(stage: Stage): Promise<unknown>;
}

export type Scenarios = Record<string, Scenario>;

/** `net` under test, with a port for the scenario's server. */
export class Stage {
  readonly net: Net;
  readonly port: number;
  readonly host = '127.0.0.1';
  /** Port of a server of Node without repnet. */
  readonly other: number;
  #servers: net.Server[] = [];
  #sockets: net.Socket[] = [];

  constructor(nodeNet: Net, port: number, other: number) {
    this.net = nodeNet;
    this.port = port;
    this.other = other;
  }

  /** Starts the scenario's server. */
  async serve(accept: (socket: net.Socket) => void, options: net.ServerOpts = {}): Promise<net.Server> {
    const server = this.net.createServer(options, (socket) => {
      this.#sockets.push(socket);
      socket.on('error', () => {});
      accept(socket);
    });
    this.#servers.push(server);
    server.listen(this.port, this.host);
    await once(server, 'listening');
    return server;
  }

  connect(options: Partial<net.TcpNetConnectOpts> = {}): net.Socket {
    return this.watch(this.net.connect({ port: this.port, host: this.host, ...options }));
  }

  /** Destroys the socket at the end of the scenario. */
  watch(socket: net.Socket): net.Socket {
    this.#sockets.push(socket);
    return socket;
  }

  /** Ends all that is left. */
  async clear(): Promise<void> {
    for (const socket of this.#sockets) socket.on('error', () => {}).destroy();
    for (const server of this.#servers) {
      if (!server.listening) continue;
      const closed = once(server, 'close');
      server.close();
      await closed;
    }
  }
}

/** Records events in order, with their arguments in short form. */
export function record(emitter: NodeJS.EventEmitter, names: readonly string[], log: unknown[] = [], prefix = ''): unknown[] {
  for (const name of names) emitter.on(name, (...args: unknown[]) => void log.push([prefix + name, ...args.map(short)].join(' ')));
  return log;
}

/** Returns a value without parts that differ from run to run. */
export function short(value: unknown): string {
  if (value instanceof Error) return `Error:${(value as NodeJS.ErrnoException).code ?? value.name}`;
  if (Buffer.isBuffer(value)) return value.length > 40 ? 'bytes' : value.toString();
  return String(value);
}

export const SOCKET_EVENTS = ['connect', 'ready', 'data', 'end', 'finish', 'timeout', 'error', 'close'] as const;

export async function closed(emitter: { destroyed?: boolean; closed?: boolean } & NodeJS.EventEmitter): Promise<void> {
  await new Promise<void>((resolve) => emitter.once('close', () => setImmediate(resolve)));
}

export function echo(socket: net.Socket): void {
  socket.pipe(socket);
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
