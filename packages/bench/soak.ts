/**
 * Measures whether memory grows under a mixed load, on both engines; see README.md beside this file. `--minutes N`, `--engine`,
 * `--rate` and `--server FILE` vary it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '@financial-automation/server/app/read-config';
import { createService } from '@financial-automation/server/entity/service';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { databaseOf } from '@financial-automation/server/platform/process/config';
import { openStore } from '@financial-automation/server/platform/store/store';
import { ensureBundle } from '@financial-automation/server/scripts/bundle';
import { freePort } from '@financial-automation/server/test/free-port';
import { serveFlags } from '@financial-automation/server/test/serve-flags';
import { pino } from 'pino';
import { Pool } from 'undici';
import { readOptions } from '../../scripts/options.ts';
import { printLoad } from './figures.ts';
import { createDatabase } from './postgres.ts';
import { backendsOf, memoryOf } from './processor-time.ts';
import { onboard, type Request } from './scenarios.ts';
import { slopeOf } from './slope.ts';

const { values } = readOptions({
  options: {
    soak: { type: 'boolean' },
    minutes: { type: 'string', default: '30' },
    engine: { type: 'string' },
    rate: { type: 'string', default: '40' },
    server: { type: 'string', default: fileURLToPath(new URL('../server/dist/cli.js', import.meta.url)) },
  },
});
const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
const tenant = 'soak';
/** Connections of the callers. */
const connections = 8;
/** Share of the time in which caches, compiled code and the heap reach their size: it is not part of the slope. */
const warmUp = 0.3;
/** Interval of samples, in seconds. */
const interval = 5;
/** The heap is full of garbage between two collections, so the smallest of so many samples counts. */
const samplesOfMinimum = 6;
/** More growth than this, as far as it is certain, is a leak, in MB per hour. */
const maxGrowth = 30;

/** Memory in MB at a time in seconds since the start. */
interface Sample {
  readonly at: number;
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** Own memory of a backend, on average, and the resident memory of the largest. How many there are depends on the load. */
  readonly backends?: { readonly own: number; readonly largest: number } | undefined;
}

await ensureBundle();
printLoad();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-soak-'));
try {
  if (values.engine !== 'pglite') {
    await using database = await createDatabase('soak');
    await soak('PostgreSQL', { DATABASE_URL: database.url });
  }
  if (values.engine === undefined || values.engine === 'pglite') await soak('PGlite', { DATA_DIR: folder });
} finally {
  await rm(folder, { recursive: true, force: true });
  printLoad();
}

async function soak(engine: string, place: { readonly DATABASE_URL?: string; readonly DATA_DIR?: string }) {
  const environment = {
    PATH: process.env.PATH,
    DATA_DIR: folder,
    ...place,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    PORT: String(await freePort()),
    RATE_LIMIT_FACTOR: '1000000',
    LOG_LEVEL: 'info',
    PAYMENT_PROCESSOR: 'sandbox',
  };
  const key = await prepare(environment);
  const server = spawn(process.execPath, [...serveFlags, values.server, 'serve'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // As a log shipper reads it.
  let log = '';
  server.stdout.on('data', (chunk) => {
    log = (log + String(chunk)).slice(-2_000);
  });
  server.once('exit', (code, signal) => {
    if (code !== 0) console.error(`The server ended with ${code ?? signal}:\n${log}`);
  });
  const origin = `http://127.0.0.1:${environment.PORT}`;
  const pool = new Pool(origin, { connections });
  try {
    await ready(origin, server);
    console.log(`${engine}: ${minutes} minutes with ${rate} requests a second …`);
    const samples: Sample[] = [];
    const sampling = setInterval(async () => {
      samples.push(await sampleOf(pool, server.pid ?? 0, place.DATABASE_URL, samples.length * interval));
    }, interval * 1_000);
    const sent = await callFor(minutes * 60, pool, key);
    clearInterval(sampling);
    printReport(engine, samples, sent);
  } finally {
    await pool.close();
    if (server.kill()) await once(server, 'exit');
  }
}

/** Creates a tenant and returns the API key of a caller. */
async function prepare(environment: NodeJS.ProcessEnv): Promise<string> {
  const log = pino({ level: 'silent' });
  const config = readConfig(environment);
  // The server itself only checks a PostgreSQL database.
  const store = await openStore({ ...databaseOf(config), migrations: 'apply', log });
  const service = await createService(config, store, log);
  await createTenant(
    { service },
    { name: tenant, displayName: 'Soak', currency: 'USD', timeZone: 'UTC', country: 'US' },
  );
  const options = { tenant, user: 'soak', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey({ service }, options);
  await store.close();
  return key;
}

async function ready(origin: string, server: ChildProcess): Promise<void> {
  for (;;) {
    const isReady = await fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (server.exitCode !== null) throw new Error('The server did not start.');
    await pause(100);
  }
}

/** Sends mixed requests at the rate, or more slowly if the server is slower. @returns how often each status was received */
async function callFor(seconds: number, pool: Pool, apiKey: string): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>();
  const ids: string[] = [];
  let token = '';
  let number = 0;
  const send = async ({ method, path, body }: Request): Promise<unknown> => {
    const response = await pool.request({
      method,
      path,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === '' ? {} : { authorization: `Bearer ${token}`, tenant }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1);
    const text = await response.body.text();
    return text.startsWith('{') ? JSON.parse(text) : undefined;
  };
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  let signedInAt = Number.NEGATIVE_INFINITY;
  const signIn = async () => {
    signedInAt = elapsed();
    const signedIn = await send({ method: 'POST', path: '/v1/auth/token', body: { apiKey } });
    const received: unknown = Reflect.get(Object(signedIn), 'access_token');
    if (typeof received !== 'string') throw new Error('The API key was not exchanged.');
    token = received;
  };
  await signIn();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (elapsed() < seconds) {
        const n = ++number;
        await pause(Math.max(0, (n / rate - elapsed()) * 1_000));
        if (elapsed() - signedInAt > 600) await signIn();
        const response = await send(requestOf(n, ids));
        const created: unknown = Reflect.get(Object(response), 'clientId');
        if (typeof created === 'string' && ids.length < 5_000) ids.push(created);
      }
    }),
  );
  return statuses;
}

