import { sql } from 'kysely';
import { writeAuditAndEvents } from '../entity/audit-and-events.ts';
import type { AnyEntity } from '../entity/entity.ts';
import type { Origin } from '../entity/plan.ts';
import type { AnyStoredRow } from '../entity/row.ts';
import { readStored } from '../entity/select.ts';
import {
  type Breach,
  type Difference,
  differencesOf,
  findBreaches,
  invoice,
  type KeptSums,
  keptSums,
  payment,
  writeDays,
  writeSumsOfClients,
} from '../modules/billing/index.ts';
import { client } from '../modules/clients/index.ts';
import { job, task } from '../modules/projects/index.ts';
import { pasteable } from '../platform/operator-command.ts';
import { CheckViolation } from '../platform/store/errors.ts';
import { type Session, timeOf } from '../platform/store/session.ts';
import type { Transaction } from '../platform/store/store.ts';
import { eventsRecorded } from '../platform/store/trace.ts';
import type { Operator, OperatorOf } from './operator.ts';
import { byOperator, tenantNamed } from './tenants.ts';

export interface BooksRequest {
  readonly tenant: string;
  /** Whether to correct the sums. */
  readonly repair: boolean;
}

export interface BooksReport {
  /** Sums that differ from their sources; with `repair`, the corrected ones. */
  readonly differences: readonly Difference[];
  /** Rows that violate a rule. They cannot be repaired, because the correct values do not follow from other rows. */
  readonly breaches: readonly Breach[];
}

const entities: Readonly<Record<KeptSums['type'], AnyEntity>> = {
  Payment: payment,
  Invoice: invoice,
  Task: task,
  Job: job,
  Client: client,
};

/**
 * Recalculates the balances of clients, the sums of jobs, tasks, months and days of the ledger, and the amounts of invoices and payments, and compares
 * them with the stored values.
 *
 * @throws Error with a sentence if a sum cannot be written because its sources contradict each other.
 */
export async function checkBooks(
  operator: OperatorOf<'store' | 'directory' | 'vault'> & Pick<Operator, 'progress'>,
  { tenant: name, repair }: BooksRequest,
): Promise<BooksReport> {
  const { store } = operator.service;
  const tenant = await tenantNamed(operator, name);
  const { id: tenantId } = tenant;
  try {
    const report = await store.write(tenantId, async (transaction) => {
      let done = 0;
      // All rows of a firm are joined and added up, which would be sorted in files otherwise.
      await transaction.all(sql`select set_config('work_mem', '64MB', true)`);
      const found = await booksOf(
        {
          all(query) {
            operator.progress?.({ step: 'books check', done: done++ });
            return transaction.all(query);
          },
        },
        tenantId,
      );
      if (!repair || found.differences.length === 0) return found;
      const origin = byOperator(operator.service, tenant, 'books check');
      const differences = await repairSums(transaction, origin, found.differences);
      return { differences, breaches: await findBreaches(transaction, tenantId) };
    });
    if (repair) store.notify(eventsRecorded, String(tenantId));
    return report;
  } catch (error) {
    if (!(error instanceof CheckViolation)) throw error;
    throw new Error(
      `Nothing was repaired, because the sums would conflict with the rows (${error.constraint}). First correct the rows that "books check" reports without --repair.`,
    );
  }
}

/** Compares the sums of a tenant, and checks its books, as `checkBooks` does. */
export async function booksOf(session: Pick<Session, 'all'>, tenantId: number): Promise<BooksReport> {
  return {
    differences: await differencesOf(session, tenantId),
    breaches: await findBreaches(session, tenantId),
  };
}

/** Corrects the sums of the rows that differ, and records the changes, with their events. @returns the corrected sums */
async function repairSums(
  transaction: Transaction,
  origin: Origin,
  found: readonly Difference[],
): Promise<readonly Difference[]> {
  const tenantId = origin.tenant.id;
  const idsOf = (type: string, among = found) => [
    ...new Set(among.flatMap((one) => (one.type === type ? [one.id] : []))),
  ];
  // Every change of a source locks the row with its sum, so the sums do not change while the rows are locked.
  for (const { type, table } of keptSums) await lock(transaction, tenantId, table, idsOf(type));
  const payers = await lockClientsOf(transaction, tenantId, idsOf('Invoice'), idsOf('Payment'));
  const clients = [...idsOf('LedgerMonth'), ...idsOf('LedgerWork'), ...idsOf('LedgerWorkMonth')];
  await lock(transaction, tenantId, 'client', clients);
  const wrong = (await differencesOf(transaction, tenantId)).filter(({ type, id }) => idsOf(type).includes(id));
  // The balances of clients first, based on the stored invoices and payments: triggers then add the corrections of these.
  const clientsFirst = keptSums.toReversed();
  const rows = clientsFirst.map(({ type }) => ({
    entity: entities[type],
    ids: [...new Set([...idsOf(type, wrong), ...(type === 'Client' ? payers : [])])],
  }));
  const before = await storedRows(transaction, tenantId, rows);
  for (const sums of clientsFirst) {
    const ids = idsOf(sums.type, wrong);
    if (ids.length > 0) await writeSums(transaction, tenantId, sums, ids);
  }
  await writeSumsOfClients(transaction, tenantId, clients);
  if (found.some(({ type }) => type === 'LedgerDay' || type === 'JournalDay')) await writeDays(transaction, tenantId);
  const changed = (await storedRows(transaction, tenantId, rows)).flatMap(({ entity, row: after }, index) => {
    const former = before[index]?.row;
    return former?.version === after.version ? [] : [{ entity, id: after.id, before: former, after, isImport: false }];
  });
  await writeAuditAndEvents(transaction, origin, new Date(timeOf(transaction)).toISOString(), changed);
  return wrong;
}

