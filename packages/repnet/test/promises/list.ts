/** All scenarios. PROMISES.md lists them, and a test compares the two. */
import { context } from './context';
import { counters } from './counters';
import { events } from './events';
import { reuse } from './reuse';
import type { Scenarios } from './scenario';
import { servers } from './servers';
import { writes } from './writes';

export const scenarios: Scenarios = { ...events, ...writes, ...context, ...counters, ...reuse, ...servers };
