import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { testDatabase } from './database.ts';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

// None outlives the file, also where a test fails. A hook that a test registers for itself would never run.
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

export type Environment = Readonly<Record<string, string>>;

/** The settings of a process of its own on a database of this file's own. */
export async function processEnvironment(): Promise<Environment> {
  const database = await testDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-process-'));
  afterAll(() => rm(dataDir, { recursive: true, force: true }));
  const common = { DATA_DIR: dataDir, PORT: String(await freePort()), RATE_LIMIT_FACTOR: '0' };
  if (database.dataDir !== undefined) {
    await cp(database.dataDir, join(dataDir, 'database'), { recursive: true });
    return common;
  }
  return { ...common, DATABASE_URL: database.databaseUrl ?? '', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
}

export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

export interface Finished {
  /** The exit code; null where a signal ended the process. */
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

export interface TestProcess {
  readonly address: string;
  readonly finished: Promise<Finished>;
  kill(signal: NodeJS.Signals): void;
}

/** What an operator types, to its end. */
export function runCli(environment: Environment, ...given: string[]): Promise<Finished> {
  return finish(start(environment, given));
}

/** A server that has begun to serve. @throws Error with what it said, where it did not. */
export async function startServer(environment: Environment): Promise<TestProcess> {
  const child = start(environment, ['serve']);
  const finished = finish(child);
  const serving = new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => String(chunk).includes('"Serving."') && resolve());
    void finished.then(({ out, error }) => reject(new Error(`The server did not start:\n${out}${error}`)));
  });
  await serving;
  return {
    address: `http://127.0.0.1:${environment.PORT}`,
    finished,
    kill: (signal) => void child.kill(signal),
  };
}

function start(environment: Environment, given: readonly string[]): ChildProcess {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [cli, ...given], { env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment } });
  children.add(child);
  return child;
}

async function finish(child: ChildProcess): Promise<Finished> {
  let out = '';
  let error = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    error += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, out, error };
}
