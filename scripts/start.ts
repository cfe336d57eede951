/**
 * `pnpm start`: brings what is generated and bundled up to date, and serves with a demo tenant. The port and the data directory
 * are checked first, so that nothing is created or generated if they cannot be used.
 */
import { statSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFiles } from '../packages/server/scripts/hash-files.ts';
import { listen } from '../packages/server/src/main/listen.ts';
import { checkDataDir } from '../packages/server/src/operator/socket-path.ts';
import { readOptions } from './options.ts';
import { run } from './test/run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const generated = ['openapi.json', 'openapi.yaml', 'types.ts', 'operations.ts', 'calls.ts'].map((name) =>
  join(root, 'packages/spec/generated', name),
);
const markFile = join(root, 'node_modules/.cache/generated.sha256');

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
  const mark = await markOfSources();
  const isPresent = generated.every((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  if (isPresent && (await readFile(markFile, 'utf8').catch(() => '')) === mark) return;
  await script('scripts/generate.ts');
  await mkdir(dirname(markFile), { recursive: true });
  // The generated files are part of the mark.
  await writeFile(markFile, await markOfSources());
}

function markOfSources(): Promise<string> {
  const sources = ['openapi/**/*.{yaml,ts}', 'redocly.yaml', 'scripts/{generate,operation-index}.ts', 'pnpm-lock.yaml'];
  return hashFiles(root, [...sources, 'packages/spec/generated/*']);
}

async function script(...words: readonly string[]): Promise<void> {
  const { code } = await run([process.execPath, ...words], { isShown: true, directory: root });
  if (code !== 0) throw new Error(`node ${words.join(' ')} failed.`);
}
