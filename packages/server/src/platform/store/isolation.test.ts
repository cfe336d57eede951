import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { addTenant, engineName, testDatabase, testEngine, testStore } from '../../../test/database.ts';
import { isNightly } from '../../../test/nightly.ts';
import { insertOrg } from '../../../test/rows.ts';
import { withConnection } from './connection.ts';
import { DatabaseError } from './errors.ts';
import { serviceRole } from './role.ts';

const { store, tenantId, otherTenantId } = await testStore({ poolSize: 2 });
const own = await store.write(tenantId, (transaction) => transaction.first(insertOrg(tenantId, 'own')));
await store.write(otherTenantId, (transaction) => transaction.first(insertOrg(otherTenantId, 'foreign')));
const bindings = [{ name: 'bound to the connection', store, tenantId, otherTenantId }];
if (engineName === 'postgres') {
  bindings.push({ name: 'bound to the transaction', ...(await testStore({ poolSize: 2, pooler: 'transaction' })) });
}
const engine = await testEngine(await testDatabase());
const rowLevelSecurity = expect.objectContaining({ sqlState: '42501' });

test('a query without a tenant condition returns no row of another tenant', async () => {
  const rows = await store.read(tenantId, (session) => session.all(sql`select name from org`));
  expect(rows).toEqual([{ name: 'own' }]);
});

test('a query for another tenant returns nothing', async () => {
  const rows = await store.read(tenantId, (session) =>
    session.all(sql`select name from org where tenant_id = ${otherTenantId}`),
  );
  expect(rows).toEqual([]);
});

test('a row for another tenant is rejected', async () => {
  const write = store.write(tenantId, (transaction) => transaction.all(insertOrg(otherTenantId, 'smuggled')));
  await expect(write).rejects.toEqual(rowLevelSecurity);
});

test('a row cannot be moved to another tenant', async () => {
  const write = store.write(tenantId, (transaction) =>
    transaction.all(sql`update org set tenant_id = ${otherTenantId} where id = ${own?.id}`),
  );
  await expect(write).rejects.toEqual(rowLevelSecurity);
});

test('an update without a tenant condition changes no row of another tenant', async () => {
  const changed = await store.write(tenantId, (transaction) =>
    transaction.all(sql`update org set legal_name = 'changed' returning name`),
  );
  expect(changed).toEqual([{ name: 'own' }]);
});

test('a reference to a row of another tenant is rejected', async () => {
  const write = store.write(otherTenantId, (transaction) =>
    transaction.all(sql`
      insert into office (tenant_id, id, system_ref, name, code, org_id, time_zone)
      values (${otherTenantId}, gen_random_uuid(), 'x', 'x', 'x', ${own?.id}, 'America/New_York')`),
  );
  await expect(write).rejects.toMatchObject({ name: 'ForeignKeyViolation', constraint: 'office_org_id_reference' });
});

test('entities cannot be deleted, and secrets cannot be read', async () => {
  const denied = [
    sql`delete from org`,
    sql`select * from signing_key`,
    sql`select * from signing_key`,
    sql`select * from tenant`,
  ];
  for (const statement of denied) {
    await expect(store.write(tenantId, (transaction) => transaction.all(statement))).rejects.toEqual(rowLevelSecurity);
  }
});

test.each(bindings)(
  'system work runs as the owner, and does not affect the connection, $name',
  async ({ store, tenantId }) => {
    const whoami = sql<{ user: string; tenant: string }>`
    select current_user as user, current_setting('app.tenant_id') as tenant`;
    const before = await store.read(tenantId, (session) => session.first(whoami));
    const owner = await store.system((transaction) => transaction.first(whoami));
    await expect(store.system((transaction) => transaction.all(sql`select 1 / 0`))).rejects.toBeInstanceOf(
      DatabaseError,
    );
    const after = await store.read(tenantId, (session) => session.first(whoami));
    expect(before).toEqual({ user: 'financial_automation_service', tenant: String(tenantId) });
    expect(owner).toEqual({ user: expect.not.stringMatching('financial_automation_service'), tenant: '' });
    expect(after).toEqual(before);
  },
);

test('work without a tenant sees no rows of tenants', async () => {
  const selection = withConnection(engine.pool, async (connection) => {
    await engine.binding.begin(connection, 'owner');
    // Row-level security may not apply to the database user, but applies to the role of requests.
    await connection.run({ text: `set local role ${serviceRole}` });
    return connection.run({ text: 'select * from org' }).finally(() => connection.run({ text: 'rollback' }));
  });
  await expect(selection).rejects.toMatchObject({ sqlState: '22P02' });
});

test.each(bindings)('tenants are isolated on shared connections, $name', async ({ store, tenantId, otherTenantId }) => {
  const tenants = [tenantId, otherTenantId, await addTenant(store, 'gamma')];
  for (const tenant of tenants) {
    await store.write(tenant, (transaction) => transaction.all(insertOrg(tenant, `org of ${tenant}`)));
  }
  const seen = sql<{ bound: string; tenants: number[] }>`
    select current_setting('app.tenant_id') as bound, (select array_agg(distinct tenant_id) from org) as tenants`;
  const failing = sql`select 1 / 0`;
  // A fixed sequence of tenants and kinds of work in an order that does not match the pool's.
  let state = 7;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const operations = Array.from({ length: isNightly ? 600 : 150 }, async () => {
    const tenant = tenants[random(tenants.length)] ?? 0;
    const kind = random(5);
    if (kind === 0) await expect(store.write(tenant, (transaction) => transaction.all(failing))).rejects.toThrow();
    if (kind === 1) await expect(store.read(tenant, (session) => session.all(failing))).rejects.toThrow();
    if (kind === 2) await store.system((transaction) => transaction.all(sql`select id from tenant`));
    const work = kind === 3 ? store.write.bind(store) : store.read.bind(store);
    return { tenant, row: await work(tenant, (session) => session.first(seen)) };
  });
  for (const { tenant, row } of await Promise.all(operations)) {
    expect(row).toEqual({ bound: String(tenant), tenants: [tenant] });
  }
});
