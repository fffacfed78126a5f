/**
 * The server's half: the listener on the replica port, the hello of every connection to it, and what becomes of the leg. With port pairing
 * the connections to port N pass through here too.
 */
import type net = require('node:net');

import { adapt } from './adapter';
import { publish } from './events';
import { ExpiryQueue } from './expiry-queue';
import { Flow } from './flow';
import { publicName, randomId } from './flow-id';
import { FlowTable } from './flow-table';
import { Leg, type LegOwner } from './leg';
import type { FlowSettings, GlobalSettings } from './settings';
import { ReplicatedSocket } from './socket';
import type { Mode } from './state-machine';
import { countDrop, counters } from './stats';
import { stock } from './stock';
import { nameSecured } from './tls-names';
import {
  decodePreamble,
  encodeBanner,
  encodeUnsupported,
  HELLO_BYTES,
  type Preamble,
  preambleLength,
  type Rejoin,
  type Status,
  VERSION,
} from './wire';

/** What a `net.Server` keeps to itself, in every version from 20 on. */
export type ServerInside = net.Server & {
  allowHalfOpen?: boolean;
  pauseOnConnect?: boolean;
  noDelay?: boolean;
  keepAlive?: boolean;
  keepAliveInitialDelay?: number;
  highWaterMark?: number;
  blockList?: net.BlockList;
  setSecureContext?: unknown;
  updateSettings?: unknown;
  _connections: number;
  _emitCloseIfDrained?(): void;
};

/** A TCP handle's own address. @returns 0 when all is well */
type OwnName = (this: object, name: Partial<net.AddressInfo>) => number;

type AcceptedSocket = net.Socket & { server: net.Server; _server: net.Server; _handle: { getsockname: OwnName } };

export type ListenerSettings = GlobalSettings & FlowSettings;

/** A server of http2 without TLS: it puts an adapter without names before what has no native handle. */
const isHttp2 = (server: ServerInside): boolean => server.updateSettings !== undefined && server.setSecureContext === undefined;

/** For a leg that is given up, or changes hands. */
const NOBODY: LegOwner = { legData: () => true, legEof: () => {}, legFailed: () => {}, legClosed: () => {} };

