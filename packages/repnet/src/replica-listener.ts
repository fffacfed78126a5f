/**
 * Listener on the replica port of a server.
 * The listener reads the hello of each connection, and assigns the connection to a flow.
 * With port pairing, it also accepts the connections to port N.
 */
import { AsyncResource } from 'node:async_hooks';

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
import { hideAccepted, publishAccepted } from './socket-channels';
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

/** Server with internal members of `net.Server`, in all versions since Node 20. */
export type ServerInside = net.Server & {
  allowHalfOpen?: boolean;
  pauseOnConnect?: boolean;
  noDelay?: boolean;
  keepAlive?: boolean;
  /** Idle time in seconds before the first keepalive probe. */
  keepAliveInitialDelay?: number;
  highWaterMark?: number;
  blockList?: net.BlockList;
  setSecureContext?: unknown;
  updateSettings?: unknown;
  _connections: number;
  _emitCloseIfDrained?(): void;
};

/** Function that stores the address of a TCP handle in `name`. @returns 0 if there is no error */
type OwnName = (this: object, name: Partial<net.AddressInfo>) => number;

type AcceptedSocket = net.Socket & { server: net.Server; _server: net.Server; _handle: { getsockname: OwnName } };

export type ListenerSettings = GlobalSettings & FlowSettings;

/**
 * Returns whether the server is an http2 server without TLS.
 * For a stream without a native handle, such a server uses an adapter without addresses.
 */
const isHttp2 = (server: ServerInside): boolean => server.updateSettings !== undefined && server.setSecureContext === undefined;

/** Owner of a connection that was given up, or that is about to get another owner. */
const NOBODY: LegOwner = { legData: () => true, legEof: () => {}, legFailed: () => {}, legClosed: () => {} };

