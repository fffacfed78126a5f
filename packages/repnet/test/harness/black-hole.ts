/**
 * Port that answers no SYN, like a port behind a filter that drops packets.
 * A process listens on it but never accepts, and its queue of connections is full.
 * The kernel then drops further SYNs (Linux).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';

const WAIT_FOR_EVER = `
  const server = require('node:net').createServer();
  process.once('message', ({ host, port }) => {
    server.on('error', (error) => process.send({ error: error.code }, () => process.exit()));
    server.listen({ host, port, backlog: 1 }, () => {
      process.send({ port: server.address().port }, () => {
        // This process stops here, so it accepts no connection.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });
    });
  });
`;

export class BlackHole {
  readonly #child: ChildProcess;
  readonly #fillers: net.Socket[];

  private constructor(
    readonly port: number,
    child: ChildProcess,
    fillers: net.Socket[],
  ) {
    this.#child = child;
    this.#fillers = fillers;
  }

  static async open(host: string, port: number): Promise<BlackHole> {
    const child = spawn(process.execPath, ['-e', WAIT_FOR_EVER], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.send({ host, port });
    const [answer] = (await once(child, 'message')) as [{ port?: number; error?: string }];
    if (answer.port === undefined) throw new Error(`black hole: cannot listen on ${host}:${port} (${answer.error})`);
    // With a backlog of 1, Linux queues two connections and drops the third SYN.
    const fillers: net.Socket[] = [];
    for (let i = 0; i < 2; i += 1) {
      const filler = net.connect({ host, port: answer.port });
      filler.on('error', () => {});
      await once(filler, 'connect');
      fillers.push(filler);
    }
    return new BlackHole(answer.port, child, fillers);
  }

  async close(): Promise<void> {
    for (const filler of this.#fillers) filler.destroy();
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }
}
