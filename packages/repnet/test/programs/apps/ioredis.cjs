const { Redis } = require('ioredis');

const redis = new Redis({ host: '127.0.0.1', port: Number(process.env.PORT) });
redis
  .set('key', 'hello')
  .then(() => redis.get('key'))
  .then((value) => {
    process.stdout.write(value);
    redis.disconnect();
  });
