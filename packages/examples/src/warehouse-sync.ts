/**
 * Copies clients, invoices and payments into a warehouse, here an SQLite file (`WAREHOUSE_FILE`), and keeps it up to date: a full read the
 * first time, only what changed afterwards. It ends with totals by currency that the API must confirm.
 */
import { DatabaseSync } from 'node:sqlite';
import { createClient, type MirrorStore, mirror } from '@financial-automation/client';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const types = ['Client', 'Invoice', 'Payment'] as const;

const warehouse = new DatabaseSync(process.env.WAREHOUSE_FILE ?? 'warehouse.sqlite');
warehouse.exec(`
  create table if not exists entity (
    type text not null, id text not null, version integer not null, data text not null, primary key (type, id)
  );
  create table if not exists mirror (only integer primary key check (only = 1), position text not null);
`);
// An older version never replaces a newer one, whatever order rows arrive in.
const upsert = warehouse.prepare(`
  insert into entity (type, id, version, data) values (?, ?, ?, ?)
  on conflict (type, id) do update set version = excluded.version, data = excluded.data
  where excluded.version >= entity.version`);
const remove = warehouse.prepare('delete from entity where type = ? and id = ?');
const position = warehouse.prepare('select position from mirror');
const moveTo = warehouse.prepare(
  'insert into mirror values (1, ?) on conflict (only) do update set position = excluded.position',
);

const store: MirrorStore<(typeof types)[number]> = {
  position: () => position.get()?.position?.toString(),
  // In one transaction, so that a crash repeats at most a batch.
  apply: (batch) => {
    warehouse.exec('begin');
    if (batch.reset) warehouse.exec('delete from entity');
    for (const { type, id, version, data } of batch.rows) upsert.run(type, id, version, JSON.stringify(data));
    for (const { type, id } of batch.deleted) remove.run(type, id);
    moveTo.run(batch.position);
    warehouse.exec('commit');
  },
};

console.log(await mirror(api, { types, store }));
await confirm();

/** Compares totals of the warehouse with those of the API. They are integers of the last digit, because SQLite has no decimals. */
async function confirm(): Promise<void> {
  const own = new Map(
    warehouse
      .prepare(
        `select data ->> 'currency' as currency, sum(cast(replace(data ->> 'amountDue', '.', '') as integer)) as due
        from entity where type = 'Invoice' group by 1`,
      )
      .all()
      .map(({ currency, due }) => [String(currency), String(due)]),
  );
  const groups = api.aggregateInvoices.rows({
    body: { groupBy: [{ column: 'currency' }], measures: { due: { function: 'SUM', column: 'amountDue' } } },
  });
  for await (const { key, values } of groups) {
    const expected = String(values.due);
    const found = own.get(String(key.currency)) ?? '0';
    const isEqual = BigInt(found) === BigInt(expected.replace('.', ''));
    console.log(
      `Amount due in ${key.currency}: ${expected} in the API, ${isEqual ? 'the same' : found} in the warehouse.`,
    );
    if (!isEqual) process.exitCode = 1;
  }
}
