const tls = require('tls');

const socket = tls.connect(Number(process.env.PORT), '127.0.0.1', { servername: 'localhost' }, () => {
  if (!socket.authorized) process.exitCode = 3;
  socket.end('GET / HTTP/1.0\r\n\r\n');
});
socket.pipe(process.stdout);
