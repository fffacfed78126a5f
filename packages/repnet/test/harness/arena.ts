/** Environment of a test: a repnet server, a `ChaosPath` in front of it, and clients with one mode and one pairing. */
import { once } from 'node:events';
import type net from 'node:net';
import type { TestContext } from 'node:test';
import repnet from 'repnet';
import { type Admission, type ChaosLeg, ChaosPath, type ChaosPathOptions } from './chaos';
import { headOf, type Mode, type Pairing, published, UNHURRIED } from './replication';

export interface ArenaOptions {
  pairing: Pairing;
  mode: Mode;
  /** Action of the path on the first connection of the first flow. */
  a?: Admission;
  /** Action of the path on the second connection of the first flow. */
  b?: Admission;
  /**
   * Called before any byte is relayed on the first connection of the first flow.
   * `onB`: called for the second connection.
   */
  onA?: (leg: ChaosLeg) => void;
  onB?: (leg: ChaosLeg) => void;
  /** Additional settings of the server. The pairing is always set. */
  server?: object;
  /** Additional settings in the clients' `repnet` option. Mode and pairing are always set. */
  client?: object;
  /** Additional settings of the process. The settings of `UNHURRIED` are always set. */
  process?: object;
  path?: Partial<ChaosPathOptions>;
  onConnection?: (socket: net.Socket) => void;
}

export class Arena {
  /** Flows that the server's application received, in order. */
  readonly accepted: net.Socket[] = [];
  readonly #paired = (['client', 'server'] as const).map((role) =>
    published<{ role: string }>('repnet:leg:pair', (message) => message.role === role),
  );
  #watchers: Array<() => void> = [];

  private constructor(
    readonly options: ArenaOptions,
    readonly server: net.Server,
    readonly path: ChaosPath,
  ) {}

  static async open(t: TestContext, options: ArenaOptions): Promise<Arena> {
    const { pairing } = options;
    repnet.configure({ ...UNHURRIED, ...options.process });
    const server = repnet.createServer({
      allowHalfOpen: true,
      noDelay: true,
      repnet: { pairing, ...options.server },
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const isA = (leg: ChaosLeg, index: number): boolean => (pairing === 'hello' ? index === 0 : leg.door === 'primary');
    const path = await ChaosPath.open({
      to: { host: '127.0.0.1', port },
      admit: (leg, index) => (index > 1 ? 'pass' : ((isA(leg, index) ? options.a : options.b) ?? 'pass')),
      onLeg: (leg, index) => {
        if (index > 1) return;
        if (isA(leg, index)) options.onA?.(leg);
        else options.onB?.(leg);
      },
      ...options.path,
    });
    const arena = new Arena(options, server, path);
    server.on('connection', (socket: net.Socket) => {
      arena.accepted.push(socket);
      // A test that expects an error checks the error with a Sink.
      socket.on('error', () => {});
      options.onConnection?.(socket);
      for (const resume of arena.#watchers.splice(0)) resume();
    });
    t.after(async () => {
      for (const socket of arena.accepted) socket.destroy();
      await path.close();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    });
    return arena;
  }

  /** Number of bytes on a connection before the application's bytes. */
  get head(): number {
    return headOf(this.options.pairing);
  }

  connect(options: Partial<net.TcpNetConnectOpts> & { client?: object } = {}): net.Socket {
    const { mode, pairing } = this.options;
    const { client, ...rest } = options;
    const socket = repnet.connect({
      host: this.path.host,
      port: this.path.port,
      allowHalfOpen: true,
      noDelay: true,
      ...rest,
      repnet: { mode, pairing, assumeCapable: true, legDeadline: 600_000, ...this.options.client, ...client },
    });
    return socket;
  }

  /** Resolves when the first flow has both connections at both ends. */
  async paired(): Promise<void> {
    await Promise.all(this.#paired);
  }

  /** Returns the server's end of the flow with this index. */
  async flow(index = 0): Promise<net.Socket> {
    for (;;) {
      const socket = this.accepted[index];
      if (socket !== undefined) return socket;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  legA(): Promise<ChaosLeg> {
    return this.options.pairing === 'hello' ? this.path.leg(0) : this.path.legThrough('primary');
  }

  legB(): Promise<ChaosLeg> {
    return this.options.pairing === 'hello' ? this.path.leg(1) : this.path.legThrough('replica');
  }
}

/** Collector of the bytes that a socket delivers. `until(n)` resolves when n bytes have arrived. */
export class Sink {
  ended = false;
  error: NodeJS.ErrnoException | undefined;
  errors = 0;
  closes = 0;
  #chunks: Buffer[] = [];
  #length = 0;
  #watchers: Array<() => boolean> = [];

  constructor(readonly socket: net.Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      this.#wake();
    });
    socket.on('end', () => {
      this.ended = true;
      this.#wake();
    });
    socket.on('error', (error) => {
      this.error = error;
      this.errors += 1;
      this.#wake();
    });
    socket.on('close', () => {
      this.closes += 1;
      this.#wake();
    });
  }

  get length(): number {
    return this.#length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  text(): string {
    return this.bytes().toString('latin1');
  }

  async until(total: number): Promise<void> {
    await this.#when(() => this.#length >= total, `${total} bytes`);
  }

  async untilEnd(): Promise<void> {
    await this.#when(() => this.ended, 'the end');
  }

  async untilClose(): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = (): boolean => {
        if (this.closes > 0) resolve();
        return this.closes > 0;
      };
      if (!check()) this.#watchers.push(check);
    });
  }

  /** Waits for the condition. An unexpected error ends the wait, so that the test fails immediately. */
  #when(condition: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): boolean => {
        if (condition()) resolve();
        else if (this.closes > 0) reject(new Error(`closed after ${this.#length} bytes, before ${what}`, { cause: this.error }));
        else return false;
        return true;
      };
      if (!check()) this.#watchers.push(check);
    });
  }

  #wake(): void {
    this.#watchers = this.#watchers.filter((check) => !check());
  }
}

/** Returns a pattern of bytes that differs at every offset from a shifted copy of the pattern. */
export function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 0x9e3779b9;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
