/**
 * Network on loopback between a client and a server that a test controls.
 *
 * A `ChaosPath` listens on two neighbouring ports and relays each connection ("leg") to the same two ports of a server.
 * The path uses no clock. A test sets how many bytes may pass in each direction.
 * The test also decides when a connection reaches the server and when the connection is reset.
 * The relay keeps the source port of a connection, so that pairing by port works through it.
 */

import { once } from 'node:events';
import net from 'node:net';
import { endsByFin } from '../../src/certain-end';

/** Action on a connection that a client opens. */
export type Admission =
  /** The connection is relayed immediately. */
  | 'pass'
  /** The client's connection is accepted. It reaches the server only after `ChaosLeg.admit()`. */
  | 'hold'
  /** The client's connection is reset immediately. */
  | 'reset';

export type Door = 'primary' | 'replica';

/**
 * Resets a socket. A reset while a FIN is being sent fails (EINVAL), and leaves the descriptor open forever.
 * So the reset waits for the FIN.
 */
function reset(socket: net.Socket): void {
  if (socket.destroyed) return;
  if (socket.connecting) socket.destroy();
  else if (socket.writableEnded && !socket.writableFinished && socket.writableLength === 0) socket.once('finish', () => reset(socket));
  else socket.resetAndDestroy();
}

/** One direction of a relayed connection. Counts are in bytes of the TCP payload, preambles included. */
export class Lane {
  /** Number of bytes that were passed to the far socket. */
  passed = 0;
  /** Number of bytes that were read from the near socket. */
  taken = 0;
  /** Whether the near socket's FIN was forwarded. */
  finished = false;
  /** First bytes of the stream, at most 32: the preamble, if there is one. */
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

  /** Stops all further bytes. Bytes that the far side already has are not affected. */
  stall(): void {
    this.allow(this.passed);
  }

  /** Lets all bytes and the FIN pass again. */
  flow(): void {
    this.#finHeld = false;
    this.allow(Infinity);
  }

  /** Lets data pass. The FIN waits until `flow()` is called. */
  holdFin(): void {
    this.#finHeld = true;
  }

  /** Replaces bytes that pass. The offset counts from the start of the stream. */
  rewrite(change: (byte: number, offset: number) => number): void {
    this.#rewrite = change;
  }

  /** Sends a FIN to the far side now, even if the near side has more bytes. */
  cut(): void {
    this.#queue = [];
    this.#limit = this.passed;
    this.finished = true;
    this.#to?.end();
    // The relay continues to read, so that it receives the end or the reset.
    this.#from?.resume();
    this.#wake();
  }

  /** Resolves when at least this many bytes were forwarded. */
  async until(total: number): Promise<void> {
    await this.#when(() => this.passed >= total);
  }

  /** Resolves when at least this many bytes were read from the near side. */
  async untilTaken(total: number): Promise<void> {
    await this.#when(() => this.taken >= total);
  }

  /** Resolves when the FIN was forwarded. */
  async untilFinished(): Promise<void> {
    await this.#when(() => this.finished);
  }

  /** Resolves when the near side has sent its FIN, forwarded or not. */
  async untilEnded(): Promise<void> {
    await this.#when(() => this.#ended);
  }

