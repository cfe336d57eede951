import { type RawBuilder, sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { addTenant, testDatabase } from '../../../test/database.ts';
import { isNightly } from '../../../test/nightly.ts';
import { patientLimits } from '../../../test/patient-limits.ts';
import { runOn } from '../../../test/postgres-server.ts';
import { selection } from '../../entity/select.ts';
import { openStore } from '../../platform/store/store.ts';
import { orderClause, orderKeys } from '../../query/order.ts';
import { conditionOf } from '../../query/where.ts';
import { wipEntry } from './wip-entry.ts';

// The plans are those of any large table; WIP_ROWS=1200000 tests them for a firm with ten years of data.
const size = Number(process.env.WIP_ROWS ?? (isNightly ? 60_000 : 12_000));
const options = await testDatabase();
const { databaseUrl = '' } = options;
const store = await openStore({ ...options, limits: patientLimits });
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
const clientId = '01900000-0000-7000-8000-000000000007';
const jobId = '01900000-0000-7000-9000-000000000007';
const id = (group: string, count: number) =>
  `('01900000-0000-7000-${group}-' || lpad(to_hex(n % ${count}), 12, '0'))::uuid`;
await runOn(
  databaseUrl,
  `do $$ declare one record; begin
    for one in select conname from pg_constraint where contype = 'f' and conrelid = 'wip_entry'::regclass
    loop execute format('alter table wip_entry drop constraint %I', one.conname); end loop; end $$`,
  `alter table wip_entry disable trigger user, no force row level security`,
  // Nine of ten rows are billed, as in a firm that bills monthly.
  `insert into wip_entry (tenant_id, id, system_ref, wip_type, client_id, job_id, staff_id, work_date, amount, status, currency,
      billed_amount, invoice_id, posted_at)
    select ${tenantId}, r.id, r.id::text, 'FIXED_FEE', ${id('8000', 800)}, ${id('9000', 6_000)}, ${id('a000', 200)},
      date '2016-01-01' + (n * 3650.0 / ${size})::integer, 100, case when n % 10 = 0 then 'OPEN' else 'BILLED' end, 'USD',
      case when n % 10 = 0 then 0 else 100 end, case when n % 10 = 0 then null else r.id end, now()
    from (select n, uuidv7() as id from generate_series(1, ${size}) n) r`,
  'vacuum analyze wip_entry',
);

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

async function scansOf(condition: RawBuilder<unknown>, orderBy: readonly Record<string, string>[]): Promise<string[]> {
  const order = orderClause(wipEntry, 'e', orderKeys(wipEntry, orderBy));
  const page = sql`${selection(wipEntry)} where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`;
  const [row] = await store.system((transaction) =>
    transaction.all<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(sql`explain (format json) ${page}`),
  );
  const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  if (row === undefined) throw new Error('There is no plan.');
  return nodes(row['QUERY PLAN'][0].Plan)
    .filter((node) => node['Relation Name'] === 'wip_entry')
    .map((node) => node['Node Type']);
}

test.each([
  [{ clientId: { _eq: clientId } }, 'workDate'],
  [{ clientId: { _eq: clientId }, status: { _in: ['OPEN', 'PARTIALLY_BILLED'] } }, 'workDate'],
  [{ jobId: { _eq: jobId } }, 'workDate'],
  [{ jobId: { _eq: jobId }, status: { _eq: 'OPEN' } }, 'id'],
  [{ workDate: { _gte: '2025-12-01' } }, 'workDate'],
  [{ status: { _eq: 'OPEN' } }, 'workDate'],
  [{ ageDays: { _gte: 90 }, status: { _eq: 'OPEN' } }, 'workDate'],
] as const)('searchWip where %j by %s scans no table completely', async (where, key) => {
  const orderBy = key === 'id' ? [] : [{ [key]: 'asc' }];
  const scans = await scansOf(conditionOf(wipEntry, 'e', tenantId, where), orderBy);
  expect(scans.length).toBeGreaterThan(0);
  expect(scans).not.toContain('Seq Scan');
});
