/**
 * Addresses of TLS connections over replicated flows.
 * TLS reads the addresses from a TCP handle, which a replicated flow does not have.
 * Without this module, `request.socket.remoteAddress` of an https server would be undefined.
 */
import type net = require('node:net');
import type tls = require('node:tls');

import { mirror } from './graft';
import { ReplicatedSocket } from './socket';

/** TLS socket with its internal reference to the stream below it, in all versions since Node 20. */
type WithStream = tls.TLSSocket & { _handle: { _parentWrap?: { stream?: unknown } } | null };

function name(secured: WithStream): void {
  const stream = secured._handle?._parentWrap?.stream;
  if (stream instanceof ReplicatedSocket) mirror(secured, stream);
}

const named = (secured: tls.TLSSocket): void => name(secured as WithStream);
const namedAfterError = (_error: Error, secured: tls.TLSSocket): void => name(secured as WithStream);

/** Gives the connections of a TLS server (https, http2) the addresses of their flows. */
export function nameSecured(server: net.Server): void {
  if (server.listeners('secureConnection').includes(named)) return;
  server.prependListener('secureConnection', named);
  server.prependListener('tlsClientError', namedAfterError);
}
