/**
 * Code that is compiled with @types/node 20, 22 and 24, but never runs.
 * The compiler checks that values of repnet have the types of `node:net`.
 */
import * as http from 'node:http';
import type net from 'node:net';
import type { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import repnet, { connect, createServer, type Options, Server, Socket } from 'repnet';
import { ReplicatedSocket } from '../../src/socket';

const takesSocket = (socket: net.Socket): net.Socket => socket;
const takesServer = (server: net.Server): net.Server => server;

takesSocket(repnet.connect(80, 'host', () => {}));
takesSocket(repnet.connect({ port: 80, repnet: 'repsyn' }));
takesSocket(connect({ path: 'pipe' }));
takesSocket(repnet.createConnection({ port: 80, host: 'h', repnet: { mode: 'repflow', maxBytes: Infinity } }));
takesSocket(new Socket({ allowHalfOpen: true }));
takesSocket(new repnet.Socket().connect(80));
takesServer(createServer({ repnet: false }, (socket) => takesSocket(socket)));
takesServer(createServer((socket: repnet.Socket) => socket.setNoDelay()));
takesServer(new Server((socket) => socket.end()));
takesServer(repnet.listenReplicated(http.createServer(), [80]));

class Mine extends repnet.Socket {
  extra = 1;
}
takesSocket(new Mine());

http.request({ createConnection: (options) => repnet.connect(options as net.NetConnectOpts) });
tls.connect({ socket: repnet.connect(443, 'host') });
const duplex: Duplex = repnet.connect(1);
duplex.end();

/**
 * Members of `net.Socket` that the replicated socket must have with the same type. Overloads of emitters are left out.
 */
type Members = Omit<net.Socket, keyof Duplex | 'connect' | 'address' | 'setTypeOfService' | 'getTypeOfService'>;
const members = (socket: ReplicatedSocket): { [Name in keyof Members]: unknown } => socket;
members(new ReplicatedSocket());
type Attributes = Pick<
  net.Socket,
  'bytesRead' | 'bytesWritten' | 'connecting' | 'pending' | 'readyState' | 'remoteAddress' | 'remotePort' | 'localPort' | 'remoteFamily'
>;
const attributes: Attributes = new ReplicatedSocket();
attributes.readyState satisfies net.SocketReadyState;

const options: Options = { targets: ['10.0.0.0/8:6379', { target: 'db', mode: 'repsyn' }], budget: 0.1 };
repnet.configure(options);
const twice: number = repnet.stats().bytesSentTwice;
twice.toFixed();

// @ts-expect-error a mode that does not exist
repnet.connect({ port: 80, repnet: 'fast' });
// @ts-expect-error a setting that does not exist
repnet.configure({ maxBites: 1 });
// @ts-expect-error no callback without arguments of the right type
repnet.connect(80, (socket: string) => socket);
