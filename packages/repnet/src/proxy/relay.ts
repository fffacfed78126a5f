/**
 * Relay of one flow through the proxy: it copies bytes between two sockets in both directions.
 * A FIN or a reset of one socket is forwarded to the other socket.
 */
import type { Duplex } from 'node:stream';

import { endsByFin } from '../certain-end';
import { stock } from '../stock';

/** Members of a socket that the relay needs. A `net.Socket` and a replicated socket have them. */
export interface Relayed extends Duplex {
  readonly bytesRead: number;
  resetAndDestroy(): this;
  setTimeout(milliseconds: number, callback: () => void): this;
}

export interface RelayEnd {
  /** Number of bytes from the accepted socket. */
  bytesIn: number;
  /** Number of bytes from the target. */
  bytesOut: number;
  /** Code of the first error. `undefined`: both sockets have ended with a FIN. */
  error: string | undefined;
  /** Socket that failed. */
  failed: 'accepted' | 'target' | undefined;
}

/**
 * Copies bytes in both directions until both sockets are closed.
 * After `idleTimeout` milliseconds without a byte in either direction, both sockets are reset.
 * If one socket fails, the other one is reset.
 * Otherwise its peer would mistake an incomplete stream for a complete one.
 */
export function relay(accepted: Relayed, target: Relayed, idleTimeout: number, done: (end: RelayEnd) => void): void {
  const end: RelayEnd = { bytesIn: 0, bytesOut: 0, error: undefined, failed: undefined };
  let open = 2;
  const watch = (name: 'accepted' | 'target', socket: Relayed, other: Relayed): void => {
    // A replicated socket already distinguishes a FIN from a reset.
    if (socket instanceof stock.Socket) endsByFin(socket);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (end.failed === undefined) {
        end.failed = name;
        end.error = error.code ?? error.name;
      }
      if (!other.destroyed) other.resetAndDestroy();
    });
    socket.on('close', () => {
      // The socket was closed without a FIN from its peer, so the other peer must not receive a FIN either.
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
  if (Number.isFinite(idleTimeout)) {
    // Each byte of the flow passes this socket, so its timer sees both directions.
    accepted.setTimeout(idleTimeout, () => {
      end.failed ??= 'accepted';
      end.error ??= 'ETIMEDOUT';
      for (const socket of [accepted, target]) if (!socket.destroyed) socket.resetAndDestroy();
    });
  }
  accepted.pipe(target);
  target.pipe(accepted);
}
