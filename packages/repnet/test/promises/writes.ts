/** Promises about writing: callbacks, errors, encodings, the end of a direction. */
import { once } from 'node:events';
import type net from 'node:net';
import { finished, pipeline } from 'node:stream/promises';
import { closed, echo, record, type Scenarios, type Stage, short, turn } from './scenario';

const BIG = 40 * 2 ** 20;

/** Returns what happens to three pending writes after `act`. */
async function pending(stage: Stage, act: (client: net.Socket, server: net.Socket) => void): Promise<unknown> {
  let accepted: net.Socket | undefined;
  const arrived = new Promise<void>((resolve) => {
    void stage
      .serve((socket) => {
        accepted = socket.pause();
        resolve();
      })
      .then(() => connect());
  });
  const log: string[] = [];
  let socket: net.Socket | undefined;
  const connect = (): void => {
    socket = stage.connect();
    record(socket, ['error', 'finish', 'close'], log);
  };
  await arrived;
  const client = socket as unknown as net.Socket;
  if (client.connecting) await once(client, 'connect');
  client.write(Buffer.alloc(BIG), (error) => log.push(`first ${error ? 'failed' : 'written'}`));
  client.write('second', (error) => log.push(`second ${short(error)}`));
  client.end('third', (error?: Error) => log.push(`end ${error ? 'failed' : 'ended'}`));
  const over = closed(client);
  await turn();
  act(client, accepted as unknown as net.Socket);
  await over;
  await turn();
  // The kernel reports a reset as ECONNRESET or as EPIPE.
  return log.map((line) => line.replace('EPIPE', 'ECONNRESET'));
}

