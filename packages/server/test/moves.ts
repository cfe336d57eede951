import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { readConfig } from '../src/app/read-config.ts';
import { serve } from '../src/main/main.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import { addCell } from '../src/operator/databases/cells.ts';
import { type MoveStep, moveTenant } from '../src/operator/moves/move-tenant.ts';
import type { Operator } from '../src/operator/operator.ts';
import { onDatabase, unlimited } from '../src/operator/run-commands.ts';
import { createTenant, listTenants } from '../src/operator/tenants.ts';
import { Cells } from '../src/platform/store/databases/cells.ts';
import type { Store } from '../src/platform/store/store.ts';
import { atEnd } from './at-end.ts';
import { testDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { isNightly } from './nightly.ts';
import { patientLimits } from './patient-limits.ts';
import { overTcp } from './postgres-server.ts';
import { startReceiver } from './receiver.ts';
import { openProxy } from './severable-proxy.ts';

export type ThreeDatabases = Awaited<ReturnType<typeof threeDatabases>>;
type Caller = (path: string, json?: object, at?: string) => Promise<Response>;

interface Response {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: {
    readonly data?: readonly { readonly systemRef: string; readonly name: string }[];
    readonly hasMore?: boolean;
    readonly nextCursor?: string;
    readonly detail?: string;
  };
}

/** Creates three databases with a tenant in each, which are used through two processes: alpha, beta and gamma in home, east and west. */
export async function threeDatabases() {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-moves-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const [home, east, west] = await Promise.all([testDatabase(), testDatabase(), testDatabase()]);
  const receiver = await startReceiver();
  const environment = {
    DATABASE_URL: home.databaseUrl ?? '',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, 'data'),
    POOL_SIZE: '4',
    READ_BUDGET_MS: '60000',
    // Only failures that nobody expects, whose cause a response does not say.
    LOG_LEVEL: 'error',
    RATE_LIMIT_FACTOR: '0',
    WEBHOOK_ALLOW_LOOPBACK: 'on',
    PAYMENT_PROCESSOR: 'sandbox',
  };
  const started = async () => {
    const running = await serve({ ...environment, PORT: String(await freePort()) });
    atEnd(() => running.stop());
    return running;
  };
  const first = await started();
  const operator = await longCommand(environment);
  const westUrl = overTcp(west.databaseUrl ?? '');
  const proxy = await openProxy(westUrl.hostname, Number(westUrl.port || 5432));
  atEnd(() => proxy.sever());
  westUrl.host = `127.0.0.1:${proxy.port}`;
  await addCell(operator, { name: 'east', url: east.databaseUrl ?? '' });
  await addCell(operator, { name: 'west', url: westUrl.href });
  const cells = cellsOf(operator.service.store);
  await Promise.all([cells, cellsOf(first.service.store)].map((one) => one.look()));
  const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
  await createTenant(operator, { name: 'alpha', displayName: 'Alpha', ...place });
  await createTenant(operator, { name: 'beta', displayName: 'Beta', cell: 'east', ...place });
  await createTenant(operator, { name: 'gamma', displayName: 'Gamma', cell: 'west', ...place });
  const second = await started();
  const [alpha, beta, gamma] = await Promise.all(
    ['alpha', 'beta', 'gamma'].map((tenant) => callerOf(operator, first.address, tenant)),
  );
  if (alpha === undefined || beta === undefined || gamma === undefined) throw new Error('A caller is missing.');
  const subscription = { entityType: 'Client', operations: ['CREATE', 'UPDATE'], deliveryUrl: receiver.url };
  expect(await beta('/api/v1/event-subscriptions', subscription)).toMatchObject({ status: 201 });
  const addresses = [first.address, second.address];
  return {
    environment,
    operator,
    receiver,
    cells,
    /** The way to the database `west`. */
    proxy,
    second,
    tenantId: (await first.service.directory.tenant('beta'))?.id ?? 0,
    callers: { alpha, beta, gamma },
    /** Lets all processes read the directory. */
    async look() {
      const processes = [first, second].map(({ service }) => cellsOf(service.store));
      await Promise.all([cells, ...processes].map((one) => one.look()));
    },
    loads: () => ({
      alpha: new Load('alpha', alpha, addresses, false),
      beta: new Load('beta', beta, addresses, true),
      gamma: new Load('gamma', gamma, addresses, false),
    }),
    /** Where rows of the tenant are. */
    async placesOf(name: string) {
      const { found } = await listTenants(operator);
      return found.filter((one) => one.name === name).map(({ cell, active, move = '' }) => `${cell} ${active} ${move}`);
    },
    /** As in a process that is killed before the step: all that it has done is committed or rolled back by the database. */
    interruptedMove: (to: string, step: MoveStep) =>
      moveTenant(operator, { tenant: 'beta', to }, (next) => {
        if (next === step) throw new Error('interrupted');
      }),
    /** Others take over after some seconds. */
    async endLeases() {
      for (const cell of [1, 2])
        await cells
          .cell(cell)
          .system((transaction) => transaction.all(sql`update tenant_move set mover_until = '-infinity'`));
    },
  };
}

/** The operator in the process of a command that somebody watches: a busy machine does not end its transactions. */
async function longCommand(environment: NodeJS.ProcessEnv): Promise<Operator> {
  const [begun, ended] = [Promise.withResolvers<Operator>(), Promise.withResolvers<void>()];
  const run = (operator: Operator) => {
    begun.resolve(operator);
    return ended.promise;
  };
  const command = onDatabase(readConfig(environment), run, { ...patientLimits, ...unlimited });
  command.catch(begun.reject);
  atEnd(() => {
    ended.resolve();
    return command;
  });
  return begun.promise;
}

