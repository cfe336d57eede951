import { type RawBuilder, sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { testService } from '../../test/service.ts';
import { allOperations, schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { selection } from '../entity/select.ts';
import { draftInvoiceHistory } from '../modules/billing/draft/draft-invoice-history.ts';
import { billedLine } from '../modules/billing/invoice/billed-line.ts';
import { invoice } from '../modules/billing/invoice/invoice.ts';
import { journalEntry } from '../modules/billing/ledger/journal-entry.ts';
import { ledgerEntry } from '../modules/billing/ledger/ledger-entry.ts';
import { payment } from '../modules/billing/payment/payment.ts';
import { client } from '../modules/clients/client.ts';
import { contact } from '../modules/contacts/contact.ts';
import '../modules/contacts/contact-client.ts';
import { engagement } from '../modules/engagements/engagement.ts';
import { project } from '../modules/projects/project.ts';
import { task } from '../modules/projects/task.ts';
import { expenseEntry } from '../modules/time/expense-entry.ts';
import { timeEntry } from '../modules/time/time-entry.ts';
import { wipEntry } from '../modules/time/wip-entry.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Where } from './clause.ts';
import { orderClause, orderKeys } from './order.ts';
import { conditionOf } from './where.ts';

/**
 * The existence of an index for a search does not depend on the number of rows if the planner rejects every other plan,
 * so the smallest profile is sufficient.
 */
const { store, tenant, signIn } = await testService({ filled: 'sample' });
const tenantId = tenant.id;
await store.system((transaction) => transaction.all(sql`analyze`));
// Loading creates indexes anew. PostgreSQL uses one over updated rows only when all transactions that began earlier have ended, also those
// of other databases.
const unusable = () =>
  store.system((transaction) =>
    transaction.all(sql`
      select indexrelid::regclass::text as index from pg_index
      where indcheckxmin and age(xmin) <= age(pg_snapshot_xmin(pg_current_snapshot())::xid)`),
  );
await vi.waitFor(async () => expect(await unusable()).toEqual([]), { timeout: 60_000 });

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

/**
 * The parts of a page's plan that do not use an index: sequential scans and sorts, without the subqueries of the rows.
 */
async function slowPartsOf(
  entity: AnyEntity,
  condition: RawBuilder<unknown>,
  orderBy: readonly Record<string, string>[],
) {
  const order = orderClause(entity, 'e', orderKeys(entity, orderBy));
  const page = sql`${selection(entity)} where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`;
  const [row] = await store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      select set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
        set_config('enable_bitmapscan', 'off', true)`);
    return transaction.all<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      sql`explain (format json) ${page}`,
    );
  });
  if (row === undefined) throw new Error('There is no plan.');
  return slow(row['QUERY PLAN'][0].Plan);
}

function slow(node: PlanNode): string[] {
  // Values of other rows are only aggregated for the rows of the page.
  if (node['Node Type'] === 'Aggregate') return [];
  const below = (node.Plans ?? []).filter((one) => one['Parent Relationship'] !== 'SubPlan').flatMap(slow);
  const isSlow = ['Seq Scan', 'Sort'].includes(node['Node Type']) && !sortsFew(node);
  return isSlow ? [`${node['Node Type']} ${node['Relation Name'] ?? ''}`.trim(), ...below] : below;
}

/** The journal sorts the invoices of 0.00 between the entries of the ledger. */
function sortsFew(node: PlanNode): boolean {
  return node['Node Type'] === 'Sort' && JSON.stringify(node).includes('invoice_without_amount_index');
}

/** The searches over large tables, with their keys. Task types and staff are few. */
const searches = [
  ['Client', client],
  ['Contact', contact],
  ['Project', project],
  ['Task', task],
  ['WipEntry', wipEntry],
  ['TimeEntry', timeEntry],
  ['ExpenseEntry', expenseEntry],
  ['Invoice', invoice],
  ['BilledLine', billedLine],
  ['Payment', payment],
  ['DraftInvoiceHistory', draftInvoiceHistory],
  ['LedgerEntry', ledgerEntry],
  ['JournalEntry', journalEntry],
  ['Engagement', engagement],
] as const;

/** These change with the day and cannot be indexed: a search sorts the matching rows. */
const ofToday = ['overdueBalance', 'daysPastDue'];
const orders = searches.flatMap(([name, entity]) =>
  Object.keys(propertiesOf(schemaOf(`${name}OrderBy`)))
    .filter((key) => !ofToday.includes(key))
    .flatMap((key) => ['asc', 'desc'].map((direction) => [name, key, direction, entity] as const)),
);

test.each(orders)('a search of %s by %s %s takes its order from an index', async (_name, key, direction, entity) => {
  expect(await slowPartsOf(entity, sql`true`, [{ [key]: direction }])).toEqual([]);
});

const changedSince = { updatedAt: { _gte: '2026-09-01T00:00:00.000Z' } };
const id = newId();
const conditions = [
  ['Client', client, { clientRef: { _eq: 'C-10005' } }],
  ['Client', client, { vatId: { _eq: 'DE136695976' } }],
  ['Contact', contact, { email: { _eq: 'a@example.com' } }],
  ['Project', project, { clientId: { _eq: id }, status: { _eq: 'IN_PROGRESS' } }],
  ['Task', task, { assigneeId: { _eq: id } }],
  ['WipEntry', wipEntry, { jobId: { _eq: id } }],
  ['WipEntry', wipEntry, { clientId: { _eq: id }, status: { _in: ['OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT'] } }],
  ['WipEntry', wipEntry, { invoiceId: { _eq: id } }],
  ['TimeEntry', timeEntry, { staffId: { _eq: id } }],
  ['TimeEntry', timeEntry, { client: { id: { _eq: id } } }],
  ['TimeEntry', timeEntry, { invoiceId: { _eq: id } }],
  ['TimeEntry', timeEntry, { wipId: { _eq: id } }],
  ['TimeEntry', timeEntry, { status: { _eq: 'SUBMITTED' }, job: { managerId: { _eq: id } } }],
  ['TimeEntry', timeEntry, { approvedById: { _eq: id } }],
  ['TimeEntry', timeEntry, { rejectionReason: { _eq: 'Wrong task' } }],
  ['ExpenseEntry', expenseEntry, { client: { id: { _eq: id } } }],
  ['ExpenseEntry', expenseEntry, { invoiceId: { _eq: id } }],
  ['ExpenseEntry', expenseEntry, { receiptFileId: { _eq: id } }],
  ['Invoice', invoice, { clientId: { _eq: id } }],
  ['Invoice', invoice, { invoiceNumber: { _eq: 'INV-2026-00001' } }],
  ['BilledLine', billedLine, { clientId: { _eq: id } }],
  ['BilledLine', billedLine, { documentNumber: { _eq: 'INV-2026-00001' } }],
  ['BilledLine', billedLine, { invoiceDate: { _gte: '2026-07-01', _lte: '2026-09-30' } }],
  ['BilledLine', billedLine, { lineId: { _eq: id } }],
  ['Payment', payment, { clientId: { _eq: id } }],
  ['DraftInvoiceHistory', draftInvoiceHistory, { draftInvoiceId: { _eq: id } }],
  ['DraftInvoiceHistory', draftInvoiceHistory, { draftInvoice: { approvedAt: { _gte: '2026-09-30T00:00:00.000Z' } } }],
  ...searches.map(([name, entity]) => [name, entity, changedSince] as const),
] as const;

test.each(conditions.map(([name, entity, where]) => [name, JSON.stringify(where), entity, where] as const))(
  'a search of %s where %s finds its rows by an index',
  async (_name, _text, entity, where) => {
    expect(await slowPartsOf(entity, conditionOf(entity, 'e', tenantId, where), [{ id: 'asc' }])).toEqual([]);
  },
);

// A plan for the order of IDs can read all rows of the tenant by an index, and filter them.
test.each([
  ['WipEntry', 'taskId', wipEntry, /Index Cond: .*task_id = /],
  ['WipEntry', 'engagementId', wipEntry, /Index Cond: .*engagement_id = /],
  ['Invoice', 'engagementId', invoice, /Index Cond: .*engagement_id = /],
  ['JournalEntry', 'id', journalEntry, /ledger_entry_pkey on ledger_entry .*\n +Index Cond: .*id >= .*id <= /],
  ['JournalEntry', 'clientId', journalEntry, /ledger_entry_pkey on ledger_entry .*\n +Index Cond: .*id = ANY/],
])('a search of %s by %s reads no other rows', async (_name, field, entity, expected) => {
  expect((await planOf(entity, { [field]: { _eq: id } })).join('\n')).toMatch(expected);
});

async function planOf(entity: AnyEntity, where: Where): Promise<readonly string[]> {
  const condition = conditionOf(entity, 'e', tenantId, where);
  const lines = await store.write(tenantId, async (transaction) => {
    await transaction.all(
      sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
    );
    return transaction.all<{ 'QUERY PLAN': string }>(
      sql`explain ${selection(entity)} where e.tenant_id = ${tenantId} and ${condition}`,
    );
  });
  return lines.map((line) => line['QUERY PLAN']);
}

test('the plan of a search of journal entries does not grow with the number of clients', async () => {
  const ofOne = await planOf(journalEntry, { clientId: { _eq: id } });
  const ofMany = await planOf(journalEntry, { clientId: { _in: Array.from({ length: 100 }, () => id) } });
  expect(ofMany.length).toBeLessThan(2 * ofOne.length);
});

const { call } = await signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'], tenant });
const pages = allOperations.filter(({ paging, path }) => paging === 'offset' && !path.includes('{'));

// The rows are written without a request that is checked; each response is compared with the contract.
test.each(pages.map(({ id, method, path }) => [id, method, path] as const))(
  '%s returns rows of a large firm as the contract describes them',
  async (_id, method, path) => {
    const isGet = method === 'GET';
    const page = await call(method, isGet ? `${path}?pageSize=100` : path, isGet ? undefined : { pageSize: 100 });
    expect(page).toMatchObject({ status: 200 });
  },
);

test('an entry of the ledger reads few other entries for its sums', async () => {
  const undone = new Error('The entry is not kept.');
  let counts: { readonly read: string; readonly all: string } | undefined;
  const invoiced = await store.read(tenantId, (session) =>
    session.first<{ readonly id: string }>(
      sql`select id from ledger_entry where tenant_id = ${tenantId} and kind = 'INVOICE' limit 1`,
    ),
  );
  const insert = store.write(tenantId, async (transaction) => {
    // Small tables are read as a whole otherwise.
    await transaction.all(sql`select set_config('enable_seqscan', 'off', true)`);
    const columns = sql.raw(
      'account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id, payment_id, job_id, due_date',
    );
    await transaction.all(sql`
      insert into ledger_entry (tenant_id, id, ${columns})
      select tenant_id, ${newId()}, ${columns} from ledger_entry where tenant_id = ${tenantId} and id = ${invoiced?.id}`);
    counts = await transaction.first(sql`
      select seq_tup_read + idx_tup_fetch as read, (select count(*) from ledger_entry where tenant_id = ${tenantId}) as "all"
      from pg_stat_xact_all_tables where relid = 'ledger_entry'::regclass`);
    throw undone;
  });
  await expect(insert).rejects.toBe(undone);
  expect(Number(counts?.all)).toBeGreaterThan(10_000);
  // The entries of one client are read, of which some have a tenth of all; a read of the whole tenant reads each at least once.
  expect(Number(counts?.read)).toBeLessThan(Number(counts?.all) / 2);
});
