/** Prism as a server of a document. The package is that of the folder in which it runs. */
import { load } from './postgres.mjs';

const [node, , port, document] = process.argv;

// Prism ends over a path that is not UTF-8. Here it goes on, so that the rest can be checked.
process.on('uncaughtException', (error) => console.error(error));

process.argv = [node, 'prism', 'mock', '--port', port, document];
await load('@stoplight/prism-cli/dist/index.js');
