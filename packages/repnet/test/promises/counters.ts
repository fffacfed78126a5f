/** Promises about properties: counters, states, addresses, options. */
import { once } from 'node:events';
import type net from 'node:net';
import { closed, echo, type Scenarios, short, turn } from './scenario';

const state = ({ connecting, pending, readyState, destroyed, readable, writable }: net.Socket) => ({
  connecting,
  pending,
  readyState,
  destroyed,
  readable,
  writable,
});

export const counters: Scenarios = {
  'states of a socket': {
    promise: '`connecting`, `pending`, `readyState`, `destroyed`, `readable` and `writable` at each step',
    async run(stage) {
      await stage.serve((socket) => socket.resume().on('end', () => socket.end()), { allowHalfOpen: true });
      const socket = stage.watch(new stage.net.Socket({ allowHalfOpen: true }));
      const states = [state(socket)];
      socket.connect(stage.port, stage.host);
      states.push(state(socket));
      await once(socket, 'connect');
      states.push(state(socket));
      socket.end('x');
      states.push(state(socket));
      socket.resume();
      await once(socket, 'end');
      states.push(state(socket));
      await closed(socket);
      states.push(state(socket));
      return states;
    },
  },
  'states of net.connect': {
    promise: 'the same states for a socket of `net.connect()` that is destroyed',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const states = [state(socket)];
      await once(socket, 'connect');
      states.push(state(socket));
      socket.destroy();
      states.push(state(socket));
      await closed(socket);
      return [states, socket.closed, socket.errored];
    },
  },
  'bytes read and written': {
    promise: '`bytesRead` and `bytesWritten` count the bytes of the application, also before `connect` and after `close`',
    async run(stage) {
      let server: net.Socket | undefined;
      await stage.serve((socket) => {
        server = socket;
        socket.on('data', (chunk) => socket.write(chunk));
        socket.on('end', () => socket.end());
      });
      const socket = stage.connect();
      const counts: unknown[] = [];
      const note = (): void => void counts.push([socket.bytesRead, socket.bytesWritten]);
      note();
      socket.write('twelve bytes');
      socket.write('h\u00e9', 'latin1');
      note();
      await once(socket, 'connect');
      let read = 0;
      await new Promise<void>((resolve) => {
        socket.on('data', (chunk) => {
          read += chunk.length;
          if (read === 14) resolve();
        });
      });
      note();
      socket.end('end');
      await closed(socket);
      note();
      const other = server as unknown as net.Socket;
      return [counts, other.bytesRead, other.bytesWritten];
    },
  },
  'bytes of a new socket': {
    promise: '`bytesWritten` of a socket from `new net.Socket()` counts writes that wait',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.watch(new stage.net.Socket());
      const counts = [socket.bytesRead, socket.bytesWritten];
      socket.connect(stage.port, stage.host);
      socket.write('abc');
      socket.write('defg');
      counts.push(socket.bytesRead, socket.bytesWritten);
      socket.end();
      socket.resume();
      await closed(socket);
      counts.push(socket.bytesRead, socket.bytesWritten);
      return counts;
    },
  },
  addresses: {
    promise: 'addresses and ports at both ends, before, during and after the connection',
    async run(stage) {
      let server: net.Socket | undefined;
      await stage.serve((socket) => {
        server = socket;
        void [socket.remoteAddress, socket.localPort];
        echo(socket);
      });
      const socket = stage.connect();
      const names = (of: net.Socket) => [
        of.remoteAddress,
        of.remoteFamily,
        of.remotePort === stage.port ? 'N' : typeof of.remotePort,
        of.localAddress,
        of.localFamily,
        of.localPort === stage.port ? 'N' : typeof of.localPort,
        Object.keys(of.address()).length,
      ];
      const log = [names(socket)];
      socket.write('x');
      await once(socket, 'data');
      log.push(names(socket), names(server as unknown as net.Socket));
      socket.end();
      await closed(socket);
      log.push(names(socket));
      return log;
    },
  },
  'class of a socket': {
    promise: "a client's socket is a `net.Socket` and a `stream.Duplex`",
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      const made = stage.watch(new stage.net.Socket());
      const { Duplex } = await import('node:stream');
      return [socket instanceof stage.net.Socket, made instanceof stage.net.Socket, socket instanceof Duplex, made instanceof Duplex];
    },
  },
  'methods that return the socket': {
    promise:
      '`setNoDelay()`, `setKeepAlive()`, `setTimeout()`, `ref()`, `unref()`, `pause()`, `resume()`, `setEncoding()`, `end()` and `destroy()` return the socket',
    async run(stage) {
      await stage.serve(echo);
      const log: unknown[] = [];
      for (const socket of [stage.connect(), stage.watch(new stage.net.Socket())]) {
        if (!socket.connecting) log.push(socket.connect(stage.port, stage.host) === socket);
        log.push(socket.setNoDelay() === socket, socket.setKeepAlive(true, 1_000) === socket, socket.setTimeout(0) === socket);
        log.push(
          socket.unref() === socket,
          socket.ref() === socket,
          socket.pause() === socket,
          socket.isPaused(),
          socket.resume() === socket,
        );
        log.push(socket.setEncoding('utf8') === socket, socket.end() === socket, socket.destroy() === socket);
      }
      return log;
    },
  },
  'wrong arguments of connect': {
    unraced: true,
    promise: '`connect()` throws the errors of Node for wrong arguments',
    async run(stage) {
      const calls: unknown[][] = [
        [],
        [{}],
        [{ port: 70_000 }],
        [{ port: 'x' }],
        [-1],
        [{ port: 1, host: 5 }],
        [{ port: 1, lookup: 1 }],
        [{ port: true }],
        [NaN],
        [{ port: 1, localAddress: 'x' }],
      ];
      return calls.map((args) => {
        try {
          stage.watch((stage.net.connect as (...all: unknown[]) => net.Socket)(...args)).on('error', () => {});
          return 'no error';
        } catch (error) {
          return short(error);
        }
      });
    },
  },
  'wrong arguments of setTimeout': {
    promise: '`setTimeout()` throws the errors of Node for wrong arguments',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      return [-1, Number.NaN, Number.POSITIVE_INFINITY, '5', null, {}].map((value) => {
        try {
          socket.setTimeout(value as never);
          return 'no error';
        } catch (error) {
          return short(error);
        }
      });
    },
  },
  'water marks': {
    promise: 'the water marks, `bufferSize` and `writableLength` of a socket',
    async run(stage) {
      await stage.serve(echo);
      const usual = stage.connect();
      const set = stage.watch(new stage.net.Socket({ readableHighWaterMark: 1_000, writableHighWaterMark: 2_000 } as object));
      set.connect(stage.port, stage.host);
      set.write('abc');
      return [usual, set].map((socket) => [
        socket.readableHighWaterMark,
        socket.writableHighWaterMark,
        socket.writableLength,
        socket.bufferSize,
        socket.readableFlowing,
        socket.readableObjectMode,
      ]);
    },
  },
  'encoding of read strings': {
    promise: '`setEncoding()` gives strings, and joins characters that arrive in two parts',
    async run(stage) {
      await stage.serve((socket) => {
        const bytes = Buffer.from('h\u00e9 \u20ac');
        socket.write(bytes.subarray(0, 2));
        socket.once('data', () => socket.end(bytes.subarray(2)));
      });
      const socket = stage.connect();
      socket.setEncoding('utf8');
      let text = '';
      socket.on('data', (chunk: string) => {
        text += chunk;
        socket.write('x');
      });
      await closed(socket);
      return text;
    },
  },
  'paused reading': {
    promise: "a paused socket emits no 'data' and no 'end', and delivers all after `resume()`",
    async run(stage) {
      await stage.serve((socket) => socket.end('all of it'));
      const socket = stage.connect();
      let text = '';
      let ends = 0;
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('end', () => {
        ends++;
      });
      socket.pause();
      await once(socket, 'connect');
      await turn();
      const during = [text, ends, socket.isPaused()];
      socket.resume();
      await closed(socket);
      return [during, text, ends];
    },
  },
  'readable and read': {
    promise: "'readable' and `read(n)` deliver the bytes in the asked sizes",
    async run(stage) {
      await stage.serve((socket) => socket.end('abcdefgh'));
      const socket = stage.connect();
      let text = '';
      socket.on('readable', () => {
        let chunk = socket.read(3) as Buffer | null;
        while (chunk !== null) {
          text += `${chunk}|`;
          chunk = socket.read(3) as Buffer | null;
        }
      });
      await once(socket, 'end');
      return text;
    },
  },
  disposal: {
    promise: '`Symbol.asyncDispose` destroys the socket and waits for its end',
    async run(stage) {
      await stage.serve(echo);
      const socket = stage.connect();
      await once(socket, 'connect');
      socket.on('error', () => {});
      await (socket as unknown as Record<symbol, () => Promise<void>>)[Symbol.asyncDispose]?.();
      return [socket.destroyed, socket.closed];
    },
  },
};
