import path from 'node:path';

/** The folder of the package, wherever the compiled tests are. */
export const packageFolder = path.dirname(require.resolve('repnet/package.json'));
