/** Package `repnet` for `import`. It exports the same object as `require`, so there is no second copy of the state. */
import net from './index.js';

export default net;
export const {
  BlockList,
  Server,
  Socket,
  SocketAddress,
  Stream,
  connect,
  createConnection,
  createServer,
  getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout,
  isIP,
  isIPv4,
  isIPv6,
  setDefaultAutoSelectFamily,
  setDefaultAutoSelectFamilyAttemptTimeout,
  RepnetError,
  configuration,
  configure,
  listenReplicated,
  probe,
  stats,
} = net;
export type Socket = net.Socket;
export type Server = net.Server;
export type BlockList = net.BlockList;
export type SocketAddress = net.SocketAddress;
export type AddressInfo = net.AddressInfo;
export type NetConnectOpts = net.NetConnectOpts;
export type TcpNetConnectOpts = net.TcpNetConnectOpts;
export type IpcNetConnectOpts = net.IpcNetConnectOpts;
export type SocketConstructorOpts = net.SocketConstructorOpts;
export type ServerOpts = net.ServerOpts;
export type ListenOptions = net.ListenOptions;
export type LookupFunction = net.LookupFunction;
export type SocketReadyState = net.SocketReadyState;
export type OnReadOpts = net.OnReadOpts;
export type FlowSettings = net.FlowSettings;
export type GlobalSettings = net.GlobalSettings;
export type Messages = net.Messages;
export type Options = net.Options;
export type RepnetErrorCode = net.RepnetErrorCode;
export type Stats = net.Stats;
export type TargetOptions = net.TargetOptions;
