import http from 'http';

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const get = () =>
  new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port: process.env.PORT, agent }, async (response) => resolve(await response.toArray()))
      .on('error', reject);
  });
await get();
process.stdout.write(Buffer.concat(await get()));
agent.destroy();