async function lock(transaction: Transaction, tenantId: number, table: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await transaction.all(sql`
    select id from ${sql.table(table)} where tenant_id = ${tenantId} and id = any(${ids}) order by id for no key update`);
}

async function lockClientsOf(
  transaction: Transaction,
  tenantId: number,
  invoiceIds: readonly string[],
  paymentIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await transaction.all<{ id: string }>(sql`
    select id from client where tenant_id = ${tenantId} and (
      id in (select client_id from invoice where tenant_id = ${tenantId} and id = any(${invoiceIds}))
      or id in (select client_id from payment where tenant_id = ${tenantId} and id = any(${paymentIds})))
    order by id for no key update`);
  return rows.map(({ id }) => id);
}

function writeSums(
  transaction: Transaction,
  tenantId: number,
  { type, table, columns, sums }: KeptSums,
  ids: readonly string[],
): Promise<unknown> {
  const values = Object.values(columns).map((column) => sql`${sql.ref(column)} = coalesce(s.${sql.ref(column)}, 0)`);
  return transaction.all(sql`
    with sums as materialized (${sums(tenantId)})
    update ${sql.table(table)} t
    set ${sql.join([...values, ...(type === 'Invoice' ? invoiceStatus : [])])}, version = t.version + 1,
      updated_at = greatest(t.updated_at, tenant_now())
    from ${sql.table(table)} kept left join sums s on s.id = kept.id
    where t.tenant_id = ${tenantId} and t.id = any(${ids}) and kept.tenant_id = t.tenant_id and kept.id = t.id`);
}

const covered = sql`(coalesce(s.amount_paid, 0) + coalesce(s.amount_credited, 0))`;
const derived = sql`(case
  when t.status not in ('POSTED', 'PARTIALLY_PAID', 'PAID') then t.status
  when t.total = ${covered} + t.amount_written_off then 'PAID' when ${covered} > 0 then 'PARTIALLY_PAID' else 'POSTED' end)`;

/** The status of an invoice depends on the amount that is covered, as does the amount that is written off. */
const invoiceStatus = [
  sql`status = ${derived}`,
  sql`paid_at = case when ${derived} = 'PAID' then coalesce(t.paid_at, tenant_now()) end`,
  sql`amount_written_off = case when t.status = 'WRITTEN_OFF' then t.total - ${covered} else t.amount_written_off end`,
];

interface RowsOf {
  readonly entity: AnyEntity;
  readonly ids: readonly string[];
}

/** Returns the rows as they are stored now, in an order that does not change. */
async function storedRows(transaction: Transaction, tenantId: number, all: readonly RowsOf[]) {
  const found: { readonly entity: AnyEntity; readonly row: AnyStoredRow }[] = [];
  for (const { entity, ids } of all) {
    const rows = await readStored(transaction, tenantId, entity, ids);
    const sorted = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    found.push(...sorted.map((row) => ({ entity, row })));
  }
  return found;
}

/** Formats the report as lines of text, with what to do about it. */
export function describeBooks(tenant: string, { differences, breaches }: BooksReport, isRepaired: boolean): string[] {
  const lines = differences.map(
    ({ type, id, field, kept, actual }) =>
      `${type} ${id}: ${field} ${isRepaired ? 'was' : 'is'} ${kept}, and its sources add up to ${actual}.`,
  );
  if (differences.length > 0)
    lines.push(
      isRepaired
        ? 'These sums were corrected. The audit log has the rows before and after, under "books check".'
        : `To correct the sums, run: ${pasteable(`operator books check ${tenant} --repair`)}`,
    );
  lines.push(...breaches.map(({ rule, id, detail }) => `${id} violates the rule: ${rule}. It has: ${detail}.`));
  if (breaches.length > 0)
    lines.push('These rows violate a rule and cannot be repaired. The audit log shows their last changes.');
  return lines.length === 0 ? [`The books of ${tenant} are consistent.`] : lines;
}
