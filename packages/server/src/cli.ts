import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Whatever this process writes is for its user alone.
process.umask(0o077);

// Node says nothing of what dependencies use that is deprecated, but in the bundle it takes them for ours.
process.noDeprecation = true;

// Compiling the sources takes a second of a start. What was compiled is kept beside the dependencies.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/node', import.meta.url)));
await import('./program.ts');
