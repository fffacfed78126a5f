const session = require('http2').connect(`https://127.0.0.1:${process.env.PORT}`);
const stream = session.request({ ':path': '/' });
stream.pipe(process.stdout);
stream.on('close', () => session.close());
