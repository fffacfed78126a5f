/** Refuses other runtimes than Node when the package is loaded. This module has to be imported before all others. */
import { RepnetError } from './errors';

for (const [name, key] of [
  ['Bun', 'bun'],
  ['Deno', 'deno'],
] as const) {
  const version = process.versions[key];
  if (version !== undefined) {
    throw new RepnetError(
      'ERR_REPNET_RUNTIME',
      `repnet needs Node 20.19 or later and does not work with ${name} (this is ${name} ${version})`,
    );
  }
}
