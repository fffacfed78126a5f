/**
 * Adapter from a replicated socket to a socket with a native handle, for http2 and TLS.
 * For a stream without such a handle, http2 and TLS create Node's own adapter.
 * Node's adapter treats the stream as already connected. This module creates the adapter instead and gives it to them.
 * Until the flow is open, the adapter reports that it is connecting. It has the flow's addresses.
 */
import type net = require('node:net');
import stream = require('node:stream');
import type tls = require('node:tls');

import { mirror } from './graft';
import type { ReplicatedSocket } from './socket';

type Adapter = net.Socket & { connecting: boolean };
type AdapterClass = new (stream: stream.Duplex) => Adapter;

let found: AdapterClass | undefined;

/** Returns the class of Node's adapter. Node does not export the class, but TLS returns an object of it. */
function adapterClass(): AdapterClass {
  if (!found) {
    const { TLSSocket } = require('node:tls') as typeof tls;
    const { _handle: handle } = new TLSSocket(new stream.Duplex()) as unknown as { _handle: { _parentWrap: Adapter } };
    found = handle._parentWrap.constructor as AdapterClass;
    handle._parentWrap.destroy();
  }
  return found;
}

/** Events of a socket while it connects. */
const FORWARDED = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout', 'ready'];

/** Returns the adapter that http2 or TLS uses in place of `socket`. */
export function adapt(socket: ReplicatedSocket): net.Socket {
  const before = socket.listeners('error');
  const adapter = new (adapterClass())(socket);
  mirror(adapter, socket);
  // The adapter only reports errors. An error destroys the socket, which then reports the error once.
  for (const listener of socket.listeners('error')) if (!before.includes(listener)) socket.off('error', listener as () => void);
  socket.on('error', (error) => adapter.destroy(error));
  // Reading this property also marks the socket as taken over. The adapter's owner then decides when the socket ends.
  adapter.allowHalfOpen = socket.allowHalfOpen;
  adapter.connecting = socket.connecting;
  socket.once('connect', () => {
    adapter.connecting = false;
    adapter.emit('connect');
  });
  for (const event of FORWARDED) socket.on(event, (...args: unknown[]) => void adapter.emit(event, ...args));
  return adapter;
}
