/**
 * Measures bulk writes beside hand-written SQL that writes the same rows: one transaction with one `insert … select from
 * jsonb_populate_recordset` for each table. Both run in one process, in turns, on PostgreSQL and on PGlite.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '@financial-automation/server/app/app';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { openStore, type Store, type StoreOptions } from '@financial-automation/server/platform/store/store';
import { readConfig } from '@financial-automation/server/service/config';
import { createService, type Service } from '@financial-automation/server/service/service';
import { databaseUrl, dropDatabase, runOn } from '@financial-automation/server/test/postgres-server';
import { findServer } from '@financial-automation/server/test/postgres-setup';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { readOptions } from '../../scripts/options.ts';
import { median } from './median.ts';

/** The tables that new contacts of a client are written to. */
const tables = ['contact', 'contact_client', 'audit_log', 'recorded_event'] as const;

type Rows = Readonly<Record<(typeof tables)[number], readonly Record<string, unknown>[]>>;

interface Figures {
  readonly raw: number[];
  readonly call: number[];
  readonly cpu: number[];
}

let created = 0;

const { values } = readOptions({ options: { writes: { type: 'boolean' }, rounds: { type: 'string', default: '40' } } });
await benchWrites(Number(values.rounds));

/** Prints the median times of creating contacts by one call and by raw statements, and their ratio. */
async function benchWrites(rounds: number): Promise<void> {
  const postgres = await findServer();
  const database = `bench_writes_${process.pid}`;
  await runOn(postgres.url, `create database ${database} template template0`);
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  try {
    await measureEngine('PostgreSQL', { databaseUrl: databaseUrl(postgres.url, database) }, rounds);
    await measureEngine('PGlite', { dataDir: join(folder, 'data') }, rounds);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await dropDatabase(postgres.url, database);
    await postgres.stop();
  }
}