export class ReplicaListener {
  /** Listens on the replica port. */
  readonly server: net.Server;
  /** Tells this server from another one behind the same address. */
  readonly instanceId = randomId();
  readonly #main: ServerInside;
  readonly #settings: ListenerSettings;
  readonly #table: FlowTable;
  /** Connections that say their hello, or were answered and have not gone yet. */
  readonly #hellos: ExpiryQueue<Leg, Leg>;
  readonly #refused: LegOwner = {
    legData: () => true,
    legEof: (leg) => leg.close(),
    legFailed: (leg) => this.helloGone(leg),
    legClosed: (leg) => this.helloGone(leg),
  };
  /** The port that clients believe they talk to. */
  readonly #port: number;
  /** A handle's own address, but with that port; only asked for when somebody wants to know. */
  readonly #ownName: OwnName;
  #closing = false;

  constructor(main: net.Server, port: number, settings: ListenerSettings) {
    this.#port = port;
    this.#main = main as ServerInside;
    this.#settings = settings;
    this.#table = new FlowTable(settings.pairing, settings);
    this.#ownName = function (name) {
      const status = (Object.getPrototypeOf(this) as { getsockname: OwnName }).getsockname.call(this, name);
      if (name.port !== undefined) name.port = port;
      return status;
    };
    if (this.#main.setSecureContext !== undefined) nameSecured(main);
    this.#hellos = new ExpiryQueue(settings.helloTimeout, settings.pendingHellos, (leg) => this.#dropHello(leg));
    const { noDelay, keepAlive, keepAliveInitialDelay, highWaterMark, blockList } = this.#main;
    const options = { allowHalfOpen: true, noDelay, keepAlive, keepAliveInitialDelay, highWaterMark, blockList };
    const byPort = settings.pairing === 'port';
    this.server = new stock.Server(options, (socket) => (byPort ? this.acceptPlain(1, socket) : this.#expectHello(socket)));
  }

  get pairing(): 'hello' | 'port' {
    return this.#settings.pairing;
  }

  /** Takes no leg any more; flows that live go on. */
  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.server.close();
    for (const leg of this.#hellos.values()) this.#dropHello(leg);
    this.#hellos.clear();
    this.#table.stop();
  }

  /** Port pairing: a connection to N (leg 0) or N+1 (leg 1), known by where it comes from. */
  acceptPlain(index: 0 | 1, socket: net.Socket): void {
    const { remoteAddress, remotePort } = socket;
    const leg = new Leg(socket, index, NOBODY);
    this.#forget(socket, index === 0 ? this.#main : this.server);
    if (remoteAddress === undefined || remotePort === undefined) {
      leg.reset();
      return;
    }
    const id = `${remoteAddress}|${remotePort}`;
    const place = this.#table.place(id, index);
    if (place.kind === 'full') {
      counters.flows.refused.tombstones++;
      leg.reset();
    } else if (place.kind === 'new') {
      if (this.#refusal(socket)) leg.reset();
      else this.#open(id, leg, 'repflow');
    } else if (place.kind === 'known') place.flow.legJoined(leg);
    else this.#late(id, leg);
  }

  /** The stock server has counted the connection: flows are counted instead. */
  #forget(socket: net.Socket, server: net.Server): void {
    (socket as net.Socket & { _server: unknown })._server = null;
    (server as ServerInside)._connections--;
  }

  #expectHello(socket: net.Socket): void {
    this.#forget(socket, this.server);
    // Reset already: a flow that began with it would have no client. Read the name here, because the kernel forgets it at a reset.
    if (socket.remoteAddress === undefined) {
      socket.on('error', () => {}).destroy();
      return;
    }
    this.#hold(new Leg(socket, 0, new ServerHello(this)));
  }

  /** Counts a connection that is no flow's leg, and ends it when its time is over or there are too many. */
  #hold(leg: Leg): void {
    counters.held.pendingHellos++;
    this.#hellos.add(leg, leg, Math.min(this.#settings.pendingHellos, this.#main.maxConnections ?? Number.POSITIVE_INFINITY));
  }

  /** A connection has ended, or has said its hello. */
  helloGone(leg: Leg): void {
    if (this.#hellos.delete(leg)) counters.held.pendingHellos--;
  }

  #dropHello(leg: Leg): void {
    counters.held.pendingHellos--;
    // What was answered, and does not go, has had its hello.
    if (leg.owner !== this.#refused) countDrop('hello_timeout');
    leg.owner = NOBODY;
    leg.reset();
  }

  /**
   * All bytes of the hello are there, or it is wrong.
   *
   * @param preamble the bytes of one of another version, or `undefined` for something else @param rest what came behind it
   */
  answer(leg: Leg, preamble: Preamble | Buffer | undefined, rest: Buffer): void {
    this.helloGone(leg);
    leg.owner = NOBODY;
    if (preamble === undefined) {
      countDrop('foreign');
      leg.reset();
    } else if (Buffer.isBuffer(preamble)) this.#hangUp(leg, encodeUnsupported(preamble, this.instanceId));
    else if (preamble.probe) this.#hangUp(leg, this.#banner(preamble, 'probed'));
    else this.#route(leg, preamble, rest);
  }

  #route(leg: Leg, preamble: Preamble, rest: Buffer): void {
    leg.index = preamble.leg as 0 | 1;
    if (preamble.rejoin) {
      this.#rejoin(preamble, preamble.rejoin, leg, rest);
      return;
    }
    const place = this.#table.place(preamble.flowId, leg.index);
    if (place.kind === 'late') {
      this.#late(preamble.flowId, leg);
      return;
    }
    if (place.kind === 'full') {
      counters.flows.refused.tombstones++;
      this.#hangUp(leg, this.#banner(preamble, 'busy'));
      return;
    }
    if (place.kind === 'known') {
      if (!this.#isFrom(place.flow, leg)) {
        countDrop('other_address');
        this.#late(preamble.flowId, leg);
        return;
      }
      if (place.flow.wants(leg.index)) leg.sendSoon(this.#banner(preamble, 'joined'));
      if (!place.flow.legJoined(leg)) return;
    } else {
      if (this.#refusal(leg.socket)) {
        this.#hangUp(leg, this.#banner(preamble, 'busy'));
        return;
      }
      const banner = this.#banner(preamble, 'opened');
      // A socket that is being read already cannot be made one that nothing was read from.
      if (preamble.mode === 'repsyn' && rest.length > 0 && !this.#main.pauseOnConnect) {
        this.#handOver(preamble, leg, banner, rest);
        return;
      }
      // Where the first bytes are here already, the answer may be so in a moment.
      if (rest.length > 0) leg.sendSoon(banner);
      else leg.send([banner]);
      this.#open(preamble.flowId, leg, preamble.mode);
    }
    if (rest.length > 0) leg.owner.legData(leg, rest);
  }

  /** Who joins a flow reads its bytes and may add some: without being told otherwise only whoever opened it, by address. */
  #isFrom({ from }: Flow, { socket }: Leg): boolean {
    return this.#settings.secondLegFrom === 'anywhere' || from === socket.remoteAddress;
  }

  /** A second leg for a connection that has been idle. One that does not fit is refused, and the connection goes on as it is. */
  #rejoin(preamble: Preamble, rejoin: Rejoin, leg: Leg, rest: Buffer): void {
    const flow = this.#table.live(preamble.flowId);
    if (!flow || this.#closing || !this.#isFrom(flow, leg) || !flow.standsAt(leg.index, rejoin)) {
      this.#hangUp(leg, this.#banner(preamble, 'busy'));
      return;
    }
    leg.send([this.#banner(preamble, 'joined')]);
    flow.legRejoined(leg, rejoin);
    if (rest.length > 0) leg.owner.legData(leg, rest);
  }

  /**
   * Eager RepSYN: bytes behind the hello say that the client has chosen this leg, so the flow is in CHOSEN from its start, with no second leg to merge: the
   * application is given the stock socket itself. Its id is buried at once.
   */
  #handOver({ flowId, mode }: Preamble, leg: Leg, banner: Buffer, rest: Buffer): void {
    const main = this.#main;
    const { index } = leg;
    const names = () => ({ flowId: publicName(flowId), role: 'server' as const });
    const socket = leg.release(rest) as AcceptedSocket;
    socket.cork();
    socket.write(banner);
    setImmediate(() => socket.uncork());
    this.#table.buryId(flowId, 1 << index);
    counters.flows.accepted++;
    counters.flows.live++;
    counters.legs.opened++;
    counters.legs.established++;
    socket.allowHalfOpen = Boolean(main.allowHalfOpen);
    socket.server = main;
    socket._server = main;
    main._connections++;
    // On the handle, as TLS asks that one.
    socket._handle.getsockname = this.#ownName;
    socket.on('close', () => {
      counters.flows.live--;
      publish('repnet:flow:end', () => ({ ...names(), error: undefined, delivered: socket.bytesRead, written: socket.bytesWritten }));
    });
    publish('repnet:leg:open', () => ({ ...names(), leg: index, address: socket.remoteAddress, port: socket.remotePort }));
    publish('repnet:flow:chosen', () => ({ ...names(), leg: index, reason: 'choice_learned' }));
    Object.defineProperties(socket, COUNTED_FROM_HELLO);
    main.emit('connection', socket);
    publish('repnet:flow:open', () => ({ ...names(), leg: index, mode }));
  }

  #banner(preamble: Preamble, status: Status): Buffer {
    const flowCheck = preamble.flowId.slice(0, 8);
    return encodeBanner({ version: VERSION, status, leg: preamble.leg, flowCheck, instanceId: this.instanceId });
  }

  /** Says no, or answers a probe: the connection is held until the client has hung up too. */
  #hangUp(leg: Leg, banner: Buffer): void {
    leg.send([banner]);
    leg.end(() => {});
    leg.leaveTo(this.#refused);
    this.#hold(leg);
  }

  #late(flowId: string, leg: Leg): void {
    counters.legs.late++;
    publish('repnet:leg:late', () => ({ flowId: publicName(flowId), role: 'server', leg: leg.index }));
    leg.reset();
  }

  /** @returns whether no new flow is taken */
  #refusal(socket: net.Socket): boolean {
    if (this.#closing) {
      counters.flows.refused.closing++;
      return true;
    }
    const { maxConnections, _connections } = this.#main;
    if (maxConnections == null || _connections < maxConnections) return false;
    counters.flows.refused.full++;
    const { localAddress, localFamily, remoteAddress, remotePort, remoteFamily } = socket;
    this.#main.emit('drop', { localAddress, localPort: this.#port, localFamily, remoteAddress, remotePort, remoteFamily });
    return true;
  }

  #open(id: string, leg: Leg, mode: Mode): Flow {
    const main = this.#main;
    const from = leg.socket.remoteAddress;
    const flow = new Flow({ id, role: 'server', mode, settings: this.#settings, registry: this.#table, from });
    const accepted = {
      flow,
      port: this.#port,
      opened: () => main.emit('connection', isHttp2(main) ? adapt(socket) : socket),
      released: () => {
        main._connections--;
        main._emitCloseIfDrained?.();
      },
    };
    const socket = ReplicatedSocket.accept(accepted, {
      allowHalfOpen: main.allowHalfOpen,
      highWaterMark: main.highWaterMark,
    });
    socket.server = main;
    if (main.pauseOnConnect) socket.hold();
    main._connections++;
    this.#table.add(flow);
    flow.startServer(leg);
    return flow;
  }
}

