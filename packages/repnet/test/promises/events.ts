/** Promises about events, and about their order. */
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { closed, echo, record, type Scenarios, SOCKET_EVENTS, short, turn } from './scenario';

export const events: Scenarios = {
  'events of a short exchange': {
    promise: "'connect', 'ready', 'data', 'end' and 'close' come in this order, and 'close' has the argument `false`",
    async run(stage) {
      await stage.serve((socket) => socket.once('data', (chunk) => socket.end(chunk)));
      const socket = stage.connect();
      const log = record(socket, ['connect', 'ready', 'data', 'end', 'close']);
      socket.write('a request');
      await closed(socket);
      return log;
    },
  },
  'finish comes after connect': {
    promise: "writes before the connection call back after 'connect', and so does 'finish'",
    async run(stage) {
      await stage.serve((socket) => socket.resume().on('end', () => socket.end()), { allowHalfOpen: true });
      const socket = stage.connect();
      const log = record(socket, ['connect', 'ready', 'finish', 'end', 'close']);
      socket.write('one', () => log.push('written one'));
      socket.write('two', () => log.push('written two'));
      socket.end(() => log.push('ended'));
      socket.resume();
      await closed(socket);
      return log;
    },
  },
  'end without bytes before connect': {
    promise: "`end()` without bytes before the connection: 'finish' comes after 'connect'",
    async run(stage) {
      await stage.serve((socket) => socket.resume().on('end', () => socket.end()), { allowHalfOpen: true });
      const socket = stage.connect();
      const log = record(socket, ['connect', 'ready', 'finish', 'end', 'close']);
      socket.end();
      socket.resume();
      await closed(socket);
      return log;
    },
  },
  'microtasks between end and close': {
    promise: "ticks and microtasks that a listener of 'end' has started run before 'close'",
    async run(stage) {
      const seen = new Set<string>();
      await stage.serve((socket) => socket.once('data', () => socket.end('z')));
      for (const made of ['connect', 'new'] as const) {
        for (let round = 0; round < 20; round++) {
          const socket = made === 'new' ? stage.watch(new stage.net.Socket()) : stage.connect();
          const log: string[] = [];
          socket.on('end', () => {
            log.push('end');
            process.nextTick(() => log.push('tick'));
            void Promise.resolve().then(() => log.push('microtask'));
          });
          socket.on('close', () => log.push('close'));
          if (made === 'new') socket.connect(stage.port, stage.host);
          socket.end('q');
          socket.resume();
          await closed(socket);
          seen.add(log.join(' '));
        }
      }
      return [...seen];
    },
  },
  'refused connection': {
    promise: "a refused connection emits 'error' with the code ECONNREFUSED, then 'close' with `true`",
    async run(stage) {
      const socket = stage.connect();
      const log = record(socket, ['connect', 'end', 'finish', 'error', 'close']);
      const [error] = (await once(socket, 'close').then(
        () => [undefined],
        (failure) => [failure],
      )) as [NodeJS.ErrnoException & { syscall: string; address: string; port: number }];
      await turn();
      return [log, error?.syscall, error?.address, error?.port === stage.port];
    },
  },
  'reset by the peer': {
    promise: "a reset by the peer emits 'error' with the code ECONNRESET, then 'close' with `true`",
    async run(stage) {
      await stage.serve((socket) => socket.once('data', () => socket.resetAndDestroy()));
      const socket = stage.connect();
      const log = record(socket, ['connect', 'data', 'end', 'finish', 'error', 'close']);
      socket.write('x');
      await closed(socket);
      return log;
    },
  },
  'destroy before connect': {
    promise: "`destroy()` before the connection: only 'close' comes",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, SOCKET_EVENTS);
      socket.destroy();
      await closed(socket);
      return log;
    },
  },
  'destroy with an error before connect': {
    promise: "`destroy(error)` before the connection: 'error', then 'close' with `true`",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, SOCKET_EVENTS);
      socket.write('x', (error) => log.push(`written ${short(error)}`));
      socket.destroy(Object.assign(new Error('ours'), { code: 'OURS' }));
      await closed(socket);
      return log;
    },
  },
  'destroy in connect': {
    promise: "`destroy()` in a listener of 'connect'",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, SOCKET_EVENTS);
      socket.on('connect', () => socket.destroy());
      await closed(socket);
      return log;
    },
  },
  'end in connect': {
    promise: "`end()` in a listener of 'connect'",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, SOCKET_EVENTS);
      socket.on('connect', () => socket.end('bye'));
      await closed(socket);
      return log;
    },
  },
  'destroy in data': {
    promise: "after `destroy()` in a listener of 'data', only 'close' comes",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, SOCKET_EVENTS);
      socket.on('data', () => socket.destroy());
      socket.write('x');
      await closed(socket);
      return log;
    },
  },
  'abort signal': {
    promise: "an abort emits 'error' with an AbortError, then 'close'",
    async run(stage) {
      await stage.serve(echo);
      const abort = new AbortController();
      const socket = stage.connect({ signal: abort.signal } as object);
      const log = record(socket, SOCKET_EVENTS);
      await once(socket, 'connect');
      abort.abort();
      await closed(socket);
      return log;
    },
  },
  'aborted before': {
    promise: "a signal that was already aborted emits 'error' with an AbortError, then 'close'",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect({ signal: AbortSignal.abort() } as object);
      const log = record(socket, SOCKET_EVENTS);
      await closed(socket);
      // Node still opens the connection after this.
      return log.slice(0, 2);
    },
  },
  'timeout only reports': {
    promise: "'timeout' is emitted after inactivity, and the socket stays open",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const log = record(socket, ['timeout']);
      await once(socket, 'connect');
      const same = socket.setTimeout(20, () => log.push('callback')) === socket;
      await once(socket, 'timeout');
      socket.setTimeout(0);
      return [log.slice(0, 2), same, socket.timeout, socket.destroyed, socket.readyState];
    },
  },
  'timeout in the options': {
    promise: 'the option `timeout` is as `setTimeout()` before the connection',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect({ timeout: 30 });
      const before = socket.timeout;
      await once(socket, 'timeout');
      return [before, socket.timeout, socket.destroyed];
    },
  },
  'timeout that is removed': {
    promise: '`setTimeout(0, callback)` removes the timeout and the callback',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      await once(socket, 'connect');
      const callback = (): void => {};
      socket.setTimeout(10_000, callback);
      const before = socket.listenerCount('timeout');
      socket.setTimeout(0, callback);
      return [before, socket.listenerCount('timeout'), socket.timeout];
    },
  },
  'timeout of a new socket': {
    promise: '`setTimeout()` before `connect()` counts after the connection, too',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.watch(new stage.net.Socket());
      socket.setTimeout(30);
      socket.connect(stage.port, stage.host);
      await once(socket, 'timeout');
      return [socket.timeout, socket.destroyed];
    },
  },
  'channels of diagnostics_channel': {
    promise: 'the channels `net.client.socket` and `net.server.socket` publish once for each connection',
    async run(stage) {
      const log: string[] = [];
      const client = ({ socket }: { socket: unknown }): void => void log.push(`client ${socket === mine}`);
      const server = ({ socket }: { socket: unknown }): void => void log.push(`server ${socket === accepted}`);
      let mine: unknown;
      let accepted: unknown;
      await stage.serve((socket) => {
        accepted = socket;
        echo(socket);
      });
      const seen: unknown[] = [];
      const hold = (message: unknown): void => void seen.push(message);
      diagnostics.subscribe('net.client.socket', hold);
      const serverSeen: unknown[] = [];
      const holdServer = (message: unknown): void => void serverSeen.push(message);
      diagnostics.subscribe('net.server.socket', holdServer);
      try {
        mine = stage.connect();
        (mine as NodeJS.WritableStream).end('x');
        (mine as NodeJS.ReadableStream).resume();
        await closed(mine as never);
      } finally {
        diagnostics.unsubscribe('net.client.socket', hold);
        diagnostics.unsubscribe('net.server.socket', holdServer);
      }
      for (const message of seen) client(message as never);
      for (const message of serverSeen) server(message as never);
      return log;
    },
  },
  'connect listener': {
    promise: "the callback of `connect()` is a listener of 'connect' that runs once",
    async run(stage) {
      await stage.serve(echo);
      const log: unknown[] = [];
      const socket = stage.watch(stage.net.connect(stage.port, stage.host, () => log.push('callback')));
      log.push(socket.listenerCount('connect'));
      await once(socket, 'connect');
      log.push(socket.listenerCount('connect'));
      return log;
    },
  },
  'lookup of a name': {
    promise: "'lookup' is emitted with address, family and host before 'connect'",
    async run(stage) {
      await stage.serve(echo);
      const lookup = (_name: string, options: { all?: boolean }, done: (...args: unknown[]) => void): void => {
        if (options.all) done(null, [{ address: '127.0.0.1', family: 4 }]);
        else done(null, '127.0.0.1', 4);
      };
      const socket = stage.connect({ host: 'localhost', lookup: lookup as never });
      const log = record(socket, ['lookup', 'connect']);
      await once(socket, 'connect');
      return log;
    },
  },
  'lookup that fails': {
    unraced: true,
    promise: "a failed lookup emits 'lookup' with the error, then 'error' and 'close'",
    async run(stage) {
      const lookup = (_name: string, _options: unknown, done: (...args: unknown[]) => void): void =>
        done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
      const socket = stage.connect({ host: 'localhost', lookup: lookup as never });
      const log = record(socket, ['lookup', 'connect', 'error', 'close']);
      await closed(socket);
      return log;
    },
  },
};
