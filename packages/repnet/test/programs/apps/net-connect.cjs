const socket = require('net').connect({ host: '127.0.0.1', port: process.env.PORT });
socket.pipe(process.stdout);
socket.end('GET / HTTP/1.0\r\n\r\n');
