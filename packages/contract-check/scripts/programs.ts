/** Programs of others: from the npm registry into a folder outside of the repository, started and stopped. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@financial-automation/server/tools';

/** @param packages names with versions */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  if (packages.length === 0) return;
  await mkdir(folder, { recursive: true });
  const manifest = join(folder, 'package.json');
  await access(manifest).catch(() => writeFile(manifest, '{ "name": "others", "private": true }\n'));
  const words = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages];
  await promisify(execFile)('npm', words, { cwd: folder });
}

/** Runs a program until it ends, whatever its status is, and returns what it has printed. */
export async function printed(words: readonly string[], folder: string): Promise<string> {
  const [program = '', ...rest] = words;
  // A file, because a program that ends while a pipe is full loses the rest.
  const path = join(folder, 'output.txt');
  const file = await open(path, 'w');
  const child = spawn(program, rest, { cwd: folder, stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'close');
  await file.close();
  return readFile(path, 'utf8');
}

/**
 * Starts a program of Node that serves, and stops it after `use`, which gets its URL.
 *
 * @param ready a path to which it responds once it is ready
 * @param isReady whether a status of that path says so; by default, each but that of a fault does
 * @returns the result of `use`, and what the program has printed
 */
export async function serving<Result>(
  program: (port: number) => readonly string[],
  { folder, ready, isReady }: { folder: string; ready: string; isReady?: (status: number) => boolean },
  use: (url: string) => Promise<Result>,
): Promise<{ readonly result: Result; readonly output: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = spawn(process.execPath, [...program(port)], { cwd: folder });
  const output = outputOf(server);
  const ended = once(server, 'close');
  try {
    await responds(`${url}${ready}`, () => server.exitCode === null, isReady);
    const result = await use(url);
    if (server.exitCode !== null) throw new Error(`The program ended with ${server.exitCode}.`);
    server.kill('SIGTERM');
    await ended;
    return { result, output: output.join('') };
  } catch (error) {
    throw new Error(`The output of the program ends with:\n${output.join('').slice(-3000)}`, { cause: error });
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}

function outputOf({ stdout, stderr }: ChildProcessWithoutNullStreams): readonly string[] {
  const output: string[] = [];
  for (const stream of [stdout, stderr]) stream.on('data', (text) => output.push(String(text)));
  return output;
}

async function responds(
  url: string,
  isRunning: () => boolean,
  isReady = (status: number) => status < 500,
): Promise<void> {
  const end = performance.now() + 120_000;
  while (performance.now() < end && isRunning()) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => undefined,
    );
    if (status !== undefined && isReady(status)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Nothing responds at ${url}.`);
}
