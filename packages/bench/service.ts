/** What measurements prepare: a service on a database, its tenants and API keys, and servers as an operator starts them. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createService, openStore, type StoreOptions } from '@financial-automation/server/bench';
import {
  databaseUrl,
  dropDatabase,
  ensureBundle,
  findServer,
  runOn,
  serveFlags,
} from '@financial-automation/server/machine';
import {
  createApiKey,
  createTenant,
  readConfig,
  type Service,
  type Tenant,
} from '@financial-automation/server/service';
import { freePort } from '@financial-automation/server/tools';
import { pino } from 'pino';

/** Creates a database for a measurement, which is dropped at the end. */
export async function createDatabase(name: string): Promise<AsyncDisposable & { readonly url: string }> {
  const postgres = await findServer();
  const database = `bench_${name}_${process.pid}`;
  await runOn(postgres.url, `create database ${database} template template0`);
  return {
    url: databaseUrl(postgres.url, database),
    async [Symbol.asyncDispose]() {
      await dropDatabase(postgres.url, database);
      await postgres.stop();
    },
  };
}

/** Creates a folder for a measurement, which is removed at the end. */
export function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  return mkdtempDisposable(join(tmpdir(), 'financial-automation-bench-'));
}

/** Settings of everything that is measured. The key is the same for all processes of a run, which share a database, or that of a filled one. */
export const settings = {
  MASTER_KEY: process.env.MASTER_KEY ?? randomBytes(32).toString('base64'),
  RATE_LIMIT_FACTOR: '0',
  LOG_LEVEL: 'silent',
  PAYMENT_PROCESSOR: 'sandbox',
} as const;

/** Opens a service in this process. What it does can take longer than a request may: whatever it takes is to be measured. */
export async function openService(options: StoreOptions): Promise<Service> {
  const limits = { read: 600_000, statement: 3_600_000, ...options.limits };
  const store = await openStore({ ...options, limits });
  return createService(readConfig(settings), store, pino({ level: 'silent' }));
}

export function addTenant(service: Service, name: string): Promise<Tenant> {
  return createTenant({ service }, { name, displayName: name, currency: 'USD', timeZone: 'UTC', country: 'US' });
}

/** Creates an API user. @returns its key */
export async function addUser(service: Service, tenant: string, user: string, role = 'API_ADMIN'): Promise<string> {
  const options = { tenant, user, roles: [role], days: 1, description: undefined };
  return (await createApiKey({ service }, options)).key;
}

export const json = { 'Content-Type': 'application/json' } as const;

/** Exchanges an API key for a token, and waits if too many keys of this address were exchanged. */
export async function tokenOf(address: string, apiKey: string): Promise<string> {
  const body = JSON.stringify({ apiKey });
  const response = await fetch(`${address}/v1/auth/token`, { method: 'POST', headers: json, body });
  if (response.status === 429) {
    await pause(Number(response.headers.get('Retry-After') ?? 1) * 1_000);
    return tokenOf(address, apiKey);
  }
  if (response.status !== 200) throw new Error(`The API key was not exchanged: ${response.status}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

export interface BenchServer {
  readonly port: number;
  readonly address: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the server as `pnpm serve` and the image do, and waits until it is ready. */
export async function startServer(environment: NodeJS.ProcessEnv): Promise<BenchServer> {
  await ensureBundle();
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const folder = await temporaryFolder();
  const cli = fileURLToPath(new URL('../server/dist/cli.js', import.meta.url));
  const child = spawn(process.execPath, [...serveFlags, cli, 'serve'], {
    env: { ...process.env, ...settings, ...environment, DATA_DIR: folder.path, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (;;) {
    const isReady = await fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    if (child.exitCode !== null) throw new Error('The server did not start.');
    await pause(100);
  }
  return {
    port,
    address,
    pid: child.pid ?? 0,
    async stop() {
      if (child.kill()) await once(child, 'exit');
      await folder[Symbol.asyncDispose]();
    },
  };
}
