#!/usr/bin/env node
try {
  await import('./require-node.ts');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
// A closed pipe, for example to `head`, is not an error, and nobody reads what would be said about it.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
// Loaded here, because older versions of Node cannot load it.
const { run } = await import('./main.ts');
// Exits explicitly, because an auth module may keep a connection or a timer open.
process.exit(await run(process.argv.slice(2)));
