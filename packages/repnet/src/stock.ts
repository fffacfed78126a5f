/**
 * Node's own `net`, saved before any part of it is replaced.
 * Connections of a flow use it, so that they are not replicated themselves.
 */
import net = require('node:net');

import { connectUnpublished } from './socket-channels';

const { Socket } = net;
const connectSocket = Socket.prototype.connect as (this: net.Socket, options: net.NetConnectOpts) => net.Socket;

/** Functions and classes of `net` that repnet replaces. */
export const stock = {
  connect: net.connect,
  createServer: net.createServer,
  Socket,
  Server: net.Server,
};

/** Opens a stock connection of a flow, like `net.connect(options)`. */
export function connectStock(options: net.TcpNetConnectOpts): net.Socket {
  return connectUnpublished(() => connectSocket.call(new Socket(options as net.SocketConstructorOpts), options));
}
