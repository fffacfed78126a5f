/** The types of what `repnet` adds to `net`, or puts in front of it. */
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
  /** `server.listen(...args)` with the replica port, for any server of Node's (http, https, tls...). */
  listenReplicated<S extends net.Server>(server: S, args: unknown[], settings?: front.ServerReplicationOption['repnet']): S;
  /**
   * Changes the configuration of the process, for flows and servers that start later.
   * @throws RepnetError with `ERR_REPNET_CONFIG`; nothing is changed then.
   */
  configure(options: Options): void;
  /** The configuration in force, targets as they were written. */
  configuration(): GlobalSettings & { targets: string[] };
  /** Counters since the process started, and what is held now. */
  stats(): Stats;
  /**
   * Finds out whether a repnet server listens at the replica port of a listed target, so that the first flow can already be replicated.
   * @returns false for a target that is not listed, without sending anything.
   */
  probe(target: { host: string; port: number; repnet?: front.ReplicationOption['repnet'] }): Promise<boolean>;
  readonly RepnetError: typeof RepnetError;
}
