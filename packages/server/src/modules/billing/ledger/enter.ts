import { type RawBuilder, sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, parseDecimal, zero } from '../../../platform/decimal.ts';
import { client } from '../../clients/index.ts';
import { org } from '../../reference/index.ts';
import { type DayAmount, firstDayFor } from '../rules/entry-day.ts';
import { ledgerEntry } from './ledger-entry.ts';

type LedgerEntry = Row<'LedgerEntry'>;
type Account = LedgerEntry['account'];
export type Kind = LedgerEntry['kind'];

/** An entry of a balance. */
export type Entry = Pick<
  LedgerEntry,
  'id' | 'kind' | 'amount' | 'businessDate' | 'clientId' | 'invoiceId' | 'paymentId' | 'isRounding'
>;

/** To whose books an entry belongs: those of the client's org, or of the org that received the money of an unknown payer. */
export interface EntryHolder {
  readonly clientId: string | null;
  readonly orgId?: string | null;
}

/** A new entry. What does not apply to it is omitted. */
type NewEntry = EntryHolder &
  Pick<LedgerEntry, 'account' | 'kind' | 'amount' | 'currency' | 'businessDate'> &
  Partial<
    Pick<
      LedgerEntry,
      | 'jobId'
      | 'invoiceId'
      | 'paymentId'
      | 'wipEntryId'
      | 'staffId'
      | 'dueDate'
      | 'workDate'
      | 'reversesId'
      | 'reason'
      | 'isRounding'
    >
  >;

/**
 * Returns the first day of the open period of the books; the empty text, which is before every day, if nothing is closed.
 * The database refuses entries before it, also if it is closed at the same time.
 */
export function firstOpenDay(plan: Plan, { clientId, orgId: receiver }: EntryHolder): string {
  const orgId = clientId === null ? receiver : plan.get(client, clientId)?.orgId;
  const closed = orgId == null ? null : (plan.get(org, orgId)?.booksClosedThrough ?? null);
  return closed === null ? '' : Temporal.PlainDate.from(closed).add({ days: 1 }).toString();
}

/** A day that a request names for an entry. */
interface NamedDay {
  readonly field: string;
  readonly day: string;
  /** Where the request names it, if not in a field of that name. */
  readonly pointer?: string;
  /** What else to do about it. */
  readonly remedy?: string;
}

/** @throws Rejection `PERIOD_CLOSED` for a day in a closed period. */
export function checkOpenDay(
  plan: Plan,
  holder: EntryHolder,
  { field, day, pointer = `/${field}`, remedy = '' }: NamedDay,
): void {
  const first = firstOpenDay(plan, holder);
  if (day >= first) return;
  const detail = `${field} is ${day}, and the books are closed until then. The first open day is ${first}.${remedy}`;
  throw new Rejection('PERIOD_CLOSED', detail, pointer);
}

/** Adds an entry to the ledger; none if nothing moves, but of a void, which moves revenue. A day in a closed period is moved on to the first open day. */
export function enter(plan: Plan, { orgId, ...entry }: NewEntry): void {
  if (entry.amount.eq(zero) && entry.kind !== 'VOID') return;
  const recordedByApiUserId = plan.origin.caller?.apiUserId ?? null;
  const businessDate = later(
    entry.businessDate,
    firstOpenDay(plan, { clientId: entry.clientId, orgId: orgId ?? null }),
  );
  plan.insert(ledgerEntry, { isRounding: false, ...entry, businessDate, recordedAt: plan.now, recordedByApiUserId });
}

/** The field of an entry that names the row whose balance the account is, and its column. */
const owners = {
  RECEIVABLE: { field: 'invoiceId', column: 'invoice_id' },
  CREDIT: { field: 'paymentId', column: 'payment_id' },
  WIP: { field: 'wipEntryId', column: 'wip_entry_id' },
} as const;

/** The entries of the balance of an invoice, a payment or a row of work, with those that this plan adds, in their order. */
export function entriesOf(plan: Plan, account: Account, id: string): readonly Entry[] {
  const added = plan.created(ledgerEntry, owners[account].field, id).filter((entry) => entry.account === account);
  if (plan.isNew(id)) return added;
  return [...(plan.lookup(storedEntries[account], id) ?? []), ...added];
}

const storedEntries = {
  RECEIVABLE: entriesBy('RECEIVABLE'),
  CREDIT: entriesBy('CREDIT'),
  WIP: entriesBy('WIP'),
};

function entriesBy(account: Account): Lookup<readonly Entry[]> {
  const owner: RawBuilder<string> = sql.ref(owners[account].column);
  return {
    name: `entries of ${account}`,
    async load(transaction, tenantId, ids) {
      const rows = await transaction.all<
        Omit<Entry, 'amount'> & { readonly owner: string; readonly amount: string }
      >(sql`
        select ${owner} as owner, id, kind, amount::text as amount, business_date::text as "businessDate",
          client_id as "clientId", invoice_id as "invoiceId", payment_id as "paymentId", is_rounding as "isRounding"
        from ledger_entry where tenant_id = ${tenantId} and ${owner} = any(${ids}) and account = ${account}
        order by recorded_at, id`);
      const entries = rows.map((row) => ({ ...row, amount: parseDecimal(row.amount) }));
      return Map.groupBy(entries, ({ owner: id }) => id);
    },
  };
}

/** The last entry of a kind, which a change undoes: of all, or of those of one invoice or payment. */
export function lastOf(
  entries: readonly Entry[],
  kind: Kind,
  of: Partial<Pick<Entry, 'invoiceId' | 'paymentId'>> = {},
): Entry | undefined {
  return entries.findLast(
    (entry) =>
      entry.kind === kind &&
      (of.invoiceId === undefined || entry.invoiceId === of.invoiceId) &&
      (of.paymentId === undefined || entry.paymentId === of.paymentId),
  );
}

/** The day of the last entry, or null if there is none. */
export function lastDayOf(entries: readonly Entry[]): string | null {
  return (
    entries
      .map(({ businessDate }) => businessDate)
      .sort()
      .at(-1) ?? null
  );
}

/** The later of two days. */
export function later(one: string, other: string): string {
  return one < other ? other : one;
}

interface DatedChange extends EntryHolder {
  /** The day that the caller gave, if any. */
  readonly given: string | null | undefined;
  readonly change: Decimal;
  readonly entries: readonly DayAmount[];
  /** The entry that the change undoes, if any. */
  readonly undone?: Pick<Entry, 'businessDate'> | undefined;
  readonly sign?: 1 | -1;
}

/**
 * Returns the day for which a change counts: the day that the caller gave, or today, moved on to the first day that the
 * balance allows.
 *
 * @throws Rejection `PERIOD_CLOSED`; `VALIDATION_ERROR` if the balance does not allow the given day.
 */
export function dayOfChange(plan: Plan, { given, change, entries, undone, sign, ...holder }: DatedChange): string {
  if (typeof given === 'string') checkOpenDay(plan, holder, { field: 'changeDate', day: given });
  const from = given ?? plan.today;
  const start = undone === undefined ? from : later(from, undone.businessDate);
  const day = firstDayFor(start, change, entries, sign);
  if (typeof given === 'string' && day !== given)
    throw invalidField('changeDate', `changeDate must not be before ${day}, because of earlier changes.`);
  return day;
}
