/** Promises about the asynchronous context in which listeners and callbacks run. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import type net from 'node:net';
import { closed, echo, type Scenarios, type Stage, turn } from './scenario';

const storage = new AsyncLocalStorage<string>();
const here = (): string => storage.getStore() ?? 'none';

function watch(socket: net.Socket, names: readonly string[]): Record<string, string[]> {
  const seen: Record<string, string[]> = {};
  for (const name of names) {
    socket.on(name, () => {
      seen[name] ??= [];
      if (!seen[name].includes(here())) seen[name].push(here());
    });
  }
  return seen;
}

/** Waits until a flow is idle. The flow then drops a slow connection or opens a new one. */
const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

/** Sends bytes, and resolves when all of them have come back. */
async function echoed(socket: net.Socket, bytes: number): Promise<void> {
  let left = bytes;
  const whole = new Promise<void>((resolve) => {
    const count = (chunk: Buffer): void => {
      left -= chunk.length;
      if (left > 0) return;
      socket.off('data', count);
      resolve();
    };
    socket.on('data', count);
  });
  socket.write(Buffer.alloc(bytes));
  await whole;
}

/** Three conversations at the same time, each with a long message, a pause and a short message. */
async function conversations(stage: Stage, bytes: number): Promise<unknown> {
  await stage.serve((socket) => {
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end());
  });
  const names = ['connect', 'data', 'end', 'close'];
  const sockets = await Promise.all(
    ['A', 'B', 'C'].map((name) =>
      storage.run(name, async () => {
        const socket = stage.connect();
        const seen = watch(socket, names);
        await once(socket, 'connect');
        return { socket, seen };
      }),
    ),
  );
  for (let round = 0; round < 5; round++) {
    for (const size of [bytes, 4]) {
      await Promise.all(sockets.map(({ socket }) => storage.run(`message ${size}`, () => echoed(socket, size))));
      await rest();
    }
  }
  const over = sockets.map(({ socket }) => closed(socket));
  for (const { socket } of sockets) storage.run('the end', () => socket.end());
  await Promise.all(over);
  return sockets.map(({ seen }) => seen);
}

export const context: Scenarios = {
  'context of events': {
    promise: "'connect', 'data', 'end' and 'close' run in the context of `connect()`",
    run: (stage) => conversations(stage, 1_000),
  },
  'context of events after long messages': {
    promise: 'events run in the context of `connect()` also after long messages with pauses',
    run: (stage) => conversations(stage, 80_000),
  },
  'context of a new socket': {
    promise: 'events of a socket from `new net.Socket()` run in the context of `connect()`',
    async run(stage) {
      await stage.serve((socket) => socket.once('data', (chunk) => socket.end(chunk)));
      const socket = storage.run('constructor', () => stage.watch(new stage.net.Socket()));
      const seen = watch(socket, ['connect', 'data', 'end', 'close']);
      storage.run('connect', () => socket.connect(stage.port, stage.host));
      await once(socket, 'connect');
      storage.run('write', () => socket.write('x'));
      await closed(socket);
      return seen;
    },
  },
  'context of a write callback': {
    promise: 'the callback of a write runs in the context of the write',
    async run(stage) {
      await stage.serve(echo);
      const socket = storage.run('connect', () => stage.connect());
      await once(socket, 'connect');
      const seen: string[] = [];
      for (const name of ['one', 'two']) {
        await new Promise<void>((resolve) => {
          storage.run(name, () =>
            socket.write('x', () => {
              seen.push(here());
              resolve();
            }),
          );
        });
      }
      return seen;
    },
  },
  'context of a refused connection': {
    promise: "'error' and 'close' of a refused connection run in the context of `connect()`",
    async run(stage) {
      const socket = storage.run('connect', () => stage.connect());
      const seen = watch(socket, ['error', 'close']);
      await closed(socket);
      return seen;
    },
  },
  'context of a timeout': {
    promise: "'timeout' runs in the context of `setTimeout()`",
    async run(stage) {
      await stage.serve(echo);
      const socket = storage.run('connect', () => stage.connect());
      await once(socket, 'connect');
      const seen = watch(socket, ['timeout']);
      storage.run('setTimeout', () => socket.setTimeout(20));
      await once(socket, 'timeout');
      socket.setTimeout(0);
      await turn();
      return seen;
    },
  },
  'context of the server': {
    promise: "'connection' runs in the context of `listen()`, and so do the events of the connection",
    async run(stage) {
      const seen: Record<string, string> = {};
      const server = storage.run('createServer', () => stage.net.createServer());
      const over = new Promise<void>((resolve) => {
        server.on('connection', (socket: net.Socket) => {
          seen.connection = here();
          for (const name of ['data', 'end', 'close']) socket.on(name, () => (seen[name] = here()));
          socket.once('data', () => socket.end('x'));
          socket.once('close', () => setImmediate(resolve));
        });
      });
      storage.run('listen', () => server.listen(stage.port, stage.host));
      await once(server, 'listening');
      const socket = storage.run('client', () => stage.connect());
      socket.end('y');
      socket.resume();
      await Promise.all([closed(socket), over]);
      server.close();
      await once(server, 'close');
      return seen;
    },
  },
};
