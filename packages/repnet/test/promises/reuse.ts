/** Promises about a socket that connects again. */
import { once } from 'node:events';
import type net from 'node:net';
import { closed, record, type Scenarios, turn } from './scenario';

const answer = (socket: net.Socket): void => void socket.once('data', (chunk) => socket.end(`echo ${chunk}`));
const NAMES = ['connect', 'ready', 'data', 'end', 'finish', 'timeout', 'error', 'close'];

export const reuse: Scenarios = {
  'connect after close': {
    promise: 'a socket connects again after its end, with all its listeners',
    async run(stage) {
      await stage.serve(answer);
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      for (let round = 0; round < 3; round++) {
        socket.connect(stage.port, stage.host, () => socket.write(`request ${round}`));
        await closed(socket);
        log.push(socket.bytesRead, socket.bytesWritten);
      }
      return log;
    },
  },
  'connect in close': {
    promise: "a socket connects again inside a listener of 'close'",
    async run(stage) {
      await stage.serve(answer);
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      let rounds = 0;
      const again = (): void => void socket.connect(stage.port, stage.host, () => socket.write(`request ${rounds}`));
      await new Promise<void>((resolve) => {
        socket.on('close', () => (++rounds < 3 ? again() : resolve()));
        again();
      });
      return log;
    },
  },
  'connect again with net.connect': {
    promise: 'a socket of `net.connect()` connects again, too',
    async run(stage) {
      await stage.serve(answer);
      const socket = stage.connect();
      const log = record(socket, NAMES);
      socket.write('first');
      await closed(socket);
      socket.connect(stage.port, stage.host);
      socket.write('second');
      await closed(socket);
      return log;
    },
  },
  'connect after a refusal': {
    promise: 'a socket connects again after ECONNREFUSED, until the server is up',
    async run(stage) {
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      for (let round = 0; round < 2; round++) {
        socket.connect(stage.port, stage.host);
        await closed(socket);
      }
      await stage.serve(answer);
      socket.connect(stage.port, stage.host);
      socket.write('now');
      await closed(socket);
      return log;
    },
  },
  'connect after destroy': {
    promise: 'a socket connects again after `destroy()`',
    async run(stage) {
      await stage.serve(answer);
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      socket.connect(stage.port, stage.host);
      await once(socket, 'connect');
      socket.destroy();
      await closed(socket);
      socket.connect(stage.port, stage.host);
      socket.write('again');
      await closed(socket);
      return log;
    },
  },
  'connect after a reset': {
    promise: 'a socket connects again after a reset by its peer',
    async run(stage) {
      let first = true;
      await stage.serve((socket) => {
        if (!first) answer(socket);
        else socket.once('data', () => socket.resetAndDestroy());
        first = false;
      });
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      socket.connect(stage.port, stage.host);
      socket.write('one');
      await closed(socket);
      socket.connect(stage.port, stage.host);
      socket.write('two');
      await closed(socket);
      return log;
    },
  },
  'connect to another kind of target': {
    promise: 'a socket connects to a target that is not listed after a listed one, and back',
    async run(stage) {
      await stage.serve(answer);
      const socket = stage.watch(new stage.net.Socket());
      const log = record(socket, NAMES);
      for (const port of [stage.port, stage.other, stage.port]) {
        socket.connect(port, stage.host);
        await once(socket, 'connect');
        log.push(socket.remotePort === port, socket.connecting, socket.readyState);
        socket.write('hello');
        await closed(socket);
        log.push(socket.bytesRead, socket.bytesWritten);
      }
      return log;
    },
  },
  'timeout of a reused socket': {
    promise: 'the timeout of a socket counts again after it has connected again',
    async run(stage) {
      await stage.serve((socket) => socket.once('data', () => socket.end()));
      const socket = stage.watch(new stage.net.Socket());
      socket.setTimeout(30);
      socket.connect(stage.port, stage.host);
      socket.resume();
      socket.write('x');
      await closed(socket);
      socket.connect(stage.port, stage.host);
      await once(socket, 'connect');
      socket.setTimeout(20);
      await once(socket, 'timeout');
      return [socket.timeout, socket.destroyed];
    },
  },
  'options of a reused socket': {
    promise: 'half-open mode, encoding and listeners stay when a socket connects again',
    async run(stage) {
      await stage.serve((socket) => socket.resume().on('end', () => setImmediate(() => socket.end('bye'))), { allowHalfOpen: true });
      const socket = stage.watch(new stage.net.Socket({ allowHalfOpen: true }));
      const log: unknown[] = [];
      for (let round = 0; round < 2; round++) {
        socket.connect(stage.port, stage.host);
        await once(socket, 'connect');
        socket.end('x');
        const [chunk] = await once(socket, 'data');
        await closed(socket);
        log.push(String(chunk), socket.allowHalfOpen, socket.writableFinished, socket.readableEnded);
      }
      await turn();
      return log;
    },
  },
};
