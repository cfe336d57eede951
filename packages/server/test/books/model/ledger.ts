import { firstDayFor as ruleOfDays } from '../../../src/modules/billing/rules/entry-day.ts';
import { type Cents, decimalOf } from '../cents.ts';
import { currencyOf, type LedgerRow, type ModelBooks, must } from './rows.ts';

/** The day on which a walk runs: after every day that it names. */
export const today = 'today';

/** The first day of the open period; before every day if nothing is closed. */
export function firstOpenDay({ rows }: ModelBooks): string {
  if (rows.closedThrough === null) return '';
  return Temporal.PlainDate.from(rows.closedThrough).add({ days: 1 }).toString();
}

/** Adds an entry; none if nothing moves, but of a void, which moves revenue. A day in a closed period is moved on to the first open day. */
export function enter(
  books: ModelBooks,
  {
    currency: ofPayment,
    ...entry
  }: Omit<LedgerRow, 'currency' | 'invoice' | 'payment' | 'reverses' | 'isRounding'> & Partial<LedgerRow>,
): void {
  if (entry.amount === 0n && entry.kind !== 'VOID') return;
  const businessDate = latest(entry.businessDate, firstOpenDay(books));
  const currency = ofPayment ?? currencyOf(books, entry.clientId ?? '');
  books.rows.ledger.push({
    invoice: null,
    payment: null,
    reverses: null,
    isRounding: false,
    ...entry,
    currency,
    businessDate,
  });
}

export function entriesOf({ rows }: ModelBooks, account: LedgerRow['account'], owner: string): LedgerRow[] {
  return rows.ledger.filter((entry) => entry.account === account && entry.owner === owner);
}

export function lastOf(
  entries: readonly LedgerRow[],
  kind: string,
  of: Partial<Pick<LedgerRow, 'invoice' | 'payment'>> = {},
): LedgerRow | undefined {
  return entries.findLast(
    (entry) =>
      entry.kind === kind &&
      (of.invoice === undefined || entry.invoice === of.invoice) &&
      (of.payment === undefined || entry.payment === of.payment),
  );
}

/** The first day, not before a given one, on which a change leaves the balance with its sign, then and later. */
export function firstDayFor(from: string, change: Cents, entries: readonly LedgerRow[], sign: 1 | -1 = 1): string {
  const decimal = entries.map(({ businessDate, amount }) => ({ businessDate, amount: decimalOf(amount) }));
  return ruleOfDays(from, decimalOf(change), decimal, sign);
}

/** The day of a change: the one that the caller gives, which must be possible, or the first one from today. */
export function dayOfChange(books: ModelBooks, { given, change, entries, undone, sign = 1 }: DatedChange): string {
  must(given === null || given >= firstOpenDay(books));
  const day = firstDayFor(latest(given ?? today, undone?.businessDate ?? ''), change, entries, sign);
  must(given === null || given === day);
  return day;
}

interface DatedChange {
  readonly given: string | null;
  readonly change: Cents;
  readonly entries: readonly LedgerRow[];
  /** The entry that the change undoes, if any. */
  readonly undone?: LedgerRow | undefined;
  readonly sign?: 1 | -1;
}

export function latest(...days: readonly string[]): string {
  return [...days].sort().at(-1) ?? '';
}

/** An entry as a text, to compare. */
export function described({ account, kind, amount, currency, businessDate, owner, ...entry }: LedgerRow): string {
  const { clientId, invoice, payment, reverses, isRounding } = entry;
  const undone = reverses === null ? '' : ` undoes ${reverses.kind} of ${reverses.businessDate}`;
  return `${account} ${kind}${isRounding ? ' (rounding)' : ''} ${amount} ${currency} on ${businessDate} of ${owner} (${invoice} ${payment}) for ${clientId}${undone}`;
}
