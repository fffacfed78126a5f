/** Types of the exports that `repnet` adds to `net` or replaces. */
import type net = require('node:net');

import type * as front from './api';
import type { Options } from './config';
import type { RepnetError } from './errors';
import type { GlobalSettings } from './settings';
import type { Stats } from './stats';

export interface Connect {
  (options: net.NetConnectOpts & front.ReplicationOption, connectionListener?: () => void): net.Socket;
  (port: number, host?: string, connectionListener?: () => void): net.Socket;
  (port: number, connectionListener: () => void): net.Socket;
  (path: string, connectionListener?: () => void): net.Socket;
}

export interface CreateServer {
  (connectionListener?: (socket: net.Socket) => void): net.Server;
  (options?: net.ServerOpts & front.ServerReplicationOption, connectionListener?: (socket: net.Socket) => void): net.Server;
}

export interface SocketConstructor {
  new (options?: net.SocketConstructorOpts & front.ReplicationOption): net.Socket;
  readonly prototype: net.Socket;
}

export interface Repnet {
  readonly connect: Connect;
  readonly createConnection: Connect;
  readonly createServer: CreateServer;
  readonly Socket: SocketConstructor;
  readonly Stream: SocketConstructor;
  readonly Server: typeof net.Server;
  /** Like `server.listen(...args)`, but also opens the replica port, for any Node server (http, https, tls...). */
  listenReplicated<S extends net.Server>(server: S, args: unknown[], settings?: front.ServerReplicationOption['repnet']): S;
  /**
   * Changes the configuration of the process, for flows and servers that start later.
   *
   * @throws RepnetError with `ERR_REPNET_CONFIG`. Nothing is changed then.
   */
  configure(options: Options): void;
  /** Returns the present configuration. Targets have the form in which the user wrote them. */
  configuration(): GlobalSettings & { targets: string[] };
  /** Returns the counters since the start of the process, and gauges of its present state. */
  stats(): Stats;
  /**
   * Checks whether a repnet server listens on the replica port of a listed target.
   * After `true`, even the first flow to the target is replicated.
   *
   * @returns false for a target that is not listed. Nothing is sent to it.
   */
  probe(target: { host: string; port: number; repnet?: front.ReplicationOption['repnet'] }): Promise<boolean>;
  readonly RepnetError: typeof RepnetError;
}
