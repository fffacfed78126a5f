// pg and mysql2 open their connections in this way.
const { Socket } = require('net');

const socket = new Socket();
socket.setNoDelay(true);
socket.setKeepAlive(true);
socket.once('connect', () => {
  if (!(socket instanceof Socket) || socket.remotePort !== Number(process.env.PORT)) process.exitCode = 3;
  socket.end('GET / HTTP/1.0\r\n\r\n');
});
socket.connect(process.env.PORT, '127.0.0.1');
socket.on('data', (data) => process.stdout.write(data));
