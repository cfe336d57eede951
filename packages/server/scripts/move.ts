/**
 * Moves a firm of the demo data to another database while it and two other tenants are read and written through two processes, and reports
 * how long its callers were without writes. No response may have another status than 200, but for 503 with `Retry-After` for writes of the
 * tenant that moves, and each acknowledged write must be there afterwards.
 *
 * `--profile mid` is the demo data; `--database URL` is a database that has them already, of a server on which others can be created.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../../scripts/options.ts';
import { freePort } from '../test/free-port.ts';
import { databaseUrl, dropDatabase, runOn } from '../test/postgres-server.ts';
import { findServer } from '../test/postgres-setup.ts';

const { values } = readOptions({
  options: { profile: { type: 'string', default: 'mid' }, database: { type: 'string' } },
});
const repository = fileURLToPath(new URL('../../..', import.meta.url));
const server = join(repository, 'packages/server/src/cli.ts');
const demoData = join(repository, 'packages/demo-data/src/cli.ts');
const moved = `demo_${values.profile}`;
/** Callers of each tenant, each of which waits between two requests, in milliseconds. */
const [callers, between] = [2, 100];
/** How long callers use a token, in milliseconds. */
const tokenTime = 300_000;
/** A connection that the server closes while it is idle would look like a failure. */
const json = { 'Content-Type': 'application/json', Connection: 'close' };

const postgres =
  values.database === undefined ? await findServer() : { url: values.database, stop: async () => undefined };
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-move-'));
const names = ['home', 'east', 'west'].map((name) => `move_${name}_${process.pid}`);
const [home = '', east = '', west = ''] = names.map((name) => databaseUrl(postgres.url, name));
const environment: Record<string, string> = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  DATABASE_URL: values.database ?? home,
  MASTER_KEY: process.env.MASTER_KEY ?? Buffer.alloc(32, 7).toString('base64'),
  DATA_DIR: join(folder, 'data'),
  PAYMENT_PROCESSOR: 'sandbox',
  RATE_LIMIT_FACTOR: '0',
  LOG_LEVEL: 'warn',
};

