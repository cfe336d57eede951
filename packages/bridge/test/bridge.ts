/** The command, run as a person runs it, in front of a running service, and the rows that it leaves there. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createApiKey, createTenant } from '@financial-automation/server/service';
import { serveForFile } from '@financial-automation/server/testing';
import { afterAll } from 'vitest';
import { type Client, createClient } from '../../client/src/index.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const warmCommand = fileURLToPath(new URL('warm-command.ts', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface Bridge {
  readonly api: Client;
  /** Writes a file into the folder of the test. @returns its path */
  file(name: string, content: string | Uint8Array): Promise<string>;
  read(name: string): Promise<string>;
  readonly folder: string;
  /** Runs the command in a process that all runs of the file share; one at a time. */
  run(...words: string[]): Promise<Ended>;
  /** The same twice at once, each in a process of its own. */
  runTwice(...words: string[]): Promise<[Ended, Ended]>;
  /** The same, and kills it (`SIGKILL`) as soon as this is true. */
  killWhen(isTime: () => Promise<boolean>, ...words: string[]): Promise<void>;
}

/** The roles that the README says the key needs for imports and exports. */
async function documentedRoles(): Promise<string[]> {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const [imports = ''] = /The API key needs .*?Give/s.exec(readme) ?? [];
  const [exports = ''] = /The journal has .*?\n\n/s.exec(readme) ?? [];
  const named = [...(imports + exports).matchAll(/`([A-Z]+_[A-Z]+)`/g)].flatMap(([, role = '']) => role);
  const ofImports = [...imports.matchAll(/`([A-Z]+)_W`/g)].flatMap(([, name = '']) => name);
  const toRead = ofImports.filter((name) => !['RECORD', 'IMPORT'].includes(name)).map((name) => `${name}_R`);
  return [...new Set([...named, ...toRead])];
}

/** Call it at the top level of the test file. */
export async function bridgeForFile(): Promise<Bridge> {
  const running = await serveForFile({ PAYMENT_PROCESSOR: 'none', RATE_LIMIT_FACTOR: '100' });
  const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
  await createTenant(running, { name: 'firm', displayName: 'Firm', ...place });
  const keyOf = async (user: string, roles: readonly string[]) =>
    (await createApiKey(running, { tenant: 'firm', user, roles, days: 1, description: undefined })).key;
  const folder = await mkdtemp(join(tmpdir(), 'bridge-'));
  afterAll(() => rm(folder, { recursive: true }));
  const variables = {
    API_URL: running.address,
    API_TENANT: 'firm',
    API_KEY: await keyOf('bridge', await documentedRoles()),
  };

  const start = (words: readonly string[]) =>
    spawn(process.execPath, [main, ...words], {
      cwd: folder,
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const runAlone = async (words: readonly string[]) => {
    const child = start(words);
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, output, errors };
  };
  let warm: ChildProcess | undefined;
  afterAll(() => void warm?.kill());
  return {
    api: createClient({ baseUrl: running.address, tenant: 'firm', apiKey: await keyOf('firm', ['API_ADMIN']) }),
    async file(name, content) {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    },
    read: (name) => readFile(join(folder, name), 'utf8'),
    folder,
    async run(...words) {
      warm ??= fork(warmCommand, { cwd: folder, env: { ...process.env, ...variables } });
      const ended = once(warm, 'message');
      warm.send(words);
      const [result] = await ended;
      return result;
    },
    runTwice: (...words) => Promise.all([runAlone(words), runAlone(words)]),
    async killWhen(isTime, ...words) {
      const child = start(words);
      const ended = once(child, 'close');
      while (child.exitCode === null && !(await isTime())) await setTimeout(5);
      child.kill('SIGKILL');
      const [, signal] = await ended;
      if (signal !== 'SIGKILL') throw new Error('It ended before it could be killed.');
    },
  };
}
