import path from 'node:path';

/** Folder of the package. It does not depend on the folder of the compiled tests. */
export const packageFolder = path.dirname(require.resolve('repnet/package.json'));
