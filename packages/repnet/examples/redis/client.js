'use strict';

/**
 * node client.js [host:port]
 *
 * Requests to a Redis server without RepNet, through two proxies (see README.md).
 * Both proxies run in this process, so that the example is one file.
 */
const { Redis } = require('ioredis');
const { Proxy, parseConfig } = require('repnet/proxy');
const repnet = require('repnet');

const redisAt = process.argv[2] ?? '127.0.0.1:6379';
const requests = Number(process.env.REQUESTS ?? 1000);

async function main() {
  // This proxy runs on the Redis host, in front of Redis.
  const front = new Proxy(parseConfig({ admin: false, routes: [{ name: 'front', listen: '127.0.0.1:0', to: redisAt, replicate: 'in' }] }));
  await front.start();
  const { port: middle } = front.address('front');

  // This proxy runs on the client's host, behind the client.
  const behind = new Proxy(
    parseConfig({ admin: false, routes: [{ name: 'behind', listen: '127.0.0.1:0', to: `127.0.0.1:${middle}`, replicate: 'out' }] }),
  );
  await behind.start();

  // The client is unchanged, but connects to the proxy instead of Redis.
  const redis = new Redis({ host: '127.0.0.1', port: behind.address('behind').port });
  const times = [];
  for (let i = 0; i < requests; i += 1) {
    const start = performance.now();
    await redis.set(`key:${i % 100}`, i);
    times.push(performance.now() - start);
  }
  await redis.quit();
  await behind.stop();
  await front.stop();

  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(2);
  console.log(`${requests} requests; median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
  console.log(JSON.stringify(repnet.stats()));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