function cellsOf(store: Store): Cells {
  if (!(store instanceof Cells)) throw new Error('There is no directory.');
  return store;
}

async function callerOf(
  operator: Parameters<typeof createApiKey>[0],
  address: string,
  tenant: string,
): Promise<Caller> {
  const user = { tenant, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey(operator, user);
  const send = async (at: string, path: string, body: object, more: object = {}) => {
    // A connection that the server closes while it is idle would look like a failure.
    const headers = { 'Content-Type': 'application/json', Connection: 'close', Tenant: tenant, ...more };
    const response = await fetch(at + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const retryAfter = response.headers.get('Retry-After');
    return { status: response.status, retryAfter, body: Object(await response.json()) };
  };
  const { body } = await send(address, '/v1/auth/token', { apiKey: key });
  return (path, json = {}, at = address) => send(at, path, json, { Authorization: `Bearer ${body.access_token}` });
}

export const upsert = (systemRef: string, name: string) => ({
  records: [{ type: 'Client', systemRef, attributes: { name } }],
});

/** How long a worker waits after each write and read, in milliseconds. */
const between = isNightly ? 60 : 200;

/** Writes through one process and reads through the other, all the time. */
export class Load {
  readonly faults: string[] = [];
  /** The last acknowledged name by `systemRef`. */
  readonly acknowledged = new Map<string, string>();
  rejected = 0;
  /** Whether 503 is a valid response to writes, and to reads. */
  mayBeRejected: boolean;
  mayBeUnreadable = false;
  /** Each name that was written and acknowledged. */
  readonly written: string[] = [];
  readonly #addresses: readonly string[];
  #isOver = false;
  readonly #running: Promise<void>;

  /** @param addresses of the two processes */
  constructor(tenant: string, call: Caller, addresses: readonly string[], mayBeRejected: boolean) {
    this.#addresses = addresses;
    this.mayBeRejected = mayBeRejected;
    this.#running = Promise.all([0, 1].map((worker) => this.#work(tenant, call, worker))).then(() => {});
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #work(tenant: string, call: Caller, worker: number): Promise<void> {
    for (let count = 1; !this.#isOver; count++) {
      const [here = '', there = ''] = count % 2 === 0 ? this.#addresses : this.#addresses.toReversed();
      // Half of them change what was written before.
      const ref = `${tenant} ${worker} ${Math.ceil(count / 2)}`;
      const name = `${tenant} ${worker} ${count}`;
      const { status, retryAfter, body } = await call('/api/v1/records', upsert(ref, name), here);
      // Other tests of the machine leave this process too little time.
      if (isBusy(body)) continue;
      if (status === 200 && JSON.stringify(body).includes('"FAILED"')) this.faults.push(JSON.stringify(body));
      else if (status === 200) {
        this.acknowledged.set(ref, name);
        this.written.push(name);
      } else if (status === 503 && retryAfter !== null && this.mayBeRejected) this.rejected += 1;
      else this.faults.push(`write: ${status} ${JSON.stringify(body)}`);
      const read = await call('/gql/v1/clients/search', { where: { systemRef: { _eq: ref } } }, there);
      if (isBusy(read.body)) continue;
      const found = read.body.data?.[0]?.name;
      if (read.status === 503 && this.mayBeUnreadable) this.rejected += 1;
      else if (read.status !== 200) this.faults.push(`read: ${read.status} ${JSON.stringify(read.body)}`);
      else if (found !== this.acknowledged.get(ref))
        this.faults.push(`${ref} is ${found}, not ${this.acknowledged.get(ref)}`);
      await pause(between);
    }
  }
}

function isBusy({ detail }: Response['body']): boolean {
  return detail?.startsWith('The service is busy.') === true;
}

/** All that was acknowledged is there, with one event each, and all events have been sent at least once. */
export async function verify(
  { cells, tenantId, callers, receiver }: ThreeDatabases,
  { alpha, beta, gamma }: ReturnType<ThreeDatabases['loads']>,
): Promise<void> {
  await Promise.all([alpha.end(), beta.end(), gamma.end()]);
  expect({ alpha: alpha.faults, beta: beta.faults, gamma: gamma.faults }).toEqual({ alpha: [], beta: [], gamma: [] });
  expect(beta.written.length).toBeGreaterThan(0);
  const names = new Map<string, string>();
  for (let after: string | null = null; ; ) {
    const page = { pageSize: 1000, ...(after === null ? {} : { after }) };
    const { body } = await callers.beta('/gql/v1/clients/search', page);
    for (const { systemRef, name } of body.data ?? []) names.set(systemRef, name);
    if (body.hasMore !== true) break;
    after = body.nextCursor ?? null;
  }
  expect([...beta.acknowledged].filter(([ref, name]) => names.get(ref) !== name)).toEqual([]);
  const events = () =>
    cells.read(tenantId, (session) =>
      session.all<{ id: string; position: number | null; name: string }>(sql`
        select event.id, position::integer as position, data ->> 'name' as name
        from recorded_event event
        left join event_position positioned on positioned.tenant_id = event.tenant_id and positioned.event_id = event.id
        where event.tenant_id = ${tenantId} and event.entity_type = 'Client'`),
    );
  await expect.poll(async () => (await events()).filter(({ position }) => position === null)).toEqual([]);
  const recorded = await events();
  const ofName = Map.groupBy(recorded, ({ name }) => name);
  expect(beta.written.filter((name) => ofName.get(name)?.length !== 1)).toEqual([]);
  const sent = () => new Set(receiver.arrivals.map(({ event }) => event.id));
  await expect.poll(() => recorded.filter(({ id }) => !sent().has(id)).length).toBe(0);
  expect(receiver.faults).toEqual([]);
}
