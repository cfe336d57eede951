import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { firmOf } from '../../test/modules/time.ts';
import { testService } from '../../test/service.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Session } from '../platform/store/session.ts';
import { isMarked, markedTables } from './mark-pages.ts';

const service = await testService();
const { store, tenant } = service;
const firm = await firmOf(service);
const [staffId, jobId] = [await firm.person(), await firm.job()];
const earlyId = (number: number) => `01800000-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** Inserts as many entries as two marks need, a few more, and some of another tenant. */
await store.write(tenant.id, (transaction) =>
  transaction.all(sql`
    insert into time_entry (tenant_id, id, system_ref, staff_id, job_id, work_date, hours, is_billable)
    select ${tenant.id}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, n::text, ${staffId}, ${jobId},
      date '2020-01-01' + n / 200, 0.1, false
    from generate_series(1, 10050) n`),
);

const marks = () =>
  store.read(tenant.id, (session) =>
    session.all<{ rows: number; ref: string }>(sql`
      select m.rows_before as rows, e.system_ref as ref from page_mark m
      join time_entry e on e.tenant_id = m.tenant_id and e.id = m.id order by 1`),
  );
const markAll = async () => {
  while (!(await store.write(tenant.id, (transaction) => isMarked(transaction, tenant.id, 'time_entry'))));
};
async function page(number: number): Promise<string[]> {
  const { body } = await service.call<{ data: { systemRef: string }[] }>('POST', '/api/v1/entries/batch/TimeEntry', {
    page: number,
    pageSize: 100,
  });
  return body.data.map(({ systemRef }) => systemRef);
}
const insertWith = (session: Pick<Session, 'all'>, id: string) =>
  session.all(sql`
    insert into time_entry (tenant_id, id, system_ref, staff_id, job_id, work_date, hours, is_billable)
    values (${tenant.id}, ${id}, ${id}, ${staffId}, ${jobId}, '2019-01-01', 0.1, false)`);

beforeEach(markAll);

test('the clock marks pages of the tables that grow with the work of a firm', async () => {
  expect(await store.read(tenant.id, markedTables)).toEqual(['expense_entry', 'time_entry', 'wip_entry']);
});

test('lookupEntries finds pages from marks, with the same rows as without', async () => {
  expect(await marks()).toMatchObject([{ rows: 5_000 }, { rows: 10_000 }]);
  const marked = await Promise.all([0, 49, 50, 99, 100].map(page));
  expect(marked[3]?.[0]).toBe('9901');
  await store.write(tenant.id, (transaction) => transaction.all(sql`delete from page_mark`));
  expect(await Promise.all([0, 49, 50, 99, 100].map(page))).toEqual(marked);
  // A mark that is wrong by two rows shows that it is used.
  await markAll();
  await store.ownerStatements(`begin; set local app.tenant_id = '${tenant.id}';
    update page_mark set rows_before = rows_before - 2 where rows_before = 5000; commit`);
  expect((await page(50))[0]).toBe('5003');
  await store.write(tenant.id, (transaction) => transaction.all(sql`delete from page_mark`));
});

test('a row before marks removes them, and none after them does', async () => {
  const before = await marks();
  await store.write(tenant.id, (transaction) => insertWith(transaction, newId()));
  expect(await marks()).toEqual(before);
  await store.write(tenant.id, (transaction) => insertWith(transaction, '01900000-0000-7000-8000-00000000500a'));
  expect(await marks()).toEqual([before[0]]);
  await store.write(tenant.id, (transaction) => insertWith(transaction, earlyId(1)));
  expect(await marks()).toEqual([]);
  expect((await page(50))[0]).toBe('5000');
  await markAll();
  expect((await page(50))[0]).toBe('5000');
});

test('marking waits for rows that are not committed yet', async () => {
  await store.write(tenant.id, (transaction) => transaction.all(sql`delete from page_mark`));
  let commit = () => {};
  const inserted = Promise.withResolvers<void>();
  const inserting = store.write(tenant.id, async (transaction) => {
    await insertWith(transaction, earlyId(2));
    inserted.resolve();
    await new Promise<void>((resolve) => {
      commit = resolve;
    });
  });
  await inserted.promise;
  let isDone = false;
  const marking = markAll().then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isDone).toBe(false);
  commit();
  await Promise.all([inserting, marking]);
  const first = (await page(50))[0];
  await store.write(tenant.id, (transaction) => transaction.all(sql`delete from page_mark`));
  expect((await page(50))[0]).toBe(first);
});