async function run(program: string, words: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const env = { ...environment, ...more };
  const child = spawn(process.execPath, [program, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} failed:\n${out}`);
  return out;
}

const processes: ChildProcess[] = [];

async function start(): Promise<string> {
  const port = await freePort();
  // What a rejected write logs would hide the report.
  const env = { ...environment, PORT: String(port), LOG_LEVEL: 'fatal' };
  processes.push(spawn(process.execPath, [server, 'serve'], { env, stdio: ['ignore', 'inherit', 'inherit'] }));
  const address = `http://127.0.0.1:${port}`;
  while (
    !(await fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await pause(100);
  return address;
}

/** Callers of one tenant, who write through one process and read through the other. */
class Load {
  readonly faults: string[] = [];
  readonly acknowledged = new Map<string, string>();
  requests = 0;
  rejected = 0;
  /** Duration of requests, in milliseconds. */
  readonly durations: number[] = [];
  /** The longest time from one write that succeeded to the next one of any caller, in milliseconds. */
  longestGap = 0;
  #lastWrite = 0;
  #isOver = false;
  readonly #tenant: string;
  readonly #key: string;
  readonly #addresses: readonly string[];
  #token: { readonly value: Promise<string>; readonly since: number } | undefined;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(tenant: string, key: string, addresses: readonly string[]) {
    this.#tenant = tenant;
    this.#key = key;
    this.#addresses = addresses;
  }

  static async start(tenant: string, addresses: readonly string[]): Promise<Load> {
    const key = await run(server, ['api-key', 'create', tenant, 'move', '--roles', 'API_ADMIN']);
    const load = new Load(tenant, key.trim(), addresses);
    load.#running = Promise.all(Array.from({ length: callers }, (_, caller) => load.#call(caller)));
    return load;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    for (const [ref, name] of this.acknowledged) {
      const { text } = await this.#send(0, '/gql/v1/clients/search', { where: { systemRef: { _eq: ref } } });
      if (!text.includes(`"${name}"`)) this.faults.push(`${ref} is not ${name}: ${text.slice(0, 200)}`);
    }
  }

  /** A large firm may take longer to move than a token is valid. */
  #currentToken(): Promise<string> {
    const now = performance.now();
    if (this.#token === undefined || now - this.#token.since > tokenTime)
      this.#token = { value: this.#signIn(), since: now };
    return this.#token.value;
  }

  async #signIn(): Promise<string> {
    const body = JSON.stringify({ apiKey: this.#key });
    const response = await fetch(`${this.#addresses[0]}/v1/auth/token`, { method: 'POST', headers: json, body });
    if (!response.ok) throw new Error(`The API key of ${this.#tenant} was not exchanged: ${await response.text()}`);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async #send(at: number, path: string, body: object) {
    const headers = { ...json, Authorization: `Bearer ${await this.#currentToken()}`, Tenant: this.#tenant };
    const started = performance.now();
    const response = await fetch(`${this.#addresses[at % this.#addresses.length]}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const text = await response.text();
    this.requests += 1;
    this.durations.push(performance.now() - started);
    return { status: response.status, text, retryAfter: response.headers.get('Retry-After') };
  }

  async #call(caller: number): Promise<void> {
    for (let count = 1; !this.#isOver; count++) {
      const ref = `move ${caller} ${Math.ceil(count / 2)}`;
      const name = `${this.#tenant} ${caller} ${count}`;
      const records = [{ type: 'Client', systemRef: ref, attributes: { name } }];
      const { status, text, retryAfter } = await this.#send(count, '/api/v1/records', { records });
      if (status === 200 && !text.includes('"FAILED"')) {
        const now = performance.now();
        if (this.#lastWrite > 0) this.longestGap = Math.max(this.longestGap, now - this.#lastWrite);
        this.#lastWrite = now;
        this.acknowledged.set(ref, name);
      } else if (status === 503 && retryAfter !== null && this.#tenant === moved) this.rejected += 1;
      else this.faults.push(`write: ${status} ${text.slice(0, 300)}`);
      const read = await this.#send(count + 1, '/gql/v1/clients/search', { where: { systemRef: { _eq: ref } } });
      const expected = this.acknowledged.get(ref);
      if (read.status !== 200 || (expected !== undefined && !read.text.includes(`"${expected}"`)))
        this.faults.push(`read: ${read.status} ${read.text.slice(0, 300)}`);
      await pause(between);
    }
  }

  report(): Record<string, number> {
    this.durations.sort((one, other) => one - other);
    const at = (share: number) => Math.round(this.durations[Math.floor(this.durations.length * share)] ?? 0);
    const { requests, rejected, longestGap, faults } = this;
    return {
      requests,
      'writes with 503': rejected,
      faults: faults.length,
      'median ms': at(0.5),
      'p99 ms': at(0.99),
      'longest without a write, ms': Math.round(longestGap),
    };
  }
}

let isFailed = false;
try {
  for (const name of values.database === undefined ? names : names.slice(1))
    await runOn(postgres.url, `create database ${name} template template0`);
  await run(server, ['migrate']);
  if (values.database === undefined) {
    console.log(await run(demoData, ['create', '--profile', values.profile]));
  }
  for (const [name, url] of [
    ['east', east],
    ['west', west],
  ] as const)
    await run(server, ['cell', 'add', name], { CELL_DATABASE_URL: url });
  await run(server, ['tenant', 'create', 'in_east', '--cell', 'east']);
  await run(server, ['tenant', 'create', 'in_west', '--cell', 'west']);
  const addresses = [await start(), await start()];
  const loads = new Map<string, Load>();
  for (const tenant of [moved, 'in_east', 'in_west']) loads.set(tenant, await Load.start(tenant, addresses));
  console.log(`Load of the machine: ${loadavg().map((load) => load.toFixed(1))}`);
  console.log(await run(server, ['tenant', 'move', moved, '--to', 'east']));
  await pause(5_000);
  console.log(`Load of the machine: ${loadavg().map((load) => load.toFixed(1))}`);
  for (const load of loads.values()) await load.end();
  console.table(Object.fromEntries([...loads].map(([tenant, load]) => [tenant, load.report()])));
  const faults = [...loads].flatMap(([tenant, load]) => load.faults.map((fault) => `${tenant}: ${fault}`));
  for (const fault of faults.slice(0, 20)) console.error(fault);
  isFailed = faults.length > 0;
  const started = performance.now();
  console.log(await run(server, ['tenant', 'move', moved, '--remove-old']));
  console.log(`It took ${Math.round((performance.now() - started) / 1_000)} s.`);
} finally {
  for (const child of processes) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  // While the server vacuums a large database, only a superuser can drop it.
  for (const name of values.database === undefined ? names : names.slice(1))
    await dropDatabase(postgres.url, name).catch((error) => console.error(`${name} was not dropped: ${error}`));
  await rm(folder, { recursive: true, force: true });
  await postgres.stop();
}
process.exit(isFailed ? 1 : 0);
