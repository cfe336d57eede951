import { type RawBuilder, sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { insertClients } from '../../../test/party-rows.ts';
import { insertOrg } from '../../../test/rows.ts';

// The conditions of requests in production: no superuser, the service role, and row-level security on every table.
const { store, tenantId, otherTenantId } = await testStore();
const seed = {
  legalName: null,
  status: 'ACTIVE',
  outstandingBalance: '0.00',
  onboardedAt: null,
  fiscalYearEndMonth: null,
};
for (const tenant of [tenantId, otherTenantId]) {
  await store.write(tenant, (transaction) => transaction.all(insertOrg(tenant, 'Org')));
  await insertClients(
    store,
    tenant,
    Array.from({ length: 3_000 }, (_, number) => ({ ...seed, name: `Client ${number}` })),
  );
}
await store.system((transaction) => transaction.all(sql`analyze client`));
const known = await store.read(tenantId, (session) =>
  session.first(sql<{ id: string; updatedAt: string }>`
    select id, updated_at as "updatedAt" from client where tenant_id = ${tenantId} limit 1`),
);

test('the database user of these tests is not a superuser and does not bypass row-level security', async () => {
  const user = await store.system((transaction) =>
    transaction.first(sql`select rolsuper, rolbypassrls from pg_roles where rolname = current_user`),
  );
  expect(user).toEqual({ rolsuper: false, rolbypassrls: false });
});

const own = sql`tenant_id = ${tenantId}`;
test.each<[name: string, index: string, query: RawBuilder<unknown>]>([
  ['by id', 'client_pkey', sql`select * from client where ${own} and id = ${known?.id}`],
  ['by ids', 'client_pkey', sql`select * from client where ${own} and id = any(${[known?.id]}::uuid[])`],
  ['a first page', 'client_pkey', sql`select * from client where ${own} order by id limit 51`],
  [
    'a page after a cursor',
    'client_pkey',
    sql`select * from client where ${own} and id > ${known?.id} order by id limit 51`,
  ],
  ['by reference', 'client_client_ref_unique', sql`select * from client where ${own} and client_ref = ${known?.id}`],
  [
    'what has changed since',
    'client_updated_at_index',
    sql`select * from client where ${own} and updated_at > ${known?.updatedAt} order by updated_at, id limit 51`,
  ],
])('row-level security does not prevent the use of the index for %s', async (_name, index, query) => {
  const plan = await store.read(tenantId, (session) =>
    session.all(sql<{ 'QUERY PLAN': string }>`explain (costs off) ${query}`),
  );
  const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(lines).toMatch(new RegExp(`Index (Only )?Scan (using|on) ${index}|Bitmap Index Scan on ${index}`));
  expect(lines).not.toContain('Seq Scan');
});
