/**
 * Module that is loaded before one of Node's own net tests. The test's `require('net')` then returns repnet.
 * The tests' shared `common` folder and Node's internals keep the stock module.
 */
import Module from 'node:module';
import path from 'node:path';

import repnet = require('repnet');

import { forceReplication } from './preload';

const tests = process.env['REPNET_SUITE_TESTS'];
if (tests === undefined) throw new Error('this file is for run.ts: REPNET_SUITE_TESTS is not set');

forceReplication();

interface Loader {
  _load(request: string, parent: { filename?: string } | undefined, isMain: boolean): unknown;
}

const loader = Module as unknown as Loader;
const load = loader._load;
loader._load = function swapped(request, parent, isMain) {
  if (request === 'net' || request === 'node:net') {
    const inside = path.relative(tests, parent?.filename ?? '/');
    if (!inside.startsWith('..') && !inside.startsWith('common')) return repnet;
  }
  return load.call(this, request, parent, isMain);
};
