/**
 * Node's own adapter from a stream to a socket with a native handle. http2 and TLS put one before
 * every stream that has none, and take that stream for a connection that is there already. One that
 * is made here, and given to them, is connecting as long as the flow is, and has the flow's names.
 */
import type net = require('node:net');
import stream = require('node:stream');
import type tls = require('node:tls');

import { mirror } from './graft';
import type { ReplicatedSocket } from './socket';

type Adapter = net.Socket & { connecting: boolean };
type AdapterClass = new (stream: stream.Duplex) => Adapter;

let found: AdapterClass | undefined;

/** Node does not export the class; TLS shows one that it made. */
function adapterClass(): AdapterClass {
  if (!found) {
    const { TLSSocket } = require('node:tls') as typeof tls;
    const { _handle: handle } = new TLSSocket(new stream.Duplex()) as unknown as { _handle: { _parentWrap: Adapter } };
    found = handle._parentWrap.constructor as AdapterClass;
    handle._parentWrap.destroy();
  }
  return found;
}

/** Events of a socket on its way to its peer. */
const FORWARDED = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout', 'ready'];

/** `socket` for http2 or TLS. */
export function adapt(socket: ReplicatedSocket): net.Socket {
  const before = socket.listeners('error');
  const adapter = new (adapterClass())(socket);
  mirror(adapter, socket);
  // The adapter only reports errors. An error destroys the socket, which reports it once.
  for (const listener of socket.listeners('error')) if (!before.includes(listener)) socket.off('error', listener as () => void);
  socket.on('error', (error) => adapter.destroy(error));
  // Reading this property also marks the socket as taken over: the owner of the adapter decides when it ends.
  adapter.allowHalfOpen = socket.allowHalfOpen;
  adapter.connecting = socket.connecting;
  socket.once('connect', () => {
    adapter.connecting = false;
    adapter.emit('connect');
  });
  for (const event of FORWARDED) socket.on(event, (...args: unknown[]) => void adapter.emit(event, ...args));
  return adapter;
}
