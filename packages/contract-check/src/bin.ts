#!/usr/bin/env node
import { run } from './main.ts';

// A closed pipe, for example to `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
// Exits explicitly, because an auth module may keep a connection or a timer open.
process.exit(await run(process.argv.slice(2)));