const { Socket } = stock;
const read = Object.getOwnPropertyDescriptor(Socket.prototype, 'bytesRead')?.get as (this: net.Socket) => number;
const written = Object.getOwnPropertyDescriptor(Socket.prototype, 'bytesWritten')?.get as (this: net.Socket) => number | undefined;

/** The application's bytes are counted, not those of the hello. One pair of functions for all sockets, so that V8 sees one shape. */
const COUNTED_FROM_HELLO: PropertyDescriptorMap & ThisType<net.Socket> = {
  bytesRead: {
    get() {
      return read.call(this) - HELLO_BYTES;
    },
    configurable: true,
  },
  bytesWritten: {
    get() {
      return (written.call(this) ?? HELLO_BYTES) - HELLO_BYTES;
    },
    configurable: true,
  },
};

/** The server's half of the hello on one connection. */
class ServerHello implements LegOwner {
  readonly #listener: ReplicaListener;
  #received: Buffer | undefined;

  constructor(listener: ReplicaListener) {
    this.#listener = listener;
  }

  legData(leg: Leg, chunk: Buffer): boolean {
    const bytes = this.#received ? Buffer.concat([this.#received, chunk]) : chunk;
    const preamble = decodePreamble(bytes);
    if (preamble === 'incomplete' || (preamble === 'version' && bytes.length < HELLO_BYTES)) {
      this.#received = bytes;
      return true;
    }
    if (preamble === 'version') this.#listener.answer(leg, bytes.subarray(0, HELLO_BYTES), bytes.subarray(HELLO_BYTES));
    else if (typeof preamble === 'string') this.#listener.answer(leg, undefined, bytes);
    else this.#listener.answer(leg, preamble, bytes.subarray(preambleLength(preamble)));
    return true;
  }

  legEof(leg: Leg): void {
    this.#listener.helloGone(leg);
    leg.close();
  }

  legFailed(leg: Leg): void {
    this.#listener.helloGone(leg);
  }

  legClosed(leg: Leg): void {
    this.#listener.helloGone(leg);
  }
}
