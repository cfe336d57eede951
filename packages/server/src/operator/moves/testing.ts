/** Three databases, with a tenant in each, that are used through two processes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { testDatabase } from '../../../test/database.ts';
import { freePort } from '../../../test/free-port.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { serve } from '../../main/main.ts';
import { Cells } from '../../platform/store/cells.ts';
import type { Store } from '../../platform/store/store.ts';
import { createApiKey } from '../api-keys.ts';
import { addCell } from '../cells.ts';
import { createTenant, listTenants } from '../tenants.ts';
import { type MoveStep, moveTenant } from './move-tenant.ts';

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-moves-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
const [home, east, west] = await Promise.all([testDatabase(), testDatabase(), testDatabase()]);
export const receiver = await startReceiver();
atEnd(() => receiver.close());

async function started() {
  const running = await serve({
    DATABASE_URL: home.databaseUrl,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    RATE_LIMIT_FACTOR: '0',
    WEBHOOK_ALLOW_LOOPBACK: 'on',
    PAYMENT_PROCESSOR: 'sandbox',
  });
  atEnd(() => running.stop());
  return running;
}

export const first = await started();
export const operator = { service: first.service };
await addCell(operator, { name: 'east', url: east.databaseUrl ?? '' });
await addCell(operator, { name: 'west', url: west.databaseUrl ?? '' });
export const cells = cellsOf(first.service.store);
await cells.look();
const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
await createTenant(operator, { name: 'alpha', displayName: 'Alpha', ...place });
await createTenant(operator, { name: 'beta', displayName: 'Beta', cell: 'east', ...place });
await createTenant(operator, { name: 'gamma', displayName: 'Gamma', cell: 'west', ...place });
export const second = await started();
export const addresses = [first.address, second.address];
export const beta = (await first.service.directory.tenant('beta'))?.id ?? 0;
export const secondCells = cellsOf(second.service.store);

function cellsOf(store: Store): Cells {
  if (!(store instanceof Cells)) throw new Error('There is no directory.');
  return store;
}

async function callerOf(tenant: string) {
  const user = { tenant, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey(operator, user);
  const send = async (at: string, path: string, body: object, more: object = {}) => {
    const headers = { 'Content-Type': 'application/json', Tenant: tenant, ...more };
    const response = await fetch(at + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return {
      status: response.status,
      retryAfter: response.headers.get('Retry-After'),
      body: Object(await response.json()),
    };
  };
  const { body } = await send(first.address, '/v1/auth/token', { apiKey: key });
  return (path: string, json: object = {}, at = first.address) =>
    send(at, path, json, { Authorization: `Bearer ${body.access_token}` });
}

type Caller = Awaited<ReturnType<typeof callerOf>>;
export const callers = { alpha: await callerOf('alpha'), beta: await callerOf('beta'), gamma: await callerOf('gamma') };
export const upsert = (systemRef: string, name: string) => ({
  records: [{ type: 'Client', systemRef, attributes: { name } }],
});

/** How long a worker waits after each write and read, in milliseconds. */
const between = 60;

/** Writes through one process and reads through the other, all the time. */
class Load {
  readonly faults: string[] = [];
  /** The last acknowledged name by `systemRef`. */
  readonly acknowledged = new Map<string, string>();
  rejected = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(tenant: string, call: Caller, mayBeRejected: boolean) {
    this.#running = Promise.all([0, 1].map((worker) => this.#work(tenant, call, mayBeRejected, worker))).then(() => {});
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #work(tenant: string, call: Caller, mayBeRejected: boolean, worker: number): Promise<void> {
    for (let count = 1; !this.#isOver; count++) {
      const [here = '', there = ''] = count % 2 === 0 ? addresses : addresses.toReversed();
      // Half of them change what was written before.
      const ref = `${tenant} ${worker} ${Math.ceil(count / 2)}`;
      const name = `${tenant} ${worker} ${count}`;
      const { status, retryAfter, body } = await call('/api/v1/records', upsert(ref, name), here);
      if (status === 200 && JSON.stringify(body).includes('"FAILED"')) this.faults.push(JSON.stringify(body));
      else if (status === 200) this.acknowledged.set(ref, name);
      else if (status === 503 && retryAfter !== null && mayBeRejected) this.rejected += 1;
      else this.faults.push(`write: ${status} ${JSON.stringify(body)}`);
      const read = await call('/gql/v1/clients/search', { where: { systemRef: { _eq: ref } } }, there);
      const found = read.body.data?.[0]?.name;
      if (read.status !== 200) this.faults.push(`read: ${read.status} ${JSON.stringify(read.body)}`);
      else if (found !== this.acknowledged.get(ref))
        this.faults.push(`${ref} is ${found}, not ${this.acknowledged.get(ref)}`);
      await pause(between);
    }
  }
}

export const loads = () => ({
  alpha: new Load('alpha', callers.alpha, false),
  beta: new Load('beta', callers.beta, true),
  gamma: new Load('gamma', callers.gamma, false),
});

/** All that was acknowledged is there, and all events have been sent at least once, in order. */
export async function verify({ alpha, beta: moved, gamma }: ReturnType<typeof loads>): Promise<void> {
  await Promise.all([alpha.end(), moved.end(), gamma.end()]);
  expect({ alpha: alpha.faults, beta: moved.faults, gamma: gamma.faults }).toEqual({ alpha: [], beta: [], gamma: [] });
  expect(moved.acknowledged.size).toBeGreaterThan(0);
  const names = new Map<string, string>();
  for (let after: string | null = null; ; ) {
    const { body } = await callers.beta('/gql/v1/clients/search', {
      pageSize: 1000,
      ...(after === null ? {} : { after }),
    });
    for (const { systemRef, name } of body.data) names.set(systemRef, name);
    if (body.hasMore !== true) break;
    after = body.nextCursor;
  }
  expect([...moved.acknowledged].filter(([ref, name]) => names.get(ref) !== name)).toEqual([]);
  const events = () =>
    cells.read(beta, (session) =>
      session.all<{ id: string; position: number | null; data: { name: string } }>(sql`
        select id, position::integer as position, data from outbox_event
        where tenant_id = ${beta} and entity_type = 'Client' order by position`),
    );
  await expect.poll(async () => (await events()).filter(({ position }) => position === null)).toEqual([]);
  const recorded = await events();
  const sent = () => new Set(receiver.arrivals.map(({ event }) => event.id));
  await expect.poll(() => recorded.filter(({ id }) => !sent().has(id)).length).toBe(0);
  expect(receiver.faults).toEqual([]);
}

export async function whereIs(name: string): Promise<string[]> {
  const { found } = await listTenants(operator);
  return found.filter((one) => one.name === name).map(({ cell, active, move = '' }) => `${cell} ${active} ${move}`);
}

/** As a process that is killed before the step: all that it has done is committed or rolled back by the database. */
export function interruptedMove(to: string, step: MoveStep) {
  return moveTenant(operator, { tenant: 'beta', to }, (next) => {
    if (next === step) throw new Error('interrupted');
  });
}

/** Others take over after some seconds. */
export async function leaseEnds(): Promise<void> {
  for (const cell of [1, 2])
    await cells
      .cell(cell)
      .system((transaction) => transaction.all(sql`update tenant_move set mover_until = '-infinity'`));
}
