/** Distinction between a FIN and a reset at the end of a stock socket's stream. */
import type net = require('node:net');

type WithHandle = net.Socket & { _handle: { readStart(): number } | null };

/**
 * Makes a socket emit 'end' only at a FIN.
 * If data and a reset arrive together, libuv reports the data and then an end of the stream.
 * So the first end is not trusted. The next read reports an end again after a FIN, and an error after a reset.
 */
export function endsByFin(socket: net.Socket): void {
  const { push } = socket;
  let again = false;
  socket.push = (chunk, encoding) => {
    if (chunk !== null || again || (socket as WithHandle)._handle?.readStart() !== 0) return push.call(socket, chunk, encoding);
    again = true;
    return false;
  };
}