  /** @internal */
  join(from: net.Socket, to: net.Socket | undefined): void {
    if (this.#from === undefined) {
      this.#from = from;
      from.on('data', (chunk) => {
        this.taken += chunk.length;
        // Bytes that arrive after a cut are dropped.
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
    // At most one chunk waits here. When a lane is stopped, its sender must fill the kernel's buffers.
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

/** TCP connection of a client, relayed to the server. */
export class ChaosLeg {
  /** Direction from client to server. */
  readonly up = new Lane();
  /** Direction from server to client. */
  readonly down = new Lane();
  /** Relay's socket to the server. `undefined` until the connection is admitted. */
  server: net.Socket | undefined;

  readonly #target: net.TcpNetConnectOpts;
  #clientClosed = false;
  #clientFailed = false;
  /** Whether the path has reset only the client. The server then gets no reset. */
  #clientOnly = false;
  #serverClosed = false;

  constructor(
    readonly door: Door,
    /** Relay's socket to the client. */
    readonly client: net.Socket,
    target: net.TcpNetConnectOpts,
  ) {
    this.#target = target;
    client.on('error', () => {});
    client.on('close', (hadError) => {
      this.#clientClosed = true;
      // A reset is forwarded immediately. After clean FINs, the lanes close both sides.
      this.#clientFailed = hadError && !this.#clientOnly;
      if (this.#clientFailed) this.resetServer();
    });
    this.up.join(client, undefined);
  }

  /** Connects to the server, if not yet connected. Resolves when the server's kernel has the connection. */
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
      // If the client has given up in the meantime, the server gets its bytes, and then its reset.
      if (this.#clientFailed) this.resetServer();
    }
  }

  /** Resets only the client's connection. The server gets no reset. */
  resetClient(): void {
    this.#clientOnly = true;
    reset(this.client);
  }

  /** Resets only the server's connection. The client gets no reset. */
  resetServer(): void {
    if (this.server !== undefined) reset(this.server);
  }

  /** Resets both sides. */
  reset(): void {
    this.resetServer();
    this.resetClient();
  }

  /** Resolves when the client's connection has ended, by FINs or by a reset. */
  async clientGone(): Promise<void> {
    if (!this.#clientClosed) await once(this.client, 'close').catch(() => {});
  }

  /** Resolves when the server's connection has ended, by FINs or by a reset. */
  async serverGone(): Promise<void> {
    if (this.server !== undefined && !this.#serverClosed) await once(this.server, 'close').catch(() => {});
  }
}

export interface ChaosPathOptions {
  /** Address of the server's first port. The second port is `port + 1`. */
  to: { host: string; port: number };
  /** Returns the action on a connection, by its index in order of arrival at both ports. By default it passes. */
  admit?: (leg: ChaosLeg, index: number) => Admission;
  /** Called for each connection before any byte is relayed. */
  onLeg?: (leg: ChaosLeg, index: number) => void;
  /**
   * Returns another target for a connection instead of `to`, like a load balancer that separates a flow's connections.
   */
  route?: (index: number) => { host: string; port: number };
  /** Whether connections keep their source port at the server. `false` is like a NAT. */
  keepSourcePort?: boolean;
  /** Whether `legs` contains all connections. `false` saves memory in runs with many thousands of connections. */
  retain?: boolean;
  /** Address that clients connect to. */
  host?: string;
  /**
   * Relay's address at the server, if source ports are kept.
   * This address differs from the clients' address, so that a connection's source port is free.
   */
  source?: string;
}

export class ChaosPath {
  /** Address for clients. */
  readonly host: string;
  /** All connections in order of arrival. */
  readonly legs: ChaosLeg[] = [];

  /** Connections that are open on either side. A stopped connection does not notice when its peers have ended. */
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
        // The next port is in use, or above 65535, so another pair of ports is tried.
        primary.close();
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'EADDRINUSE' && code !== 'ERR_SOCKET_BAD_PORT') throw error;
      }
    }
  }

  /** Lower one of the two ports. */
  get port(): number {
    return (this.#doors.primary.address() as net.AddressInfo).port;
  }

  /** Resolves with the connection of this index when a client has opened it. */
  async leg(index: number): Promise<ChaosLeg> {
    for (;;) {
      const leg = this.legs[index];
      if (leg !== undefined) return leg;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Resolves with the first connection through this port. */
  async legThrough(door: Door): Promise<ChaosLeg> {
    for (;;) {
      const leg = this.legs.find((candidate) => candidate.door === door);
      if (leg !== undefined) return leg;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Closes this port, so that the kernel refuses connections to it. */
  async refuse(door: Door): Promise<void> {
    const server = this.#doors[door];
    const closed = once(server, 'close');
    server.close();
    for (const leg of this.legs) if (leg.door === door) leg.reset();
    await closed;
  }

  /** Closes both ports, and resets all connections. */
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
        // The connection was reset before it was accepted: there are no bytes to relay, and no source port to keep.
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
