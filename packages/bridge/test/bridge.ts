/** The command, run as a person runs it, in front of a running service, and the rows that it leaves there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createApiKey, createTenant } from '@financial-automation/server/service';
import { serveForFile } from '@financial-automation/server/testing';
import { afterAll } from 'vitest';
import { type Client, createClient } from '../../client/src/index.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Bridge {
  readonly api: Client;
  /** Writes a file into the folder of the test. @returns its path */
  file(name: string, content: string | Uint8Array): Promise<string>;
  read(name: string): Promise<string>;
  readonly folder: string;
  run(...words: string[]): Promise<{ code: number | null; output: string; errors: string }>;
  /** The same, and stops it with a signal once it prints this to standard error. */
  runUntil(mark: RegExp, ...words: string[]): Promise<{ code: number | null; output: string; errors: string }>;
}

/** Call it at the top level of the test file. */
export async function bridgeForFile(): Promise<Bridge> {
  const running = await serveForFile({ PAYMENT_PROCESSOR: 'none', RATE_LIMIT_FACTOR: '100' });
  const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
  await createTenant(running, { name: 'firm', displayName: 'Firm', ...place });
  const roles = ['API_ADMIN', 'IMPORT_W'];
  const { key } = await createApiKey(running, {
    tenant: 'firm',
    user: 'bridge',
    roles,
    days: 1,
    description: undefined,
  });
  const folder = await mkdtemp(join(tmpdir(), 'bridge-'));
  afterAll(() => rm(folder, { recursive: true }));
  const variables = { API_URL: running.address, API_TENANT: 'firm', API_KEY: key };

  const runUntil: Bridge['runUntil'] = async (mark, ...words) => {
    const env = { ...process.env, ...variables };
    const child = spawn(process.execPath, [main, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.on('data', (part) => mark.test(String(part)) && child.kill('SIGINT'));
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, output, errors };
  };
  return {
    api: createClient({ baseUrl: running.address, tenant: 'firm', apiKey: key }),
    async file(name, content) {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    },
    read: (name) => readFile(join(folder, name), 'utf8'),
    folder,
    run: (...words) => runUntil(/(?!)/, ...words),
    runUntil,
  };
}
