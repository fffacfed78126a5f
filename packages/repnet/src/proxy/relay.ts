/**
 * One flow through the proxy: two sockets, bytes both ways, each end's FIN and reset handed on.
 */
import type { Duplex } from 'node:stream';

import { endsByFin } from '../certain-end';
import { stock } from '../stock';

/** What the relay needs of a socket: `net.Socket` and the replicated one both have it. */
export interface Relayed extends Duplex {
  readonly bytesRead: number;
  resetAndDestroy(): this;
}

export interface RelayEnd {
  /** Bytes from the accepted side. */
  bytesIn: number;
  /** Bytes from the target. */
  bytesOut: number;
  /** The first error's code; undefined after two FINs. */
  error: string | undefined;
  /** Which side failed. */
  failed: 'accepted' | 'target' | undefined;
}

/**
 * Joins both sockets until both are closed. A failure of one resets the other, so that neither
 * peer takes a cut stream for a finished one.
 */
export function relay(accepted: Relayed, target: Relayed, done: (end: RelayEnd) => void): void {
  const end: RelayEnd = { bytesIn: 0, bytesOut: 0, error: undefined, failed: undefined };
  let open = 2;
  const watch = (name: 'accepted' | 'target', socket: Relayed, other: Relayed): void => {
    // A replicated socket's end is certain.
    if (socket instanceof stock.Socket) endsByFin(socket);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (end.failed === undefined) {
        end.failed = name;
        end.error = error.code ?? error.name;
      }
      if (!other.destroyed) other.resetAndDestroy();
    });
    socket.on('close', () => {
      // Closed without a FIN from its peer: the other side must not see a clean end either.
      if (!socket.readableEnded && !other.destroyed) other.resetAndDestroy();
      open -= 1;
      if (open === 0) {
        end.bytesIn = accepted.bytesRead;
        end.bytesOut = target.bytesRead;
        done(end);
      }
    });
  };
  watch('accepted', accepted, target);
  watch('target', target, accepted);
  accepted.pipe(target);
  target.pipe(accepted);
}
