/**
 * `pnpm start`: brings what is generated and bundled up to date, and serves with a demo tenant. The port and the data directory
 * are checked first, so that nothing is created or generated if they cannot be used.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listen } from '../packages/server/src/main/listen.ts';
import { checkDataDir } from '../packages/server/src/platform/process/socket-path.ts';
import { generatedMark, markFile } from './generated-mark.ts';
import { readOptions } from './options.ts';
import { run } from './test/run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
readOptions({}, 'Settings are environment variables, such as PORT=4000: see packages/server/docs/settings.md.');
try {
  if (process.env.DATABASE_URL === undefined) checkDataDir(process.env.DATA_DIR ?? 'data');
  await checkPort();
  await generate();
  await Promise.all([
    script('scripts/reference.ts', '--if-stale'),
    script('packages/server/scripts/bundle.ts', '--if-stale'),
  ]);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
const cli = join(root, 'packages/server/dist/demo-data.js');
// In this process, which receives the signals.
process.argv = [process.execPath, cli, 'serve'];
await import(cli);

/** @throws Error with a sentence if the server could not listen */
async function checkPort(): Promise<void> {
  const { HOST: host = '127.0.0.1', PORT = '3000' } = process.env;
  const port = Number(PORT);
  // The server describes a port that is not valid.
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return;
  const server = createServer();
  await listen(server, host, port, 'PORT');
  await new Promise((resolve) => server.close(resolve));
}

/** Generates what is derived from the contract, unless nothing has changed since the last time. */
async function generate(): Promise<void> {
  const mark = await readFile(markFile, 'utf8').catch(() => '');
  if (mark.trim() !== (await generatedMark())) await script('scripts/generate.ts');
}

async function script(...words: readonly string[]): Promise<void> {
  const { code } = await run([process.execPath, ...words], { isShown: true, directory: root });
  if (code !== 0) throw new Error(`node ${words.join(' ')} failed.`);
}
