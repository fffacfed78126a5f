/**
 * A network between a client and a server on loopback that a test holds in its hand.
 *
 * A `ChaosPath` listens on two neighbouring ports and relays each connection ("leg") to the
 * same two ports of a server. It never acts by the clock: a test says how many bytes may pass
 * in each direction, when a leg reaches the server, when it is reset, and waits for the
 * effect. The relay keeps a leg's source port, so that pairing by port survives it.
 */

import { once } from 'node:events';
import net from 'node:net';
import { endsByFin } from '../../src/certain-end';

/** What happens with a leg that a client opens. */
export type Admission =
  /** Relay at once. */
  | 'pass'
  /** Accept from the client, reach the server only on `ChaosLeg.admit()`. */
  | 'hold'
  /** Reset the client at once. */
  | 'reset';

export type Door = 'primary' | 'replica';

/** A reset while a FIN is on its way out fails (EINVAL), and leaves the descriptor open for good: it waits for the FIN. */
function reset(socket: net.Socket): void {
  if (socket.destroyed) return;
  if (socket.connecting) socket.destroy();
  else if (socket.writableEnded && !socket.writableFinished && socket.writableLength === 0) socket.once('finish', () => reset(socket));
  else socket.resetAndDestroy();
}

/** One direction of a leg. Counts are in bytes of TCP payload, preambles included. */
export class Lane {
  /** Bytes handed to the far socket so far. */
  passed = 0;
  /** Bytes read from the near socket so far. */
  taken = 0;
  /** Whether the near socket's FIN was handed on. */
  finished = false;
  /** The first bytes of the stream, 32 at most: a preamble, where there is one. */
  start = Buffer.alloc(0);

  #limit = Infinity;
  #finHeld = false;
  #queue: Buffer[] = [];
  #ended = false;
  #from: net.Socket | undefined;
  #to: net.Socket | undefined;
  #rewrite: ((byte: number, offset: number) => number) | undefined;
  #watchers: Array<() => boolean> = [];

  /** Lets bytes pass up to this total, counted from the start of the stream. */
  allow(total: number): void {
    this.#limit = total;
    this.#pump();
  }

  /** Nothing more passes; what the far side already has stays there. */
  stall(): void {
    this.allow(this.passed);
  }

  /** Everything passes again, a held FIN included. */
  flow(): void {
    this.#finHeld = false;
    this.allow(Infinity);
  }

  /** Data passes, the FIN waits for `flow()`. */
  holdFin(): void {
    this.#finHeld = true;
  }

  /** Replaces bytes on their way; the offset counts from the start of the stream. */
  rewrite(change: (byte: number, offset: number) => number): void {
    this.#rewrite = change;
  }

  /** Sends a FIN to the far side now, whatever the near side still has to say. */
  cut(): void {
    this.#queue = [];
    this.#limit = this.passed;
    this.finished = true;
    this.#to?.end();
    // The relay reads late bytes, so that it sees the end or the reset.
    this.#from?.resume();
    this.#wake();
  }

  /** Resolves when at least this many bytes were handed on. */
  async until(total: number): Promise<void> {
    await this.#when(() => this.passed >= total);
  }

  /** Resolves when at least this many bytes were read from the near side. */
  async untilTaken(total: number): Promise<void> {
    await this.#when(() => this.taken >= total);
  }

  /** Resolves when the FIN was handed on. */
  async untilFinished(): Promise<void> {
    await this.#when(() => this.finished);
  }

  /** Resolves when the near side has sent its FIN, handed on or not. */
  async untilEnded(): Promise<void> {
    await this.#when(() => this.#ended);
  }

