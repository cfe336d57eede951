import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** Where a file of the sources is. A module does not know how far it is from the others: it may be in the bundle. */
export function sourceFile(path: string): URL {
  return pathToFileURL(require.resolve(`#src/${path}`));
}
