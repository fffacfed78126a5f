/** Test of a server that has sent all its bytes before its client sends any byte. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type net from 'node:net';
import { test } from 'node:test';
import repnet from 'repnet';
import { MODES, UNHURRIED } from '../harness/replication';

for (const mode of MODES) {
  test(`a server that ends first hears all that its client still says (${mode})`, async (t) => {
    repnet.configure(UNHURRIED);
    const heard = new Promise<string>((resolve) => {
      let connections = 0;
      const server = repnet.createServer({ allowHalfOpen: true }, (socket) => {
        let text = '';
        const first = connections++ === 0;
        socket.on('data', (chunk) => (text += chunk)).on('end', () => first && resolve(text));
        socket.end();
      });
      t.after(() => void server.close());
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as net.AddressInfo;
        const client = repnet.connect({ host: '127.0.0.1', port, allowHalfOpen: true, repnet: { mode, assumeCapable: true } });
        // One of the two connections has already lost, and its end may have reached the server.
        client.resume().on('end', async () => {
          const other = repnet.connect({ host: '127.0.0.1', port, repnet: { mode, assumeCapable: true } });
          await once(other.resume(), 'close');
          client.end('after the end');
        });
      });
    });
    assert.equal(await heard, 'after the end');
  });
}
