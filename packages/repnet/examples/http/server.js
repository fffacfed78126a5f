'use strict';

// HTTP server for replicated flows: repnet accepts the connections, and http uses them.
const http = require('node:http');
const repnet = require('repnet');

const web = http.createServer((request, response) => {
  response.end(`hello from ${request.url}\n`);
});

const server = repnet.createServer((socket) => web.emit('connection', socket));

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  const { port } = server.address();
  console.log(`http://127.0.0.1:${port}/ (plain), replicas on ${port + 1}`);
});
