/** The end of a stock socket's stream, told from a reset. */
import type net = require('node:net');

type WithHandle = net.Socket & { _handle: { readStart(): number } | null };

/**
 * Makes a socket say 'end' at a FIN, and only then. libuv reports data and a reset that come together as data and an end: the first end is
 * not believed, reading once more gives an end again after a FIN, and an error after a reset.
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