export const writes: Scenarios = {
  'callbacks at destroy': {
    promise: '`destroy()` calls back every pending write and the end, each with an error',
    run: (stage) => pending(stage, (client) => client.destroy()),
  },
  'callbacks at destroy with an error': {
    promise: '`destroy(error)` calls back every pending write and the end, each with an error',
    run: (stage) => pending(stage, (client) => client.destroy(Object.assign(new Error('ours'), { code: 'OURS' }))),
  },
  'callbacks at a reset': {
    promise: 'a reset by the peer calls back every pending write and the end, each with an error',
    run: (stage) => pending(stage, (_client, server) => server.resetAndDestroy()),
  },
  'callbacks at resetAndDestroy': {
    promise: '`resetAndDestroy()` calls back every pending write and the end, each with an error',
    run: (stage) => pending(stage, (client) => client.resetAndDestroy()),
  },
  'callbacks of a server at destroy': {
    promise: "`destroy()` of a server's connection calls back every pending write and the end",
    async run(stage) {
      const log: string[] = [];
      const done = new Promise<void>((resolve) => {
        void stage.serve((socket) => {
          record(socket, ['error', 'finish', 'close'], log);
          socket.once('data', () => {
            socket.write(Buffer.alloc(BIG), (error) => log.push(`first ${error ? 'failed' : 'written'}`));
            socket.end('second', (error?: Error) => log.push(`end ${short(error)}`));
            setImmediate(() => socket.destroy());
          });
          socket.once('close', () => setImmediate(resolve));
        });
      });
      await turn();
      const client = stage.connect();
      client.on('error', () => {});
      client.pause();
      client.write('x');
      await done;
      return log;
    },
  },
  'callbacks before a connection that is refused': {
    promise: 'a refused connection calls back every write and the end with its error',
    async run(stage) {
      const socket = stage.connect();
      const log = record(socket, ['error', 'finish', 'close']);
      socket.write('one', (error) => log.push(`one ${short(error)}`));
      socket.write('two', (error) => log.push(`two ${short(error)}`));
      socket.end((error?: Error) => log.push(`end ${short(error)}`));
      await closed(socket);
      return log;
    },
  },
  'callbacks at destroy before connect': {
    promise: '`destroy()` before the connection calls back every write and the end',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, ['connect', 'error', 'finish', 'close']);
      socket.write('one', (error) => log.push(`one ${short(error)}`));
      socket.write('two', (error) => log.push(`two ${short(error)}`));
      socket.end((error?: Error) => log.push(`end ${short(error)}`));
      socket.destroy();
      await closed(socket);
      return log;
    },
  },
  'callbacks in order': {
    promise: "writes call back in order, and 'finish' comes after them",
    async run(stage) {
      await stage.serve((socket) => socket.resume());
      const socket = stage.connect();
      await once(socket, 'connect');
      const log = record(socket, ['finish']);
      for (const name of ['one', 'two', 'three']) socket.write(name, () => log.push(name));
      socket.end('four', () => log.push('end'));
      await once(socket, 'finish');
      await turn();
      return log;
    },
  },
  'write after end': {
    promise: "a write after `end()` fails with ERR_STREAM_WRITE_AFTER_END, in its callback and as 'error'",
    async run(stage) {
      await stage.serve((socket) => socket.resume());
      const socket = stage.connect();
      await once(socket, 'connect');
      const log = record(socket, ['error', 'close']);
      socket.end('x');
      socket.write('late', (error) => log.push(`late ${short(error)}`));
      await closed(socket);
      return log;
    },
  },
  'write after destroy': {
    promise: 'a write after `destroy()` fails with ERR_STREAM_DESTROYED in its callback',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      await once(socket, 'connect');
      const log = record(socket, ['error', 'close']);
      socket.destroy();
      log.push(socket.write('late', (error) => log.push(`late ${short(error)}`)));
      await closed(socket);
      return log;
    },
  },
  'write without a connection': {
    unraced: true,
    promise: 'a write on a socket that never connects is kept or refused as in Node',
    async run(stage) {
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, ['error', 'close']);
      socket.write('x', (error) => log.push(`written ${short(error)}`));
      await turn();
      socket.destroy();
      await turn();
      await turn();
      return log;
    },
  },
  'wrong arguments of write': {
    promise: '`write()` throws for `null` and for values that are no bytes',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      return [null, 5, {}, [], undefined].map((value) => {
        try {
          socket.write(value as never);
          return 'no error';
        } catch (error) {
          return short(error);
        }
      });
    },
  },
  encodings: {
    promise: '`write()` takes strings in any encoding, and typed arrays',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      socket.write('c3a9', 'hex');
      socket.write('\xe9', 'latin1');
      socket.write('aGk=', 'base64');
      socket.write(new Uint8Array([1, 2, 3]));
      socket.write('');
      socket.setDefaultEncoding('utf16le');
      socket.end('ab');
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString('hex');
    },
  },
  'empty write': {
    promise: 'a write of no bytes calls back, too',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      await once(socket, 'connect');
      await new Promise<void>((resolve) => socket.write('', () => resolve()));
      return 'called';
    },
  },
  drain: {
    promise: "`write()` returns false above the mark, and 'drain' comes when the bytes are written",
    async run(stage) {
      await stage.serve((socket) => socket.resume());
      const socket = stage.connect();
      await once(socket, 'connect');
      const returned = socket.write(Buffer.alloc(BIG));
      const need = socket.writableNeedDrain;
      await once(socket, 'drain');
      return [returned, need, socket.writableNeedDrain, socket.writableLength];
    },
  },
  'half open': {
    promise: 'with `allowHalfOpen`, a socket writes after the end of its peer',
    async run(stage) {
      await stage.serve((socket) => socket.resume().on('end', () => setImmediate(() => socket.end('after the end'))), {
        allowHalfOpen: true,
      });
      const socket = stage.connect();
      const log = record(socket, ['finish', 'data', 'end', 'close']);
      socket.end('x');
      await closed(socket);
      return log;
    },
  },
  'half open client': {
    promise: 'with `allowHalfOpen`, a client is not closed by the end of its server',
    async run(stage) {
      const got: string[] = [];
      let over: (() => void) | undefined;
      const served = new Promise<void>((resolve) => {
        over = resolve;
      });
      await stage.serve((socket) => {
        socket.on('data', (chunk) => got.push(chunk.toString()));
        socket.on('end', () => over?.());
        socket.end('first');
      });
      const socket = stage.connect({ allowHalfOpen: true });
      const log = record(socket, ['data', 'end', 'finish', 'close']);
      await once(socket, 'end');
      await turn();
      log.push(socket.readyState, socket.writable);
      socket.end('second');
      await Promise.all([served, closed(socket)]);
      return [log, got];
    },
  },
  'not half open': {
    promise: 'without `allowHalfOpen`, a socket ends when its peer has ended',
    async run(stage) {
      let server: net.Socket | undefined;
      await stage.serve((socket) => {
        server = socket;
        socket.end('bye');
        socket.resume();
      });
      const socket = stage.connect();
      const log = record(socket, ['data', 'end', 'finish', 'close']);
      await closed(socket);
      return [log, socket.writableFinished, (server as unknown as net.Socket).readableEnded];
    },
  },
  destroySoon: {
    promise: '`destroySoon()` writes all bytes before it destroys',
    async run(stage) {
      let bytes = 0;
      let over: (() => void) | undefined;
      const served = new Promise<void>((resolve) => {
        over = resolve;
      });
      await stage.serve((socket) => {
        socket.on('data', (chunk) => {
          bytes += chunk.length;
        });
        socket.on('end', () => over?.());
      });
      const socket = stage.connect();
      await once(socket, 'connect');
      socket.write(Buffer.alloc(2 ** 20));
      socket.destroySoon();
      await Promise.all([closed(socket), served]);
      return [bytes, socket.destroyed];
    },
  },
  cork: {
    promise: '`cork()` holds writes back until `uncork()`',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      await once(socket, 'connect');
      socket.cork();
      const called: string[] = [];
      socket.write('a', () => called.push('a'));
      socket.write('b', () => called.push('b'));
      await turn();
      const during = [socket.writableCorked, socket.writableLength, called.length];
      socket.uncork();
      const [chunk] = await once(socket, 'data');
      return [during, short(chunk), called];
    },
  },
  'pipeline and finished': {
    promise: '`stream.pipeline()` and `stream.finished()` work with both ends',
    async run(stage) {
      await stage.serve((socket) => void pipeline(socket, socket).catch(() => {}), { allowHalfOpen: true });
      const socket = stage.connect();
      socket.end('through');
      let text = '';
      await pipeline(socket, async (source) => {
        for await (const chunk of source) text += chunk;
      });
      await finished(socket);
      return text;
    },
  },
  'finished at a reset': {
    promise: '`stream.finished()` rejects when the peer resets',
    async run(stage) {
      await stage.serve((socket) => socket.once('data', () => socket.resetAndDestroy()));
      const socket = stage.connect();
      socket.write('x');
      return await finished(socket.resume()).then(
        () => 'resolved',
        (error) => short(error),
      );
    },
  },
};
