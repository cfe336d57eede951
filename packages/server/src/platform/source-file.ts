import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** URL of a source file. Modules must use it instead of relative paths, because they may run from the bundle. */
export function sourceFile(path: string): URL {
  return pathToFileURL(require.resolve(`#src/${path}`));
}
