import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { newId } from './new-id.ts';
import { keepPartitions } from './partitions.ts';
import type { Session } from './store.ts';

const { store, tenantId, otherTenantId } = await testStore();
const now = Temporal.Now.instant();
const monthLater = (months: number) => now.toZonedDateTimeISO('UTC').add({ months }).toInstant();

/** The ID of an instant. */
function idAt(instant: Temporal.Instant): string {
  const hex = instant.epochMilliseconds.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${newId().slice(-12)}`;
}

function add(tenant: number, id: string): Promise<unknown> {
  return store.write(tenant, (transaction) =>
    transaction.all(sql`
      insert into audit_log (tenant_id, id, actor, operation, entity_type, entity_id)
      values (${tenant}, ${id}, 'test', 'test', 'Test', ${newId()})`),
  );
}

const placeOf = (id: string) => async (session: Session) =>
  (
    await session.first<{ place: string }>(sql`
    select tableoid::regclass::text as place from audit_log where tenant_id = ${tenantId} and id = ${id}`)
  )?.place;

async function partitions(): Promise<string[]> {
  const { rows } = await store.ownerStatements(`select partition from partitions_of('audit_log') order by ends_at`);
  return rows.map(({ partition }) => String(partition));
}

test('partitions are added three months ahead, once, and take the rows of their month', async () => {
  const before = await partitions();
  expect(before[0]).toBe('audit_log_first');
  expect((await keepPartitions(store, 7, monthLater(3))).added).toBe(3);
  expect(await keepPartitions(store, 7, monthLater(3))).toEqual({ added: 0, dropped: [] });
  expect(await partitions()).toHaveLength(before.length + 3);
  const [present, later] = [newId(), idAt(monthLater(4))];
  for (const id of [present, later]) await add(tenantId, id);
  const month = monthLater(4).toZonedDateTimeISO('UTC');
  expect(await store.read(tenantId, placeOf(present))).toBe('audit_log_first');
  expect(await store.read(tenantId, placeOf(later))).toBe(
    `audit_log_${month.year}_${String(month.month).padStart(2, '0')}`,
  );
});

test('a row of a month without a partition is kept, also when the months around it get one', async () => {
  const id = idAt(monthLater(8));
  await add(tenantId, id);
  expect(await store.read(tenantId, placeOf(id))).toBe('audit_log_other');
  const { added } = await keepPartitions(store, 7, monthLater(7));
  expect(added).toBeGreaterThan(2);
  expect(await store.read(tenantId, placeOf(id))).toBe('audit_log_other');
});

test('a read by ID visits one partition', async () => {
  const plan = await store.read(tenantId, (session) =>
    session.all<{ 'QUERY PLAN': string }>(sql`
      explain (costs off) select 1 from audit_log where tenant_id = ${sql.lit(tenantId)} and id = ${sql.lit(newId())}`),
  );
  const tables = plan.flatMap(
    (line) => /\baudit_log_\w+ on (audit_log\w*)|Scan.* on (\w+)/.exec(line['QUERY PLAN'])?.[0] ?? [],
  );
  expect(tables).toHaveLength(1);
});

test('rows are never changed, and other tenants and requests cannot reach a partition', async () => {
  const partition = (await partitions()).at(-1) ?? '';
  const statements = ['delete from audit_log', 'update audit_log set actor = actor', 'truncate audit_log'];
  for (const statement of [...statements, `delete from ${partition}`, 'delete from audit_log_first'])
    await expect(
      store.ownerStatements(`select set_config('app.tenant_id', '${tenantId}', true); ${statement}`),
    ).rejects.toThrow(/never changed/);
  for (const table of [partition, 'audit_log_first', 'audit_log_other'])
    await expect(
      store.read(tenantId, (session) => session.all(sql`select from ${sql.id(table)}`)),
    ).rejects.toMatchObject({ sqlState: '42501' });
  await add(otherTenantId, newId());
  const seen = await store.read(otherTenantId, (session) =>
    session.all(sql`select distinct tenant_id as id from audit_log`),
  );
  expect(seen).toEqual([{ id: otherTenantId }]);
});

test('a partition is dropped when all of its rows are old, and never if all are kept', async () => {
  const before = await partitions();
  expect(await keepPartitions(store, 0, monthLater(6))).toMatchObject({ dropped: [] });
  const last = monthLater(12 + 4);
  const { dropped } = await keepPartitions(store, 1, last);
  expect(dropped[0]).toBe('audit_log_first');
  expect(dropped.length).toBeGreaterThan(1);
  expect(before.slice(0, dropped.length)).toEqual(dropped);
  expect(await keepPartitions(store, 1, last)).toMatchObject({ dropped: [] });
});