  /** @internal */
  join(from: net.Socket, to: net.Socket | undefined): void {
    if (this.#from === undefined) {
      this.#from = from;
      from.on('data', (chunk) => {
        this.taken += chunk.length;
        // After a cut, late bytes are dropped.
        if (this.finished) return;
        if (this.start.length < 32) this.start = Buffer.concat([this.start, chunk]).subarray(0, 32);
        this.#queue.push(chunk);
        this.#pump();
        this.#wake();
      });
      endsByFin(from);
      from.on('end', () => {
        this.#ended = true;
        this.#pump();
        this.#wake();
      });
    }
    if (to !== undefined && this.#to === undefined) {
      this.#to = to;
      to.on('drain', () => this.#pump());
    }
    this.#pump();
  }

  #pump(): void {
    const to = this.#to;
    while (to !== undefined && !to.destroyed && !this.finished && this.#queue.length > 0 && !to.writableNeedDrain) {
      const room = this.#limit - this.passed;
      if (room <= 0) break;
      let chunk = this.#queue[0] as Buffer;
      if (chunk.length > room) {
        this.#queue[0] = chunk.subarray(room);
        chunk = chunk.subarray(0, room);
      } else {
        this.#queue.shift();
      }
      const change = this.#rewrite;
      if (change !== undefined) {
        const start = this.passed;
        chunk = Buffer.from(chunk.map((byte, at) => change(byte, start + at)));
      }
      this.passed += chunk.length;
      to.write(chunk);
    }
    if (this.#ended && !this.finished && !this.#finHeld && this.#queue.length === 0 && this.#limit > this.passed && to !== undefined) {
      this.finished = true;
      to.end();
    }
    // One chunk waits here at most: a stalled lane must push back on its sender's kernel.
    if (this.#queue.length > 0) this.#from?.pause();
    else this.#from?.resume();
    this.#wake();
  }

  #wake(): void {
    this.#watchers = this.#watchers.filter((check) => !check());
  }

  #when(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#watchers.push(() => {
        if (!condition()) return false;
        resolve();
        return true;
      });
    });
  }
}

/** One TCP connection of a client, relayed to the server. */
export class ChaosLeg {
  /** Client to server. */
  readonly up = new Lane();
  /** Server to client. */
  readonly down = new Lane();
  /** The relay's socket towards the server; undefined until admitted. */
  server: net.Socket | undefined;

  readonly #target: net.TcpNetConnectOpts;
  #clientClosed = false;
  #clientFailed = false;
  /** The client was reset by the path, and the server is not to hear of it. */
  #clientOnly = false;
  #serverClosed = false;

