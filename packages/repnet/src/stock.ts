/** Node's own `net` before any part of it was replaced: the legs of a flow are never replicated themselves. */
import net = require('node:net');

const { Socket } = net;
const connectSocket = Socket.prototype.connect as (this: net.Socket, options: net.NetConnectOpts) => net.Socket;

/** Functions and classes of `net` that repnet replaces. */
export const stock = {
  connect: net.connect,
  createServer: net.createServer,
  Socket,
  Server: net.Server,
};

/** `net.connect(options)`. */
export function connectStock(options: net.TcpNetConnectOpts): net.Socket {
  return connectSocket.call(new Socket(options as net.SocketConstructorOpts), options);
}
