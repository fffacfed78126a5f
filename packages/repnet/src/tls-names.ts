/**
 * The names of a TLS connection over a replicated flow. TLS asks a TCP handle for them, which such a flow does not have: without this,
 * `request.socket.remoteAddress` of an https server would be undefined.
 */
import type net = require('node:net');
import type tls = require('node:tls');

import { mirror } from './graft';
import { ReplicatedSocket } from './socket';

/** A TLS socket's way to the stream that it speaks over, in every version from 20 on. */
type WithStream = tls.TLSSocket & { _handle: { _parentWrap?: { stream?: unknown } } | null };

function name(secured: WithStream): void {
  const stream = secured._handle?._parentWrap?.stream;
  if (stream instanceof ReplicatedSocket) mirror(secured, stream);
}

const named = (secured: tls.TLSSocket): void => name(secured as WithStream);
const namedAfterError = (_error: Error, secured: tls.TLSSocket): void => name(secured as WithStream);

/** Lets the connections of a TLS server (https, http2) have the names of the flows that they come over. */
export function nameSecured(server: net.Server): void {
  if (server.listeners('secureConnection').includes(named)) return;
  server.prependListener('secureConnection', named);
  server.prependListener('tlsClientError', namedAfterError);
}
