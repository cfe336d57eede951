import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreOptions } from '../src/platform/store/store.ts';
import { atEnd } from './at-end.ts';
import { testDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { serveFlags } from './serve-flags.ts';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const demoCli = fileURLToPath(new URL('../dist/demo-data.js', import.meta.url));

const children = new Set<ChildProcess>();

export type Environment = Readonly<Record<string, string>>;

/**
 * Creates the settings of a separate process on a separate database for this file.
 *
 * @param databaseFor creates another database than an empty one, and its content in the directory of the process
 */
export async function processEnvironment(
  databaseFor: (dataDir: string) => Promise<StoreOptions> = () => testDatabase(),
): Promise<Environment> {
  const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-process-'));
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  const database = await databaseFor(dataDir);
  atEnd(endAll);
  const common = {
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    RATE_LIMIT_FACTOR: '0',
    PAYMENT_PROCESSOR: 'sandbox',
    // Tests of other features must not fail on a busy machine.
    CONNECT_TIMEOUT_MS: '60000',
    READ_BUDGET_MS: '60000',
  };
  if (database.dataDir !== undefined) {
    await cp(database.dataDir, join(dataDir, 'database'), { recursive: true });
    return common;
  }
  return { ...common, DATABASE_URL: database.databaseUrl ?? '', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
}

export interface Finished {
  /** The exit code; null if a signal ended the process. */
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

export interface TestProcess {
  readonly pid: number | undefined;
  readonly address: string;
  readonly finished: Promise<Finished>;
  /** The output of the process so far. */
  written(): string;
  /** Waits until the output of the process contains the text. @throws Error if it ends before */
  wrote(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** A command that has not ended after this time, in milliseconds, is killed, and has no exit code. */
const maxCommandMs = 60_000;

/** Runs a command of the operator, and waits for its end. */
export async function runCli(environment: Environment, ...args: string[]): Promise<Finished> {
  const child = start(environment, [cli, ...args]);
  const hanging = setTimeout(() => child.kill('SIGKILL'), maxCommandMs);
  return finish(child).finally(() => clearTimeout(hanging));
}

/** Runs a script of the repository, and waits for its end. */
export async function runScript(environment: Environment, script: string, ...args: string[]): Promise<Finished> {
  return finish(start(environment, [script, ...args]));
}

/** Runs a shell with commands as they are printed, without settings of its own. */
export async function runShell(commands: string, directory: string): Promise<Finished> {
  const { API_KEY, API_URL, TOKEN, ...others } = process.env;
  const child = spawn('sh', ['-e'], { cwd: directory, env: others });
  child.stdin.end(commands);
  return finish(child);
}

/** Starts the demo, and waits until it has printed everything. */
export function startDemo(environment: Environment): Promise<TestProcess> {
  return startScript(environment, [demoCli, 'serve'], [], 'Press Ctrl+C');
}

/**
 * Starts a server, and waits until it serves.
 *
 * @param through the command line of a program that executes the command after it
 * @throws Error with its output if it does not start.
 */
export function startServer(environment: Environment, through: readonly string[] = []): Promise<TestProcess> {
  return startScript(environment, [cli, 'serve'], through);
}

/** Starts a server with jobs and a clock to observe. With arguments it adds jobs after it has started. */
export function startBackgroundServer(environment: Environment, ...args: string[]): Promise<TestProcess> {
  return startScript(environment, [fileURLToPath(new URL('background-server.ts', import.meta.url)), ...args]);
}

/** Starts a server, and does not wait for it. */
export function spawnServer(environment: Environment): TestProcess {
  return spawnScript(environment, [cli, 'serve']);
}

async function startScript(
  environment: Environment,
  command: readonly string[],
  through: readonly string[] = [],
  ready = '"Serving."',
): Promise<TestProcess> {
  const started = spawnScript(environment, command, through);
  await started.wrote(ready);
  return started;
}

function spawnScript(
  environment: Environment,
  command: readonly string[],
  through: readonly string[] = [],
): TestProcess {
  const child = start(environment, command, through);
  const finished = finish(child);
  let out = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  const wrote = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (out.includes(text)) resolve();
      };
      look();
      child.stdout?.on('data', look);
      void finished.then((end) => reject(new Error(`The process ended without "${text}":\n${end.out}${end.error}`)));
    });
  return {
    pid: child.pid,
    address: `http://127.0.0.1:${environment.PORT}`,
    finished,
    written: () => out,
    wrote,
    kill: (signal) => void child.kill(signal),
  };
}

function start(environment: Environment, command: readonly string[], through: readonly string[] = []): ChildProcess {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const [program = process.execPath, ...words] = [...through, process.execPath, ...serveFlags, ...command];
  const env = { PATH, HOME, NODE_COMPILE_CACHE, ...clockVariables(), ...environment };
  const child = spawn(program, words, { env });
  children.add(child);
  return child;
}

/** The variables by which `faketime` gives a process another time: all processes of a test have the same. */
function clockVariables(): Environment {
  const names = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC'];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** Processes must end before their database is dropped, also if a test fails. */
function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
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
