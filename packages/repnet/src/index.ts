/** Package `repnet`: all exports of `net`, with replication for listed targets. */
import './node-only';

import net = require('node:net');

import * as front from './api';
import type * as config from './config';
import { type RepnetErrorCode as ErrorCode, RepnetError } from './errors';
import type * as events from './events';
import type { Connect, CreateServer, Repnet, SocketConstructor } from './public-types';
import { runtime } from './runtime';
import type * as settings from './settings';
import * as statistics from './stats';

function configuration(): settings.GlobalSettings & { targets: string[] } {
  const { rules, ...rest } = runtime.config;
  return { ...rest, targets: rules.map((rule) => rule.text) };
}

const own: Repnet = {
  connect: front.connect as Connect,
  createConnection: front.connect as Connect,
  createServer: front.createServer as CreateServer,
  Socket: front.Socket as SocketConstructor,
  Stream: front.Socket as SocketConstructor,
  Server: front.Server,
  listenReplicated: front.listenReplicated,
  configure: (options) => runtime.configure(options),
  configuration,
  stats: statistics.snapshot,
  probe: front.probe,
  RepnetError,
};

/** Copies accessors of `net` without calling them, because `net` creates some exports only at their first use. */
// biome-ignore lint/correctness/noUnusedVariables: the export below is this constant and the namespace of its name
const api = Object.defineProperties({}, Object.getOwnPropertyDescriptors(net)) as Omit<typeof net, keyof Repnet> & Repnet;
Object.defineProperties(api, Object.getOwnPropertyDescriptors(own));

declare namespace api {
  export type FlowSettings = settings.FlowSettings;
  export type GlobalSettings = settings.GlobalSettings;
  export type Messages = events.Messages;
  export type Options = config.Options;
  export type TargetOptions = config.TargetOptions;
  export type RepnetErrorCode = ErrorCode;
  export type Stats = statistics.Stats;
  export type Socket = net.Socket;
  export type Server = net.Server;
  export type AddressInfo = net.AddressInfo;
  export type BlockList = net.BlockList;
  export type SocketAddress = net.SocketAddress;
  export type NetConnectOpts = net.NetConnectOpts & front.ReplicationOption;
  export type TcpNetConnectOpts = net.TcpNetConnectOpts & front.ReplicationOption;
  export type IpcNetConnectOpts = net.IpcNetConnectOpts;
  export type SocketConstructorOpts = net.SocketConstructorOpts & front.ReplicationOption;
  export type ServerOpts = net.ServerOpts & front.ServerReplicationOption;
  export type ListenOptions = net.ListenOptions & front.ServerReplicationOption;
  export type LookupFunction = net.LookupFunction;
  export type SocketReadyState = net.SocketReadyState;
  export type OnReadOpts = net.OnReadOpts;
}

export = api;
