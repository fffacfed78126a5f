/** Tests with real Redis and memcached through two proxies. The path is plain TCP, RepNet, plain TCP. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import memjs from 'memjs';
import { Proxy, parseConfig } from 'repnet/proxy';
import { MODES, PAIRINGS, replicatedFlows } from '../harness/replication';
import { startServer } from './servers';

for (const mode of MODES) {
  for (const pairing of PAIRINGS) {
    const between = async (t: TestContext, server: number): Promise<number> => {
      const inner = new Proxy(
        parseConfig({
          routes: [{ name: 'in', listen: '127.0.0.1:0', to: `127.0.0.1:${server}`, replicate: 'in', mode, pairing }],
          admin: false,
        }),
      );
      await inner.start();
      const outer = new Proxy(
        parseConfig({
          routes: [
            {
              name: 'out',
              listen: '127.0.0.1:0',
              to: `127.0.0.1:${inner.address('in')?.port}`,
              replicate: 'out',
              mode,
              pairing,
              assumeCapable: true,
            },
          ],
          admin: false,
          drainTimeout: 0,
        }),
      );
      await outer.start();
      t.after(async () => {
        await outer.stop();
        await inner.stop();
      });
      return outer.address('out')?.port as number;
    };

    test(`ioredis talks to a real Redis through two proxies (${mode}, ${pairing})`, async (t) => {
      const server = await startServer(t, 'redis-server');
      if (server === undefined) return;
      const before = replicatedFlows();
      const port = await between(t, server);
      const redis = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: null });
      await redis.connect();
      const large = 'v'.repeat(300_000);
      await redis.set('small', '1');
      assert.equal(await redis.get('small'), '1');
      await Promise.all(Array.from({ length: 500 }, () => redis.incr('small')));
      assert.equal(await redis.get('small'), '501');
      await redis.set('large', large);
      assert.equal(await redis.get('large'), large);
      await redis.quit();
      assert.equal(replicatedFlows() - before, 1);
    });

    test(`memjs talks to a real memcached through two proxies (${mode}, ${pairing})`, async (t) => {
      const server = await startServer(t, 'memcached');
      if (server === undefined) return;
      const port = await between(t, server);
      const client = memjs.Client.create(`127.0.0.1:${port}`);
      const value = Buffer.from('m'.repeat(50_000));
      await client.set('key', value, { expires: 60 });
      const { value: stored } = await client.get('key');
      assert.deepEqual(stored, value);
      assert.equal((await client.get('absent')).value, null);
      client.quit();
    });
  }
}
