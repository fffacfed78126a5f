// Closes http2 sessions in several ways before they are connected, and waits for the end of each session.
const http2 = require('node:http2');
const url = `http://127.0.0.1:${process.env.PORT}`;
const ends = {
  'request, then close': (session) => {
    const request = session.request({ ':path': '/' });
    request.on('error', () => {}).resume();
    session.close();
  },
  close: (session) => session.close(),
  destroy: (session) => session.destroy(),
  'request, then destroy': (session) => {
    session.request({ ':path': '/' }).on('error', () => {});
    session.destroy();
  },
};
(async () => {
  for (const end of Object.values(ends)) {
    const session = http2.connect(url);
    session.on('error', () => {});
    const closed = new Promise((resolve) => session.once('close', resolve));
    end(session);
    await closed;
  }
  process.stdout.write('all closed');
})();
