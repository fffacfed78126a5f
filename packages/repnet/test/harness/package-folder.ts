import path from 'node:path';

/** Folder of the package. It is also correct in compiled tests, which are in another folder. */
export const packageFolder = path.dirname(require.resolve('repnet/package.json'));
