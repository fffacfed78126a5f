/** Tests of TLS servers with a replica port: the end and the addresses of connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import repnet from 'repnet';
import { pattern } from '../harness/arena';
import { packageFolder } from '../harness/package-folder';
import { MODES, UNHURRIED } from '../harness/replication';

const folder = path.join(packageFolder, 'test/programs/fixtures');
const key = readFileSync(path.join(folder, 'localhost.key.pem'));
const cert = readFileSync(path.join(folder, 'localhost.cert.pem'));

async function listen(t: TestContext, server: net.Server): Promise<number> {
  repnet.configure(UNHURRIED);
  repnet.listenReplicated(server, [0, '127.0.0.1']);
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as net.AddressInfo).port;
}

for (const mode of MODES) {
  for (const eager of [false, true]) {
    const name = `${mode}${eager ? ', eager' : ''}`;
    const dial = async (port: number, options: object = {}): Promise<net.Socket> => {
      const settings = { mode, assumeCapable: true, eager };
      // A flow is eager only after a banner of the server has arrived, so a probe gets one.
      if (eager) assert.ok(await repnet.probe({ host: '127.0.0.1', port, repnet: settings }));
      return repnet.connect({ host: '127.0.0.1', port, ...options, repnet: settings });
    };
    const secure = (socket: net.Socket): tls.TLSSocket => tls.connect({ socket, ca: cert, servername: 'localhost' });

    test(`a TLS server that never ends a connection itself closes it when its client ends (${name})`, async (t) => {
      const accepted: tls.TLSSocket[] = [];
      const server = tls.createServer({ key, cert }, (socket) => {
        accepted.push(socket);
        socket.resume();
      });
      const port = await listen(t, server);
      const client = secure(await dial(port));
      const served = once(server, 'secureConnection');
      client.resume().end('hello');
      await served;
      await Promise.all([once(client, 'close'), once(accepted[0] as tls.TLSSocket, 'close')]);
    });

    test(`a TLS client that never ends a connection itself closes it when its server ends (${name})`, async (t) => {
      const port = await listen(
        t,
        tls.createServer({ key, cert }, (socket) => void socket.end('bye').resume()),
      );
      const client = secure(await dial(port));
      await once(client.resume(), 'close');
    });

    test(`an answer over TLS is whole when the client has ended before it, whoever makes the TLS socket (${name})`, async (t) => {
      const sent = pattern(300_000);
      const answer = (socket: tls.TLSSocket): void => {
        socket.on('error', () => {});
        socket.pipe(socket);
      };
      const secureContext = tls.createSecureContext({ key, cert });
      const servers = [
        tls.createServer({ key, cert }, answer),
        repnet.createServer((socket) => answer(new tls.TLSSocket(socket, { isServer: true, secureContext }))),
      ];
      for (const server of servers) {
        const client = secure(await dial(await listen(t, server)));
        client.end(sent);
        assert.ok(Buffer.concat(await client.toArray()).equals(sent));
      }
    });

    test(`the sockets of an https server have the names of one connection to its port (${name})`, async (t) => {
      const names = ({ remoteAddress, remoteFamily, remotePort, localAddress, localPort }: net.Socket) =>
        JSON.stringify({ remoteAddress, remoteFamily, remotePort: typeof remotePort, localAddress, localPort });
      const port = await listen(
        t,
        https.createServer({ key, cert }, (request, response) => void response.end(names(request.socket))),
      );
      const raw = await dial(port);
      const agent = new https.Agent();
      (agent as unknown as { createConnection: unknown }).createConnection = () => secure(raw);
      const request = https.get({ host: '127.0.0.1', port, agent });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      assert.deepEqual(JSON.parse(Buffer.concat(await response.toArray()).toString()), {
        remoteAddress: '127.0.0.1',
        remoteFamily: 'IPv4',
        remotePort: 'number',
        localAddress: '127.0.0.1',
        localPort: port,
      });
    });
  }
}
