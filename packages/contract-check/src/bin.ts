#!/usr/bin/env node
import { run } from './main.ts';

// A reader who has seen enough, as head does, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
// Explicitly, as an auth module may keep a connection or a timer.
process.exit(await run(process.argv.slice(2)));
