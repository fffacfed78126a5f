'use strict';

// node client.js http://127.0.0.1:8080/some/page
const http = require('node:http');
const repnet = require('repnet');

const url = new URL(process.argv[2] ?? 'http://127.0.0.1:8080/');
const mode = process.env.MODE ?? 'repflow';

const agent = new http.Agent({ keepAlive: true });
agent.createConnection = (options, ready) => repnet.connect({ ...options, repnet: { mode, assumeCapable: true } }, ready);

http.get(url, { agent }, (response) => {
  response.setEncoding('utf8');
  response.on('data', (text) => process.stdout.write(text));
  response.on('end', () => {
    agent.destroy();
    console.error(JSON.stringify(repnet.stats().legs));
  });
});