async function measureEngine(name: string, options: StoreOptions, rounds: number): Promise<void> {
  const store = await openStore(options);
  const environment = { MASTER_KEY: randomBytes(32).toString('base64'), RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
  const service = await createService(readConfig(environment), store, pino({ level: 'silent' }));
  const server = createServer(createApp(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const { tenantId, headers } = await signIn(service, address);
    const clientRef = await createClient(address, headers);
    const call = (count: number) => createContacts(address, headers, clientRef, count);
    const rows = async (count: number) => readRows(store, tenantId, await call(count));
    const samples = new Map<number, { figures: Figures; rows: Rows }>();
    for (const count of [1, 10, 100])
      samples.set(count, { figures: { raw: [], call: [], cpu: [] }, rows: await rows(count) });
    for (let warm = 0; warm < 5; warm++)
      for (const [count, { rows }] of samples) await measure(store, tenantId, call, count, rows);
    for (let round = 0; round < rounds; round++) {
      for (const [count, { figures, rows }] of samples) {
        const { raw, called, cpu } = await measure(store, tenantId, call, count, rows);
        figures.raw.push(raw);
        figures.call.push(called);
        figures.cpu.push(cpu);
      }
    }
    console.log(`\n${name}: new contacts by one call, in milliseconds`);
    console.table(Object.fromEntries([...samples].map(([count, { figures }]) => [count, summary(figures)])));
  } finally {
    server.close();
    server.closeAllConnections();
    await store.close();
  }
}

function summary({ raw, call, cpu }: Figures) {
  const ratios = call.map((time, index) => time / (raw[index] ?? Number.NaN));
  return {
    'raw transaction': median(raw).toFixed(2),
    'call over HTTP': median(call).toFixed(2),
    'CPU of the process in the call': median(cpu).toFixed(2),
    ratio: `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`,
  };
}

async function measure(
  store: Store,
  tenantId: number,
  call: (count: number) => Promise<unknown>,
  count: number,
  rows: Rows,
) {
  const copy = withNewKeys(rows);
  const raw = await timed(() => insertRaw(store, tenantId, copy));
  const before = process.cpuUsage();
  const called = await timed(() => call(count));
  const { user, system } = process.cpuUsage(before);
  return { raw, called, cpu: (user + system) / 1000 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function signIn(service: Service, address: string) {
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const tenant = await createTenant({ service }, { name: 'bench', displayName: 'Bench', ...place });
  const key = { tenant: tenant.name, user: 'bench', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key: apiKey } = await createApiKey({ service }, key);
  const json = { 'Content-Type': 'application/json' };
  const response = await fetch(`${address}/v1/auth/token`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ apiKey }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return { tenantId: tenant.id, headers: { ...json, Authorization: `Bearer ${token}`, Tenant: tenant.name } };
}

async function createClient(address: string, headers: Record<string, string>): Promise<string> {
  const body = JSON.stringify({ name: 'Harbor & Pine LLC', address: {} });
  const response = await fetch(`${address}/api/v1/clients/v1/onboard`, { method: 'POST', headers, body });
  return ((await response.json()) as { clientRef: string }).clientRef;
}

/** Creates contacts of a client by one call. @returns their ids */
async function createContacts(
  address: string,
  headers: Record<string, string>,
  clientRef: string,
  count: number,
): Promise<string[]> {
  const contacts = Array.from({ length: count }, () => {
    created += 1;
    const clients = [{ clientRef, roles: ['OTHER'], isPrimary: true }];
    return { firstName: 'Noor', lastName: `Haddad ${created}`, email: `noor.haddad.${created}@example.com`, clients };
  });
  const body = JSON.stringify({ contacts });
  const response = await fetch(`${address}/api/v1/contacts/upsert`, { method: 'POST', headers, body });
  const { succeeded } = (await response.json()) as { succeeded: { id: string }[] };
  if (succeeded.length !== count) throw new Error(`${succeeded.length} of ${count} contacts were created.`);
  return succeeded.map(({ id }) => id);
}

/** Reads the rows that the service wrote for these contacts. */
async function readRows(store: Store, tenantId: number, ids: readonly string[]): Promise<Rows> {
  const read = async (table: keyof Rows, key: string, values: readonly unknown[]) => {
    const found = await store.read(tenantId, (session) =>
      session.all<{ row: Record<string, unknown> }>(sql`
        select to_jsonb(t) as row from ${sql.table(table)} t where ${sql.ref(key)} = any(${values})`),
    );
    return found.map(({ row }) => row);
  };
  const links = await read('contact_client', 'contact_id', ids);
  const written = [...ids, ...links.map(({ id }) => id)];
  return {
    contact: await read('contact', 'id', ids),
    contact_client: links,
    audit_log: await read('audit_log', 'entity_id', written),
    recorded_event: await read('recorded_event', 'entity_id', written),
  };
}

/** Copies the rows with other keys, so that they can be inserted again. */
function withNewKeys(rows: Rows): Rows {
  const keys = new Map([...rows.contact, ...rows.contact_client].map(({ id }) => [id, uuidv7()]));
  const contact = rows.contact.map((row) => {
    const id = keys.get(row.id);
    return { ...row, id, system_ref: id, pms_ref: id };
  });
  const contact_client = rows.contact_client.map((row) => {
    const id = keys.get(row.id);
    return { ...row, id, system_ref: id, contact_id: keys.get(row.contact_id) };
  });
  const trace = (table: 'audit_log' | 'recorded_event') =>
    rows[table].map((row) => ({ ...row, id: uuidv7(), entity_id: keys.get(row.entity_id) }));
  return { contact, contact_client, audit_log: trace('audit_log'), recorded_event: trace('recorded_event') };
}

function insertRaw(store: Store, tenantId: number, rows: Rows): Promise<unknown> {
  return store.write(tenantId, async (transaction) => {
    for (const table of tables) {
      await transaction.all(sql`
        insert into ${sql.table(table)} select * from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows[table])}::jsonb)`);
    }
  });
}
