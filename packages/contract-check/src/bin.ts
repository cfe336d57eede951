#!/usr/bin/env node
import { reasonAgainstNode } from './node-version.ts';

const reason = reasonAgainstNode(process.versions.node);
if (reason !== undefined) {
  console.error(reason);
  process.exit(2);
}
// A closed pipe, for example to `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
// Loaded here, because older versions of Node cannot load it.
const { run } = await import('./main.ts');
// Exits explicitly, because an auth module may keep a connection or a timer open.
process.exit(await run(process.argv.slice(2)));
