/**
 * Upgrades a database from the last version of the program and rolls the program back, while callers read, write and approve time: no
 * response other than 200 and 503, none that takes more than a second, the same totals of the books, and books that are consistent at the
 * end. `--profile mid` is the demo data that is in the database, `--seconds` the duration of each phase, `--only COMMIT` one version alone.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
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

/** The commit of the last version that was in use, which has the last migration from before the baseline. */
const versions = ['6ba29bc3'] as const;

const { values } = readOptions({
  options: {
    profile: { type: 'string', default: 'mid' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
/** Callers, each of which waits between two requests, in milliseconds. */
const [callers, between] = [6, 40];
const longest = 1_000;
const repository = fileURLToPath(new URL('../../..', import.meta.url));

type Phase = { requests: number; unavailable: number; durations: number[]; faults: string[] };
type Environment = Record<string, string>;

const postgres = await findServer();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-upgrade-'));

/** Returns whether nothing failed. */
async function upgradeFrom(version: string): Promise<boolean> {
  const before = await checkOut(version);
  const database = `upgrade_${version}_${process.pid}`;
  await runOn(postgres.url, `create database ${database} template template0`);
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    DATABASE_URL: databaseUrl(postgres.url, database),
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, `data-${version}`),
    PAYMENT_PROCESSOR: 'sandbox',
    RATE_LIMIT_FACTOR: '0',
    // Only the totals take longer than a read may, on a busy machine; what callers wait for is measured.
    READ_BUDGET_MS: '60000',
    LOG_LEVEL: 'warn',
  };
  const processes: Server[] = [];
  try {
    console.log(
      `\nFrom ${version}, load of the machine: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(', ')}`,
    );
    await run(before, environment, 'packages/server/src/cli.ts', 'migrate');
    await run(before, environment, 'packages/demo-data/src/cli.ts', 'create', '--profile', values.profile);
    const tenant = `demo_${values.profile}`;
    // The callers approve what they have written.
    await run(before, environment, 'packages/server/src/cli.ts', 'tenant', 'set', tenant, 'selfApproval', 'on');
    const key = await run(
      before,
      environment,
      'packages/server/src/cli.ts',
      'api-key',
      'create',
      tenant,
      'upgrade',
      '--roles',
      'API_ADMIN',
    );
    const start = async (place: string) => {
      const server = await Server.start(place, environment);
      processes.push(server);
      return server;
    };
    const old = await start(before);
    const load = await Load.start(old, tenant, key.trim());
    const totals = await load.totals();
    await load.phase('version before', () => pause(seconds * 1_000));
    await load.phase('migrations', () =>
      run(repository, environment, 'packages/server/src/cli.ts', 'migrate').then(console.log),
    );
    await load.phase('version before, new schema', () => pause(seconds * 1_000));
    console.log(`/readyz of the version before: ${await old.readiness()}`);
    const next = await start(repository);
    load.servers.push(next);
    await load.phase('both', () => pause(seconds * 1_000));
    load.take(old);
    await old.stop();
    await load.phase('new version', () => pause(seconds * 1_000));
    const isSame = (await load.totals()) === totals;
    console.log(`The totals of the books are ${isSame ? 'the same' : 'different'} in the new version.`);
    const again = await start(before);
    load.servers.push(again);
    await load.phase('both, rolling back', () => pause(seconds * 1_000));
    load.take(next);
    await next.stop();
    await load.phase('version before again', () => pause(seconds * 1_000));
    await load.end();
    console.log(await run(repository, environment, 'packages/server/src/cli.ts', 'books', 'check', tenant));
    return load.report() && isSame;
  } finally {
    for (const server of processes) await server.stop();
    // While the server vacuums a large database, only a superuser can drop it.
    await dropDatabase(postgres.url, database).catch((error) => console.error(`${database} was not dropped: ${error}`));
  }
}

/** Copies a version to a folder and installs what it depends on. @throws Error with a sentence if there is no such commit. */
async function checkOut(version: string): Promise<string> {
  const place = join(folder, version);
  try {
    execFileSync('git', ['cat-file', '-e', `${version}^{commit}`], { cwd: repository, stdio: 'ignore' });
  } catch {
    throw new Error(
      `The repository does not have the commit ${version}, a version that the upgrade starts from. Fetch all of its history: git fetch --unshallow`,
    );
  }
  execFileSync('sh', ['-c', `mkdir '${place}' && git archive ${version} | tar -x -C '${place}'`], { cwd: repository });
  // Scripts of packages only prepare tools of tests.
  const install = ['--yes', 'pnpm@12', 'install', '--frozen-lockfile', '--prefer-offline', '--ignore-scripts'];
  execFileSync('npx', install, { cwd: place, stdio: ['ignore', 'ignore', 'inherit'] });
  return place;
}

async function run(place: string, environment: Environment, program: string, ...words: string[]): Promise<string> {
  const child = spawn(process.execPath, [join(place, program), ...words], { cwd: place, env: environment });
  let [out, error] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    error += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ${words.join(' ')} failed in ${place}:\n${out}${error}`);
  return out;
}

class Server {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(address: string, child: ChildProcess) {
    this.address = address;
    this.#child = child;
    this.#ended = once(child, 'exit');
  }

  /** Starts a process, and waits until it is ready. */
  static async start(place: string, environment: Environment): Promise<Server> {
    const port = await freePort();
    const words = [join(place, 'packages/server/src/cli.ts'), 'serve'];
    const env = { ...environment, PORT: String(port) };
    const child = spawn(process.execPath, words, { cwd: place, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const server = new Server(`http://127.0.0.1:${port}`, child);
    while ((await server.readiness()) !== 200) {
      if (child.exitCode !== null) throw new Error(`The process of ${place} ended with ${child.exitCode}.`);
      await pause(100);
    }
    return server;
  }

  async readiness(): Promise<number> {
    return fetch(`${this.address}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}

/** Callers that use the servers in turn, as a load balancer distributes requests. */
class Load {
  readonly servers: Server[];
  readonly #headers: Record<string, string>;
  readonly #startedAt = new Date().toISOString();
  readonly #work: readonly Work[];
  readonly #phases = new Map<string, Phase>();
  #phase: Phase = { requests: 0, unavailable: 0, durations: [], faults: [] };
  #turn = 0;
  #isOver = false;
  #callers: Promise<void>[] = [];

  private constructor(server: Server, headers: Record<string, string>, work: readonly Work[]) {
    this.servers = [server];
    this.#headers = headers;
    this.#work = work;
  }

  static async start(server: Server, tenant: string, apiKey: string): Promise<Load> {
    const json = { 'Content-Type': 'application/json' };
    const response = await fetch(`${server.address}/v1/auth/token`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ apiKey }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: tenant };
    // Of jobs that are open, on days on which its people can work some hours more.
    const open = { status: { _eq: 'APPROVED' }, isBillable: { _eq: true }, isLocked: { _eq: false } };
    const found = await fetch(`${server.address}/gql/v1/time_entries/search`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ where: open, orderBy: [{ workDate: 'desc' }], pageSize: 500 }),
    });
    const load = new Load(server, headers, Object(await found.json()).data);
    load.#callers = Array.from({ length: callers }, (_, caller) => load.#call(caller));
    return load;
  }

  async phase(name: string, work: () => Promise<unknown>): Promise<void> {
    this.#phase = { requests: 0, unavailable: 0, durations: [], faults: [] };
    this.#phases.set(name, this.#phase);
    await work();
  }

  /** Returns totals of documents, taxes, payments, the ledger and the journal, as text, but for the work that callers approve. */
  async totals(): Promise<string> {
    const all = Object.entries(totals(this.#startedAt)).map(async ([resource, [groupBy, measures, where]]) => {
      const body = {
        where,
        groupBy: groupBy.map((column) => ({ column })),
        measures: Object.fromEntries(measures.map((column) => [column, { function: 'SUM', column }])),
      };
      const request = { method: 'POST', headers: this.#headers, body: JSON.stringify(body) };
      const response = await fetch(`${this.servers[0]?.address}/gql/v1/${resource}/aggregate`, request);
      if (response.status !== 200) throw new Error(`${resource}: ${response.status} ${await response.text()}`);
      return JSON.stringify(Object(await response.json()).data);
    });
    return (await Promise.all(all)).join('\n');
  }

  take(server: Server): void {
    this.servers.splice(this.servers.indexOf(server), 1);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  report(): boolean {
    console.table(
      Object.fromEntries(
        [...this.#phases].map(([name, { requests, unavailable, durations, faults }]) => {
          durations.sort((a, b) => a - b);
          const at = (share: number) => `${Math.round(durations[Math.floor(durations.length * share)] ?? 0)} ms`;
          const last = `${Math.round(durations.at(-1) ?? 0)} ms`;
          return [
            name,
            { requests, 503: unavailable, faults: faults.length, median: at(0.5), p99: at(0.99), longest: last },
          ];
        }),
      ),
    );
    const faults = [...this.#phases].flatMap(([name, phase]) => phase.faults.map((fault) => `${name}: ${fault}`));
    for (const fault of faults.slice(0, 20)) console.error(fault);
    return faults.length === 0;
  }

  async #call(caller: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const [path, body] = requestOf(caller, count, this.#work);
      const server = this.servers[this.#turn++ % this.servers.length];
      const phase = this.#phase;
      const started = performance.now();
      try {
        const response = await fetch(`${server?.address}${path}`, {
          method: 'POST',
          headers: this.#headers,
          body: JSON.stringify(body),
        });
        const text = await response.text();
        const took = performance.now() - started;
        phase.requests += 1;
        phase.durations.push(took);
        if (response.status === 503) phase.unavailable += 1;
        else if (response.status !== 200) phase.faults.push(`${path}: ${response.status} ${text.slice(0, 300)}`);
        else if (text.includes('"FAILED"')) phase.faults.push(`${path}: ${/"error":\{.{0,200}/.exec(text)?.[0]}`);
        if (took > longest) phase.faults.push(`${path} took ${Math.round(took)} ms.`);
      } catch (error) {
        phase.faults.push(`${path}: ${error}`);
      }
      await pause(between);
    }
  }
}

/** By resource, the columns of groups, the columns that are added up, and of which rows. */
const totals = (
  startedAt: string,
): Readonly<Record<string, readonly [readonly string[], readonly string[], object]>> => ({
  invoices: [['currency', 'documentType'], ['subtotal', 'taxTotal', 'total', 'amountDue'], {}],
  invoice_lines: [['taxName', 'taxRatePercent'], ['amount', 'taxAmount'], {}],
  payments: [['currency', 'status'], ['amount', 'unappliedAmount'], {}],
  ledger_entries: [['currency', 'account', 'kind'], ['amount'], { recordedAt: { _lt: startedAt } }],
  journal_entries: [['currency', 'purpose'], ['debit', 'credit'], { purpose: { _nin: ['WIP', 'WIP_CHANGE'] } }],
});

/** Time that is approved and not billed. */
interface Work {
  readonly staffId: string;
  readonly jobId: string;
  readonly workDate: string;
}

/** Half of them write: time, and its approval, with which its work enters the ledger. */
function requestOf(caller: number, count: number, work: readonly Work[]): [string, object] {
  const round = Math.floor(count / 4);
  const { staffId, jobId, workDate } = work[(callers * round + caller) % work.length] ?? {};
  const write = (attributes: object): [string, object] => [
    '/api/v1/entries',
    { records: [{ type: 'TimeEntry', systemRef: `Upgrade ${caller} ${round}`, attributes }] },
  ];
  switch (count % 4) {
    case 0:
      return ['/gql/v1/clients/search', { where: { name: { _ilike: '%pine%' } }, pageSize: 20 }];
    case 1:
      return ['/gql/v1/time_entries', { pageSize: 50 }];
    case 2:
      return write({ staffId, jobId, workDate, hours: '0.10', isBillable: true, status: 'SUBMITTED' });
    default:
      return write({ status: 'APPROVED' });
  }
}

const chosen = versions.filter((version) => values.only === undefined || version === values.only);
let isFailed = chosen.length === 0;
if (isFailed) console.error(`There is no version ${values.only}: ${versions.join(', ')}.`);
try {
  for (const version of chosen) isFailed = !(await upgradeFrom(version)) || isFailed;
} finally {
  await rm(folder, { recursive: true, force: true });
  await postgres.stop();
}
process.exit(isFailed ? 1 : 0);
