import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Files that this process writes are readable by its user only.
process.umask(0o077);

// Node hides deprecation warnings of dependencies, but treats bundled dependencies as our own code.
process.noDeprecation = true;

// Compiling the sources takes a second at each start. The compiled code is cached next to the dependencies.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/node', import.meta.url)));
await import('./program.ts');
