const { request } = require('undici');

request(`http://127.0.0.1:${process.env.PORT}/`).then(async ({ body }) => {
  process.stdout.write(await body.text());
});
