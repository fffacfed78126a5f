import { createConnection } from 'node:net';

const socket = createConnection(Number(process.env.PORT), '127.0.0.1', () => {
  socket.end('GET / HTTP/1.0\r\n\r\n');
});
socket.pipe(process.stdout);
