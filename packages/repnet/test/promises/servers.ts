/** Promises about servers and their connections. */
import { once } from 'node:events';
import type net from 'node:net';
import { promisify } from 'node:util';
import { closed, echo, record, type Scenarios, turn } from './scenario';

const connections = (server: net.Server): Promise<number> => promisify(server.getConnections.bind(server))();

export const servers: Scenarios = {
  'events of a connection': {
    promise: "a server's connection emits 'data', 'end', 'finish' and 'close' in this order, and has `server`",
    async run(stage) {
      const log: unknown[] = [];
      let over: (() => void) | undefined;
      const done = new Promise<void>((resolve) => {
        over = resolve;
      });
      const server = await stage.serve((socket) => {
        record(socket, ['connect', 'ready', 'data', 'end', 'finish', 'error', 'close'], log);
        log.push((socket as { server?: unknown }).server === server, socket.connecting, socket.readyState);
        socket.once('data', () => socket.write('answer'));
        socket.once('close', () => over?.());
      });
      const socket = stage.connect();
      socket.write('request');
      await once(socket, 'data');
      socket.end();
      await Promise.all([closed(socket), done]);
      return log;
    },
  },
  'number of connections': {
    promise: '`getConnections()` counts the connections of the application',
    async run(stage) {
      const server = await stage.serve(echo);
      const sockets = [stage.connect(), stage.connect(), stage.connect()];
      for (const socket of sockets) {
        socket.write('x');
        await once(socket, 'data');
      }
      const counts = [await connections(server)];
      for (const socket of sockets) {
        socket.end();
        await closed(socket);
      }
      while ((await connections(server)) > 0) await turn();
      counts.push(await connections(server));
      return counts;
    },
  },
  'close waits for connections': {
    promise: "`server.close()` accepts no connection, and 'close' comes after the last one has ended",
    async run(stage) {
      const server = await stage.serve(echo);
      const log = record(server, ['close']);
      const socket = stage.connect();
      socket.write('x');
      await once(socket, 'data');
      server.close((error) => log.push(`callback ${error}`));
      log.push(server.listening, server.address());
      await turn();
      log.push('open');
      socket.end();
      await Promise.all([closed(socket), once(server, 'close')]);
      return log;
    },
  },
  'close of a closed server': {
    unraced: true,
    promise: '`close()` of a server that does not listen calls back with ERR_SERVER_NOT_RUNNING',
    async run(stage) {
      const server = await stage.serve(echo);
      await new Promise((resolve) => server.close(resolve));
      return await new Promise((resolve) => server.close((error) => resolve((error as NodeJS.ErrnoException).code)));
    },
  },
  'listen twice': {
    unraced: true,
    promise: 'a second `listen()` throws ERR_SERVER_ALREADY_LISTEN',
    async run(stage) {
      const server = await stage.serve(echo);
      try {
        server.listen(stage.port, stage.host);
        return 'no error';
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      }
    },
  },
  'listen again after close': {
    promise: 'a server listens again after it was closed',
    async run(stage) {
      const server = await stage.serve(echo);
      const log = record(server, ['listening', 'close']);
      for (let round = 0; round < 2; round++) {
        const socket = stage.connect();
        socket.write('x');
        await once(socket, 'data');
        socket.end();
        await closed(socket);
        await new Promise((resolve) => server.close(resolve));
        server.listen(stage.port, stage.host);
        await once(server, 'listening');
      }
      return log;
    },
  },
  'port in use': {
    unraced: true,
    promise: "a port in use emits 'error' with the code EADDRINUSE",
    async run(stage) {
      await stage.serve(echo);
      const second = stage.net.createServer();
      const log = record(second, ['listening', 'error', 'close']);
      second.listen(stage.port, stage.host);
      await once(second, 'error').catch(() => {});
      await turn();
      return [log, second.listening];
    },
  },
  'most connections': {
    promise: "above `maxConnections`, 'drop' comes once for each refused connection, with its addresses",
    async run(stage) {
      const server = await stage.serve(echo);
      server.maxConnections = 1;
      const drops: unknown[] = [];
      server.on('drop', (data?: net.DropArgument) => {
        drops.push([data?.localAddress, data?.localPort === stage.port, data?.localFamily, data?.remoteAddress, data?.remoteFamily]);
      });
      const first = stage.connect();
      first.write('x');
      await once(first, 'data');
      const second = stage.connect();
      second.on('error', () => {});
      await closed(second);
      return [drops, await connections(server)];
    },
  },
  'paused connections': {
    promise: 'with `pauseOnConnect`, nothing is read before `resume()`',
    async run(stage) {
      let server: net.Socket | undefined;
      const log: unknown[] = [];
      await stage.serve(
        (socket) => {
          server = socket;
          log.push(socket.isPaused(), socket.bytesRead);
          socket.on('data', (chunk) => socket.end(chunk));
          setImmediate(() => socket.resume());
        },
        { pauseOnConnect: true },
      );
      const socket = stage.connect();
      socket.write('x');
      const [chunk] = await once(socket, 'data');
      await closed(socket);
      return [log, String(chunk), (server as unknown as net.Socket).bytesRead];
    },
  },
  'a server that speaks first': {
    promise: 'a server writes before its client has sent anything',
    async run(stage) {
      await stage.serve((socket) => socket.end('220 ready\r\n'));
      const socket = stage.connect();
      const log = record(socket, ['connect', 'data', 'end', 'close']);
      await closed(socket);
      return log;
    },
  },
  'resetAndDestroy of a connection': {
    promise: "`resetAndDestroy()` of a server's connection: it emits 'close', and its client an error",
    async run(stage) {
      const log: unknown[] = [];
      const over = new Promise<void>((resolve) => {
        void stage.serve((socket) => {
          record(socket, ['error', 'close'], log, 'server ');
          socket.once('data', () => socket.resetAndDestroy());
          socket.once('close', () => resolve());
        });
      });
      await turn();
      const socket = stage.connect();
      const mine = record(socket, ['error', 'close']);
      socket.write('x');
      await Promise.all([closed(socket), over]);
      return [log, mine];
    },
  },
  'disposal of a server': {
    unraced: true,
    promise: '`Symbol.asyncDispose` of a server closes it',
    async run(stage) {
      const server = await stage.serve(echo);
      await (server as unknown as Record<symbol, () => Promise<void>>)[Symbol.asyncDispose]?.();
      return [server.listening, server.address()];
    },
  },
  'signal of listen': {
    unraced: true,
    promise: 'an aborted signal of `listen()` closes the server',
    async run(stage) {
      const abort = new AbortController();
      const server = stage.net.createServer(echo);
      server.listen({ port: stage.port, host: stage.host, signal: abort.signal });
      await once(server, 'listening');
      abort.abort();
      await once(server, 'close');
      return server.listening;
    },
  },
};
