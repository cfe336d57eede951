/**
 * Copies clients, invoices and payments into a warehouse, here an SQLite file (`WAREHOUSE_FILE`), and keeps it up to date by the list of
 * events: a full read the first time, only what changed afterwards. It ends with a total that the API must confirm.
 */
import { DatabaseSync } from 'node:sqlite';
import { createClient, orThrow, ProblemError } from '@financial-automation/client';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const types = ['Client', 'Invoice', 'Payment'] as const;
type Type = (typeof types)[number];
interface Row {
  id: string;
  version: number;
}

const warehouse = new DatabaseSync(process.env.WAREHOUSE_FILE ?? 'warehouse.sqlite');
warehouse.exec(`
  create table if not exists entity (
    type text not null, id text not null, version integer not null, data text not null, primary key (type, id)
  );
  create table if not exists position (type text primary key, cursor text not null);
`);
// An older version never replaces a newer one, whatever order rows arrive in.
const upsert = warehouse.prepare(`
  insert into entity (type, id, version, data) values (?, ?, ?, ?)
  on conflict (type, id) do update set version = excluded.version, data = excluded.data
  where excluded.version >= entity.version`);
const cursorOf = warehouse.prepare('select cursor from position where type = ?');
const moveTo = warehouse.prepare(
  'insert into position values (?, ?) on conflict (type) do update set cursor = excluded.cursor',
);

for (const type of types) console.log(type, await sync(type));
await confirm();

async function sync(type: Type): Promise<{ read: 'all' | 'changes'; rows: number }> {
  const position = cursorOf.get(type)?.cursor;
  if (position === undefined) return await readAll(type);
  try {
    return { read: 'changes', rows: await readChanges(type, String(position)) };
  } catch (error) {
    // The last run was too long ago: events are missing.
    if (error instanceof ProblemError && error.problem.code === 'EVENTS_EXPIRED') return await readAll(type);
    throw error;
  }
}

/** The position comes first: what changes during the read is then in the events after it. */
async function readAll(type: Type): Promise<{ read: 'all'; rows: number }> {
  let position = '';
  for await (const page of api.listEvents.pages({ query: eventsOf(type) })) position = page.nextCursor;
  let rows = 0;
  for await (const page of pagesOf(type)) {
    store(type, page);
    rows += page.length;
  }
  moveTo.run(type, position);
  return { read: 'all', rows };
}

/** Each page is stored together with the position after it, so that a crash repeats at most a page. */
async function readChanges(type: Type, position: string): Promise<number> {
  let rows = 0;
  for await (const page of api.listEvents.pages({ query: { ...eventsOf(type), after: position } })) {
    // Of several events of a row in the page, the last one counts.
    const latest = new Map(page.data.map((event) => [event.entityId, event.data]));
    store(type, [...latest.values()], page.nextCursor);
    rows += latest.size;
  }
  return rows;
}

function eventsOf(type: Type) {
  // All payments require the role PYMT_EVNT_ALL, which API_ADMIN does not include.
  const filter = type === 'Payment' ? { filterExpression: 'allPayments' as const } : {};
  return { entityType: type, pageSize: 1000, ...filter };
}

async function* pagesOf(type: Type): AsyncGenerator<Row[]> {
  const search = { Client: api.searchClients, Invoice: api.searchInvoices, Payment: api.searchPayments };
  for await (const page of search[type].pages({ body: { pageSize: 1000 } })) yield page.data;
}

function store(type: Type, rows: readonly Row[], position?: string): void {
  warehouse.exec('begin');
  for (const row of rows) upsert.run(type, row.id, row.version, JSON.stringify(row));
  if (position !== undefined) moveTo.run(type, position);
  warehouse.exec('commit');
}

/** Compares a total of the warehouse with the API. Cents are integers, because SQLite has no decimals. */
async function confirm(): Promise<void> {
  const [own] = warehouse
    .prepare(
      `select coalesce(sum(cast(replace(data ->> 'amountDue', '.', '') as integer)), 0) as cents from entity where type = 'Invoice'`,
    )
    .all();
  const { data } = await orThrow(
    api.aggregateInvoices({ body: { measures: { due: { function: 'SUM', column: 'amountDue' } } } }),
  );
  const expected = String(data[0]?.values.due ?? '0.00');
  const found = (Number(own?.cents ?? 0) / 100).toFixed(2);
  console.log(`Amount due: ${found} in the warehouse, ${expected} in the API.`);
  if (found !== expected) process.exitCode = 1;
}
