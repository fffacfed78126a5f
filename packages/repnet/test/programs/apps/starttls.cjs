// The order is the same as in pg: a plain socket, eight bytes, one byte back, then TLS on the same connection.
const net = require('net');
const tls = require('tls');

const plain = new net.Socket();
plain.connect(process.env.PORT, '127.0.0.1');
plain.once('connect', () => plain.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])));
plain.once('data', (answer) => {
  if (answer.toString() !== 'S') process.exit(3);
  const secure = tls.connect({ socket: plain, servername: 'localhost' });
  secure.on('secureConnect', () => secure.end('GET / HTTP/1.0\r\n\r\n'));
  secure.pipe(process.stdout);
});
