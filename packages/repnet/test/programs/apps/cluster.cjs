const cluster = require('node:cluster');
const http = require('node:http');

const port = Number(process.env.PORT);

if (cluster.isPrimary) {
  const worker = cluster.fork();
  worker.on('listening', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    process.stdout.write(await response.text());
    worker.kill();
  });
} else {
  http.createServer((_request, response) => response.end('answered')).listen(port, '127.0.0.1');
}
