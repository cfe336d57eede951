import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { newId } from './new-id.ts';
import { keepPartitions, type MonthlyTable } from './partitions.ts';
import type { Session } from './store.ts';

const { store, tenantId, otherTenantId } = await testStore();
const now = Temporal.Now.instant();
const monthLater = (months: number) => now.toZonedDateTimeISO('UTC').add({ months }).toInstant();

/** The ID of an instant. */
function idAt(instant: Temporal.Instant): string {
  const hex = instant.epochMilliseconds.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${newId().slice(-12)}`;
}

const insertions: Readonly<Record<MonthlyTable, (tenant: number, id: string) => ReturnType<typeof sql>>> = {
  audit_log: (tenant, id) => sql`
    insert into audit_log (tenant_id, id, actor, operation, entity_type, entity_id)
    values (${tenant}, ${id}, 'test', 'test', 'Test', ${newId()})`,
  delivery_attempt: (tenant, id) => sql`
    insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
      delivery_url, outcome, duration_ms, attempted_at)
    values (${tenant}, ${id}, ${newId()}, ${newId()}, 'Test', 'CREATE', ${newId()}, 1, 'https://example.com', 'FAILED', 1, now())`,
};

const rejected = { audit_log: ['delete', 'update', 'truncate'], delivery_attempt: ['update', 'truncate'] } as const;

describe.each(['audit_log', 'delivery_attempt'] as const)('%s', (table) => {
  const add = (tenant: number, id: string) =>
    store.write(tenant, (transaction) => transaction.all(insertions[table](tenant, id)));

  const placeOf = (id: string) => async (session: Session) =>
    (
      await session.first<{ place: string }>(sql`
        select tableoid::regclass::text as place from ${sql.table(table)} where tenant_id = ${tenantId} and id = ${id}`)
    )?.place;

  function monthOf(instant: Temporal.Instant): string {
    const { year, month } = instant.toZonedDateTimeISO('UTC');
    return `${table}_${year}_${String(month).padStart(2, '0')}`;
  }

  async function partitions(): Promise<string[]> {
    const { rows } = await store.ownerStatements(`select partition from partitions_of('${table}') order by ends_at`);
    return rows.map(({ partition }) => String(partition));
  }

  const first = async () => {
    const { rows } = await store.ownerStatements(`select first_partition_begins('${table}') as id`);
    return rows[0]?.id;
  };

  test('partitions are added as many months ahead as are required, once, and take the rows of their month', async () => {
    // The database that tests copy can be of the month before.
    await keepPartitions(store, table, '7 years');
    const before = await partitions();
    expect(before[0]).toBe(`${table}_first`);
    expect((await keepPartitions(store, table, '7 years', 6)).added).toBe(3);
    expect(await keepPartitions(store, table, '7 years', 6)).toEqual({ added: 0, dropped: [] });
    expect(await partitions()).toHaveLength(before.length + 3);
    const [present, later] = [newId(), idAt(monthLater(4))];
    for (const id of [present, later]) await add(tenantId, id);
    expect(await store.read(tenantId, placeOf(present))).toBe(monthOf(now));
    expect(await store.read(tenantId, placeOf(later))).toBe(monthOf(monthLater(4)));
  });

  test('a row of a month without a partition is kept, also when the months around it get one', async () => {
    const id = idAt(monthLater(8));
    await add(tenantId, id);
    expect(await store.read(tenantId, placeOf(id))).toBe(`${table}_other`);
    const { added } = await keepPartitions(store, table, '7 years', 10);
    expect(added).toBeGreaterThan(2);
    expect(await store.read(tenantId, placeOf(id))).toBe(`${table}_other`);
  });

  test('a read by ID visits one partition', async () => {
    const plan = await store.read(tenantId, (session) =>
      session.all<{ 'QUERY PLAN': string }>(sql`
        explain (costs off) select 1 from ${sql.table(table)} where tenant_id = ${sql.lit(tenantId)} and id = ${sql.lit(newId())}`),
    );
    const tables = plan.flatMap((line) => / on (\w+)/.exec(line['QUERY PLAN'])?.[1] ?? []);
    expect(tables).toEqual([expect.stringMatching(`^${table}_`)]);
  });

  test('requests cannot do more with rows than before, and reach no partition', async () => {
    const partition = (await partitions()).at(-1) ?? '';
    const statements = { delete: 'delete from', update: 'update', truncate: 'truncate' };
    for (const kind of rejected[table]) {
      const statement = `${statements[kind]} ${table}${kind === 'update' ? ' set tenant_id = tenant_id' : ''}`;
      await expect(store.write(tenantId, (transaction) => transaction.all(sql.raw(statement)))).rejects.toMatchObject({
        sqlState: '42501',
      });
    }
    for (const name of [partition, `${table}_first`, `${table}_other`])
      await expect(
        store.read(tenantId, (session) => session.all(sql`select from ${sql.id(name)}`)),
      ).rejects.toMatchObject({ sqlState: '42501' });
    await add(otherTenantId, newId());
    const seen = await store.read(otherTenantId, (session) =>
      session.all(sql`select distinct tenant_id as id from ${sql.table(table)}`),
    );
    expect(seen).toEqual([{ id: otherTenantId }]);
  });

  test('a partition is dropped when all of its rows are old, but not while a tenant moves, and never if all are kept', async () => {
    const before = await partitions();
    expect(await keepPartitions(store, table, null, 9)).toMatchObject({ dropped: [] });
    expect(await first()).toBeNull();
    const moving = `insert into tenant_move (tenant, phase, cell, move_id, mover, mover_until)
      values (${tenantId}, 'LEAVING', 1, gen_random_uuid(), gen_random_uuid(), now())`;
    await store.ownerStatements(moving);
    expect(await keepPartitions(store, table, '-4 months')).toMatchObject({ dropped: [] });
    await store.ownerStatements('delete from tenant_move');
    const { dropped } = await keepPartitions(store, table, '-4 months');
    expect(dropped[0]).toBe(`${table}_first`);
    expect(dropped.length).toBeGreaterThan(1);
    expect(before.slice(0, dropped.length)).toEqual(dropped);
    expect(await keepPartitions(store, table, '-4 months')).toMatchObject({ dropped: [] });
    const { rows } = await store.ownerStatements(`select first_id_at(max(ends_at)) as id from (
      select ends_at from partitions_of('${table}') order by ends_at limit 1) next`);
    expect(String(await first()) < String(rows[0]?.id)).toBe(true);
  });
});

test('rows of the audit log are never changed, also by the owner', async () => {
  const { rows } = await store.ownerStatements(`select max(partition) as name from partitions_of('audit_log')`);
  const partition = String(rows[0]?.name);
  for (const table of ['audit_log', partition, 'audit_log_other'])
    for (const statement of [`delete from ${table}`, `update ${table} set actor = actor`, `truncate ${table}`])
      await expect(
        store.ownerStatements(`select set_config('app.tenant_id', '${tenantId}', true); ${statement}`),
      ).rejects.toThrow(/never changed/);
});
