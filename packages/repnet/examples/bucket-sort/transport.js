'use strict';

// Change only this line: 'net', 'repflow' or 'repsyn'.
const kind = process.env.TRANSPORT ?? 'repflow';

if (!['net', 'repflow', 'repsyn'].includes(kind)) {
  throw new Error(`TRANSPORT: found "${kind}"; must be net, repflow or repsyn`);
}

const net = kind === 'net' ? require('node:net') : require('repnet');

/**
 * Opens a short flow for a chunk of numbers. Plain `net` ignores the option `repnet`.
 * @param {import('node:net').TcpNetConnectOpts} target
 */
exports.connectMouse = (target) => net.connect({ ...target, repnet: { mode: kind, assumeCapable: true } });

/**
 * Opens a long flow for a sorted bucket. It is never replicated.
 * @param {import('node:net').TcpNetConnectOpts} target
 */
exports.connectElephant = (target) => net.connect({ ...target, repnet: 'off' });

exports.createServer = net.createServer;
exports.kind = kind;