export class ReplicaListener {
  /** Server that listens on the replica port. */
  readonly server: net.Server;
  /** Identifier that distinguishes this server from other servers behind the same address. */
  readonly instanceId = randomId();
  readonly #main: ServerInside;
  readonly #settings: ListenerSettings;
  readonly #table: FlowTable;
  /** Connections that have not ended and whose hello is incomplete or was refused. */
  readonly #hellos: ExpiryQueue<Leg, Leg>;
  readonly #refused: LegOwner = {
    legData: () => true,
    legEof: (leg) => leg.close(),
    legFailed: (leg) => this.helloGone(leg),
    legClosed: (leg) => this.helloGone(leg),
  };
  /** Port of the service, which clients connect to. */
  readonly #port: number;
  /** Function that reads the address of a handle, with the service's port. It is called only on request. */
  readonly #ownName: OwnName;
  /** Asynchronous context of `listen()`, in which the application gets its connections. */
  readonly #context = new AsyncResource('RepnetListener');
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
    const { noDelay, keepAlive, highWaterMark, blockList } = this.#main;
    // A server stores this delay in seconds.
    const keepAliveInitialDelay = (this.#main.keepAliveInitialDelay ?? 0) * 1_000;
    const options = { allowHalfOpen: true, noDelay, keepAlive, keepAliveInitialDelay, highWaterMark, blockList };
    const byPort = settings.pairing === 'port';
    this.server = new stock.Server(options, (socket) => (byPort ? this.acceptPlain(1, socket) : this.#expectHello(socket)));
  }

  get pairing(): 'hello' | 'port' {
    return this.#settings.pairing;
  }

  /** Stops accepting connections. Open flows continue. */
  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.server.close();
    for (const leg of this.#hellos.values()) this.#dropHello(leg);
    this.#hellos.clear();
    this.#table.stop();
  }

  /**
   * Accepts a connection with port pairing, to N (index 0) or N+1 (index 1). Its source address identifies the flow.
   */
  acceptPlain(index: 0 | 1, socket: net.Socket): void {
    hideAccepted();
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
      if (this.#refusal()) leg.reset();
      else this.#open(id, leg, 'repflow');
    } else if (place.kind === 'known') place.flow.legJoined(leg);
    else this.#late(id, leg);
  }

  /** Removes a connection from the stock server's count, because flows are counted instead. */
  #forget(socket: net.Socket, server: net.Server): void {
    (socket as net.Socket & { _server: unknown })._server = null;
    (server as ServerInside)._connections--;
  }

  #expectHello(socket: net.Socket): void {
    hideAccepted();
    this.#forget(socket, this.server);
    // The connection was already reset, so a flow on it would have no client.
    // The address shows this, because the kernel removes it at a reset.
    if (socket.remoteAddress === undefined) {
      socket.on('error', () => {}).destroy();
      return;
    }
    this.#hold(new Leg(socket, 0, new ServerHello(this)));
  }

  /**
   * Counts a connection that belongs to no flow.
   * The connection is closed after a time, or if there are too many of these connections.
   */
  #hold(leg: Leg): void {
    counters.held.pendingHellos++;
    this.#hellos.add(leg, leg, Math.min(this.#settings.pendingHellos, this.#main.maxConnections ?? Number.POSITIVE_INFINITY));
  }

  /** Called when a connection has ended or its hello is complete. */
  helloGone(leg: Leg): void {
    if (this.#hellos.delete(leg)) counters.held.pendingHellos--;
  }

  #dropHello(leg: Leg): void {
    counters.held.pendingHellos--;
    // A connection with the owner `#refused` has sent its hello and got an answer, so its hello was not too late.
    if (leg.owner !== this.#refused) countDrop('hello_timeout');
    leg.owner = NOBODY;
    leg.reset();
  }

  /**
   * Called when the hello is complete or wrong.
   *
   * @param preamble bytes of a preamble of another version, or `undefined` for other bytes
   * @param rest bytes after the preamble
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
      if (this.#refusal()) {
        this.#hangUp(leg, this.#banner(preamble, 'busy'));
        return;
      }
      const banner = this.#banner(preamble, 'opened');
      // With `pauseOnConnect`, the application expects a socket from which nothing was read.
      // The hello was read from this socket.
      if (preamble.mode === 'repsyn' && rest.length > 0 && !this.#main.pauseOnConnect) {
        this.#handOver(preamble, leg, banner, rest);
        return;
      }
      // If bytes of the client's application have arrived, the server's application may answer soon.
      // One write then sends the banner and the answer.
      if (rest.length > 0) leg.sendSoon(banner);
      else leg.send([banner]);
      this.#open(preamble.flowId, leg, preamble.mode);
    }
    if (rest.length > 0) leg.owner.legData(leg, rest);
  }

  /**
   * Returns whether a connection may join a flow. A connection that joins can read the flow's bytes and write some.
   * So by default it must come from the address that opened the flow.
   */
  #isFrom({ from }: Flow, { socket }: Leg): boolean {
    return this.#settings.secondLegFrom === 'anywhere' || from === socket.remoteAddress;
  }

  /**
   * Adds a second connection to a flow that has been idle.
   * If the connection does not fit, it is refused, and the flow continues unchanged.
   */
  #rejoin(preamble: Preamble, rejoin: Rejoin, leg: Leg, rest: Buffer): void {
    const flow = this.#table.live(preamble.flowId);
    if (!flow || this.#closing || !this.#isFrom(flow, leg) || !flow.messages.standsAt(leg.index, rejoin)) {
      this.#hangUp(leg, this.#banner(preamble, 'busy'));
      return;
    }
    leg.send([this.#banner(preamble, 'joined')]);
    flow.messages.legRejoined(leg, rejoin);
    if (rest.length > 0) leg.owner.legData(leg, rest);
  }

  /**
   * Opens an eager RepSYN flow.
   * Bytes after the hello show that the client has chosen this connection, so the flow starts in the state CHOSEN.
   * There is no second connection to merge, so the application gets the stock socket itself.
   * The flow's identifier immediately becomes a tombstone.
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
    // The method is replaced on the handle, because TLS calls the handle's method.
    socket._handle.getsockname = this.#ownName;
    socket.on('close', () => {
      counters.flows.live--;
      publish('repnet:flow:end', () => ({ ...names(), error: undefined, delivered: socket.bytesRead, written: socket.bytesWritten }));
    });
    publish('repnet:leg:open', () => ({ ...names(), leg: index, address: socket.remoteAddress, port: socket.remotePort }));
    publish('repnet:flow:chosen', () => ({ ...names(), leg: index, reason: 'choice_learned' }));
    Object.defineProperties(socket, COUNTED_FROM_HELLO);
    this.#announce(socket, socket);
    publish('repnet:flow:open', () => ({ ...names(), leg: index, mode }));
  }

  #banner(preamble: Preamble, status: Status): Buffer {
    const flowCheck = preamble.flowId.slice(0, 8);
    return encodeBanner({ version: VERSION, status, leg: preamble.leg, flowCheck, instanceId: this.instanceId });
  }

  /** Sends a refusal, or the answer to a probe. The connection stays open until the client has closed it, too. */
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

  /** @returns whether the server refuses new flows */
  #refusal(): boolean {
    if (this.#closing) {
      counters.flows.refused.closing++;
      return true;
    }
    const { maxConnections, _connections } = this.#main;
    if (maxConnections == null || _connections < maxConnections) return false;
    // The client then connects to port N, and Node emits 'drop' for that connection.
    counters.flows.refused.full++;
    return true;
  }

  /** Gives a connection to the application. @param published socket for Node's channel of accepted sockets */
  #announce(given: unknown, published: net.Socket): void {
    this.#context.runInAsyncScope(() => {
      this.#main.emit('connection', given);
      publishAccepted(published);
    });
  }

  #open(id: string, leg: Leg, mode: Mode): Flow {
    const main = this.#main;
    const from = leg.socket.remoteAddress;
    const flow = new Flow({ id, role: 'server', mode, settings: this.#settings, registry: this.#table, from });
    const accepted = {
      flow,
      port: this.#port,
      opened: () => this.#announce(isHttp2(main) ? adapt(socket) : socket, socket as unknown as net.Socket),
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

/**
 * Byte counters that leave out the bytes of the hello.
 * All sockets share one pair of functions, so that V8 sees one shape.
 */
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

/** Hello of a client on one connection, as the server receives it. */
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