  constructor(
    readonly door: Door,
    /** The relay's socket towards the client. */
    readonly client: net.Socket,
    target: net.TcpNetConnectOpts,
  ) {
    this.#target = target;
    client.on('error', () => {});
    client.on('close', (hadError) => {
      this.#clientClosed = true;
      // A reset travels on at once; after clean FINs both sides are finished by the lanes.
      this.#clientFailed = hadError && !this.#clientOnly;
      if (this.#clientFailed) this.resetServer();
    });
    this.up.join(client, undefined);
  }

  /** Connects to the server, if that has not happened yet; resolves when the server's kernel took it. */
  async admit(): Promise<void> {
    if (this.server === undefined) {
      const server = net.connect({ ...this.#target, allowHalfOpen: true });
      this.server = server;
      server.setNoDelay(true);
      server.on('error', () => {
        reset(this.client);
      });
      server.on('close', () => {
        this.#serverClosed = true;
      });
      this.down.join(server, this.client);
      await once(server, 'connect');
      this.up.join(this.client, server);
      // The client has given up meanwhile: the server gets its bytes, then its reset.
      if (this.#clientFailed) this.resetServer();
    }
  }

  /** RST to the client only: the server does not hear of it. */
  resetClient(): void {
    this.#clientOnly = true;
    reset(this.client);
  }

  /** RST to the server only: the client does not hear of it. */
  resetServer(): void {
    if (this.server !== undefined) reset(this.server);
  }

  /** RST in both directions. */
  reset(): void {
    this.resetServer();
    this.resetClient();
  }

  /** Resolves when the client's connection is gone, by FINs or by a reset. */
  async clientGone(): Promise<void> {
    if (!this.#clientClosed) await once(this.client, 'close').catch(() => {});
  }

  /** Resolves when the server's connection is gone, by FINs or by a reset. */
  async serverGone(): Promise<void> {
    if (this.server !== undefined && !this.#serverClosed) await once(this.server, 'close').catch(() => {});
  }
}

export interface ChaosPathOptions {
  /** Where the server listens: `port` and `port + 1`. */
  to: { host: string; port: number };
  /** What happens with a leg, by its index in order of arrival over both doors; by default it passes. */
  admit?: (leg: ChaosLeg, index: number) => Admission;
  /** Called for each leg before anything is relayed. */
  onLeg?: (leg: ChaosLeg, index: number) => void;
  /** Where a leg is relayed to, if not to `to`: a load balancer that splits the legs of a flow. */
  route?: (index: number) => { host: string; port: number };
  /** `false`: legs get fresh source ports towards the server, as behind a NAT. */
  keepSourcePort?: boolean;
  /** `false`: `legs` stays empty, for runs of many thousands. */
  retain?: boolean;
  /** The address clients connect to. */
  host?: string;
  /** The relay's address towards the server, where it keeps source ports; one apart, so that a leg's port is free on it. */
  source?: string;
}

export class ChaosPath {
  /** The address for clients. */
  readonly host: string;
  /** All legs in order of arrival. */
  readonly legs: ChaosLeg[] = [];

  /** Legs that are open on either side: one that stands still does not see its peers go. */
  readonly #open = new Set<ChaosLeg>();
  readonly #doors: Record<Door, net.Server>;
  readonly #options: ChaosPathOptions;
  #watchers: Array<() => void> = [];

  private constructor(options: ChaosPathOptions) {
    this.#options = options;
    this.host = options.host ?? '127.0.0.2';
    this.#doors = { primary: this.#door('primary', 0), replica: this.#door('replica', 1) };
  }

  static async open(options: ChaosPathOptions): Promise<ChaosPath> {
    for (;;) {
      const path = new ChaosPath(options);
      const { primary, replica } = path.#doors;
      primary.listen(0, path.host);
      await once(primary, 'listening');
      replica.listen(path.port + 1, path.host);
      try {
        await once(replica, 'listening');
        return path;
      } catch (error) {
        // The neighbour of the port that the kernel picked is taken, or past 65535.
        primary.close();
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'EADDRINUSE' && code !== 'ERR_SOCKET_BAD_PORT') throw error;
      }
    }
  }

  /** The lower one of the two ports. */
  get port(): number {
    return (this.#doors.primary.address() as net.AddressInfo).port;
  }

  /** Resolves with the leg of this index when a client has opened it. */
  async leg(index: number): Promise<ChaosLeg> {
    for (;;) {
      const leg = this.legs[index];
      if (leg !== undefined) return leg;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Resolves with the first leg through this door. */
  async legThrough(door: Door): Promise<ChaosLeg> {
    for (;;) {
      const leg = this.legs.find((candidate) => candidate.door === door);
      if (leg !== undefined) return leg;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** From now on connections to this door are refused by the kernel. */
  async refuse(door: Door): Promise<void> {
    const server = this.#doors[door];
    const closed = once(server, 'close');
    server.close();
    for (const leg of this.legs) if (leg.door === door) leg.reset();
    await closed;
  }

  /** Ends everything, by reset. */
  async close(): Promise<void> {
    const doors = [this.#doors.primary, this.#doors.replica].filter((door) => door.listening);
    const closed = doors.map((door) => once(door, 'close'));
    for (const door of doors) door.close();
    for (const leg of [...this.legs, ...this.#open]) leg.reset();
    await Promise.all(closed);
  }

  #door(door: Door, offset: number): net.Server {
    return net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      if (client.remotePort === undefined) {
        // Reset before it was accepted: there is nothing to relay, and no source port to keep.
        client.destroy();
        return;
      }
      const { to, route, keepSourcePort = true, retain = true, source = '127.0.0.3' } = this.#options;
      const index = this.legs.length;
      const { host, port } = route?.(index) ?? to;
      const leg = new ChaosLeg(door, client, {
        host,
        port: port + offset,
        ...(keepSourcePort ? { localAddress: source, localPort: client.remotePort } : {}),
      });
      if (retain) this.legs.push(leg);
      this.#open.add(leg);
      client.on('close', () => void leg.serverGone().then(() => this.#open.delete(leg)));
      this.#options.onLeg?.(leg, index);
      const admission = this.#options.admit?.(leg, index) ?? 'pass';
      if (admission === 'reset') leg.resetClient();
      else if (admission === 'pass') leg.admit().catch(() => {});
      const waiting = this.#watchers;
      this.#watchers = [];
      for (const resume of waiting) resume();
    });
  }
}
