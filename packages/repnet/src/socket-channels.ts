/**
 * Node's channels `net.client.socket` and `net.server.socket`.
 * The channels publish the sockets of the application, one for each flow.
 * The connections of a flow are stock sockets, which Node would publish, too.
 */
import diagnostics = require('node:diagnostics_channel');
import type net = require('node:net');

const client = diagnostics.channel('net.client.socket');
const server = diagnostics.channel('net.server.socket');

/** Whether `net.connect()` publishes a socket. Since Node 22, the socket's method `connect()` publishes it. */
const BY_FUNCTION = Number.parseInt(process.versions.node, 10) < 22;

/** Hides the subscribers of a channel from Node, until the returned function is called. */
function mute(channel: diagnostics.Channel): () => void {
  Object.defineProperty(channel, 'hasSubscribers', { value: false, configurable: true });
  return () => void Reflect.deleteProperty(channel, 'hasSubscribers');
}

/** Runs `connect`, whose sockets are not published. */
export function connectUnpublished<Result>(connect: () => Result): Result {
  if (!client.hasSubscribers) return connect();
  const restore = mute(client);
  try {
    return connect();
  } finally {
    restore();
  }
}

/**
 * Publishes a client's socket, if Node would publish it at this point.
 *
 * @param byFunction whether the application called `net.connect()`
 */
export function publishClient(socket: net.Socket, byFunction: boolean): void {
  if ((byFunction || !BY_FUNCTION) && client.hasSubscribers) client.publish({ socket });
}

/** Hides a connection that Node has just accepted. Node publishes it after the listeners of 'connection' have run. */
export function hideAccepted(): void {
  if (server.hasSubscribers) process.nextTick(mute(server));
}

/** Publishes the socket of a flow that a server has accepted. */
export function publishAccepted(socket: net.Socket): void {
  const hidden = Object.hasOwn(server, 'hasSubscribers');
  if (hidden) Reflect.deleteProperty(server, 'hasSubscribers');
  if (server.hasSubscribers) server.publish({ socket });
  // The connection below this socket must still be hidden.
  if (hidden) mute(server);
}