/** Reads, searches and writes, and requests that are rejected. Texts differ, as those of real callers do. */
function requestOf(n: number, ids: readonly string[]): Request {
  const id = ids[(n * 7919) % ids.length];
  const search = (where: object): Request => ({
    method: 'POST',
    path: '/gql/v1/clients/search',
    body: {
      where,
      orderBy: [{ name: n % 2 === 0 ? 'asc' : 'desc' }],
      pageSize: 10 + (n % 50),
      includeTotal: n % 3 === 0,
    },
  });
  const kind = n % 20;
  if (id === undefined || kind < 2) return { method: 'POST', path: '/api/v1/clients/v1/onboard', body: onboard(n) };
  if (kind < 10) return { method: 'GET', path: `/gql/v1/client/${id}` };
  if (kind < 13) return search({ name: { _ilike: `%pine ${n % 1_000}%` } });
  if (kind < 15)
    return search({ id: { _in: ids.slice(n % ids.length).slice(0, 1 + (n % 40)) }, status: { _eq: 'ACTIVE' } });
  if (kind === 15) return { method: 'POST', path: '/gql/v1/contacts', body: { pageSize: 100, page: n % 500 } };
  if (kind === 16) {
    const contacts = Array.from({ length: 10 }, (_, index) => ({
      firstName: 'Noor',
      lastName: `Haddad ${n}-${index}`,
      email: `noor.haddad.${n % 5_000}.${index}@example.com`,
    }));
    return { method: 'POST', path: '/api/v1/contacts/upsert', body: { contacts } };
  }
  if (kind === 17) return search({ [`field${n}`]: { _eq: n } });
  if (kind === 18) return { method: 'GET', path: `/unknown/${n}` };
  return { method: 'GET', path: n % 400 === 19 ? '/openapi.json' : '/api/v1/event-subscriptions' };
}

async function sampleOf(pool: Pool, pid: number, databaseUrl: string | undefined, at: number): Promise<Sample> {
  const { body } = await pool.request({ method: 'GET', path: '/metrics' });
  const metrics = await body.text();
  const megabytes = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]) / 2 ** 20;
  const backends = databaseUrl === undefined ? undefined : backendsOf(databaseUrl).map(memoryOf);
  return {
    at,
    rss: memoryOf(pid).resident,
    heap: megabytes('nodejs_heap_size_used_bytes'),
    external: megabytes('nodejs_external_memory_bytes'),
    backends: backends && {
      own: backends.reduce((sum, { own }) => sum + own, 0) / Math.max(1, backends.length),
      largest: Math.max(0, ...backends.map(({ resident }) => resident)),
    },
  };
}

function printReport(engine: string, samples: readonly Sample[], statuses: ReadonlyMap<number, number>): void {
  const warm = samples.filter(({ at }) => at >= warmUp * minutes * 60);
  const rows: Record<string, object> = {};
  const add = (name: string, of: (sample: Sample) => number, smallestOf = 1, limit = maxGrowth) => {
    const counted = warm.flatMap((_, index) => {
      if ((index + 1) % smallestOf !== 0) return [];
      const group = warm.slice(index + 1 - smallestOf, index + 1);
      return [{ at: group[0]?.at ?? 0, value: Math.min(...group.map(of)) }];
    });
    if (counted.length < 3) return;
    const { perHour, uncertainty } = slopeOf(counted);
    const all = samples.map(of);
    const grows = perHour - uncertainty > limit;
    if (grows) process.exitCode = 1;
    rows[name] = {
      'after 5 s': rounded(all[0]),
      'after warm-up': rounded(counted[0]?.value),
      largest: rounded(Math.max(...all)),
      end: rounded(counted.at(-1)?.value),
      'MB per hour': `${rounded(perHour)} ± ${rounded(uncertainty)}`,
      grows: limit === Number.POSITIVE_INFINITY ? 'not judged' : grows ? 'YES' : 'no',
    };
  };
  add('RSS', ({ rss }) => rss);
  add('heap, smallest of 30 s', ({ heap }) => heap, samplesOfMinimum);
  add('external', ({ external }) => external, samplesOfMinimum);
  if (warm.some(({ backends }) => backends !== undefined)) {
    add('own memory of a backend', ({ backends }) => backends?.own ?? 0);
    // It includes the shared buffers that the backend has touched, so it grows until it has touched all of them.
    add('largest backend, RSS', ({ backends }) => backends?.largest ?? 0, 1, Number.POSITIVE_INFINITY);
  }
  console.log(`\n${engine}, MB; the slope is that of the last ${Math.round((1 - warmUp) * minutes)} minutes`);
  console.table(rows);
  const received = [...statuses]
    .toSorted(([left], [right]) => left - right)
    .map(([status, count]) => `${status} × ${count}`);
  console.log(`Responses: ${received.join(', ')}`);
}

function rounded(value = Number.NaN): number {
  return Math.round(value);
}
