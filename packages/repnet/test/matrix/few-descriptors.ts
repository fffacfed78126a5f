/** Client with one free file descriptor. It prints the result of its flow. Arguments: host, port, pairing. */
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import net from 'node:net';
import repnet from 'repnet';
import { Sink } from '../harness/arena';
import type { Pairing } from '../harness/replication';

/** Opens and closes a connection. The first connection of a process needs one descriptor more than later ones. */
async function anyConnection(): Promise<void> {
  const server = net.createServer((socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
  client.resume();
  await once(client, 'close');
  server.close();
  await once(server, 'close');
}

async function main(host: string, port: number, pairing: Pairing): Promise<void> {
  await anyConnection();
  const hoard: number[] = [];
  try {
    for (;;) hoard.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
  closeSync(hoard.pop() as number);
  const client = repnet.connect({ host, port, repnet: { pairing, assumeCapable: true } });
  const sink = new Sink(client);
  client.end('served');
  await sink.untilClose();
  for (const descriptor of hoard) closeSync(descriptor);
  const { established, dropped } = repnet.stats().legs;
  const answer = {
    answer: sink.text(),
    errors: sink.errors,
    established,
    dropped: Object.values(dropped).reduce((sum, count) => sum + count, 0),
  };
  process.stdout.write(JSON.stringify(answer));
}

const [host = '', port = '', pairing = ''] = process.argv.slice(2);
void main(host, Number(port), pairing as Pairing);
