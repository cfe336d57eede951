import { counts, cover as covering } from '../../../src/modules/billing/rules/balances.ts';
import { decimals } from '../../../src/platform/arithmetic.ts';
import { type Cents, cents, centsOf, decimalOf, total } from '../cents.ts';
import type { BooksRequest, SentAllocation } from '../requests.ts';
import { dueOf, unappliedOf } from './balances.ts';
import { settle } from './invoices.ts';
import { dayOfChange, enter, entriesOf, firstDayFor, firstOpenDay, lastOf, latest } from './ledger.ts';
import { type Conditions, mustMove, transitionsOf } from './machine.ts';
import { currencyOf, found, type LedgerRow, type ModelBooks, must, mustBeInUnits, type PaymentRow } from './rows.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };

export function pay(books: ModelBooks, request: Request<'pay'>): void {
  const { ref, clientId, currency, method, paymentDate, amount, allocations } = request;
  // A payment that waits for its settlement has no entry yet.
  must(method === 'ACH' || paymentDate >= firstOpenDay(books));
  must(clientId === null ? method !== 'CREDIT' && allocations.length === 0 : currency === currencyOf(books, clientId));
  mustBeInUnits(cents(amount), currency);
  // It has no status yet, so that nothing of it counts.
  const row: PaymentRow = {
    clientId,
    currency,
    method,
    paymentDate,
    amount: cents(amount),
    isOfNote: false,
    allocations: [],
    refunded: 0n,
    status: '',
  };
  books.rows.payments.set(ref, row);
  change(books, ref, null, () => {
    row.status = method === 'ACH' ? 'PENDING' : 'COMPLETED';
    apply(books, row, allocations);
  });
}

/** The payer of a payment becomes known: what is held of it moves to the client. */
export function identify(books: ModelBooks, { ref, clientId, changeDate }: Request<'identify'>): void {
  const row = found(books.rows.payments, ref);
  if (row.clientId === clientId) return;
  must(row.clientId === null && currencyOf(books, clientId) === row.currency);
  must(changeDate === null || changeDate >= row.paymentDate);
  const entries = heldOf(books, ref);
  const amount = total(entries.map((entry) => entry.amount));
  const of = { account: 'CREDIT', owner: ref, currency: row.currency, payment: ref, kind: 'IDENTIFICATION' } as const;
  if (amount !== 0n) {
    const undone = entries.findLast(({ kind }) => kind === 'PAYMENT' || kind === 'RETURN');
    const dated = { given: changeDate, change: -amount, entries: amount < 0n ? [] : entries, undone };
    const businessDate = dayOfChange(books, dated);
    enter(books, { ...of, clientId: null, amount: -amount, businessDate });
    enter(books, { ...of, clientId, amount, businessDate });
  }
  row.clientId = clientId;
}

/** The entries of what a payment holds for its present client, or for nobody yet. */
function heldOf(books: ModelBooks, ref: string): LedgerRow[] {
  const { clientId } = found(books.rows.payments, ref);
  return entriesOf(books, 'CREDIT', ref).filter((entry) => entry.clientId === clientId);
}

export function allocate(books: ModelBooks, { ref, allocations, changeDate }: Request<'allocate'>): void {
  const row = found(books.rows.payments, ref);
  const isSame =
    allocations.length === row.allocations.length &&
    allocations.every(({ invoiceId, amount }, index) => {
      const known = row.allocations[index];
      return known?.invoice === invoiceId && known.amount === cents(amount);
    });
  if (isSame) return;
  must(row.status === 'COMPLETED' || row.status === 'PARTIALLY_REFUNDED');
  must(changeDate === null || changeDate >= row.paymentDate);
  change(books, ref, changeDate, () => apply(books, row, allocations));
}

export function movePayment(books: ModelBooks, { ref, to, changeDate }: Request<'movePayment'>): void {
  const row = found(books.rows.payments, ref);
  if (row.status === to) return;
  mustMove('PaymentStatus', row.status, to, paymentConditions(row));
  must(changeDate === null || changeDate >= row.paymentDate);
  recordStatus(books, ref, to, changeDate);
}

/** The statuses that a bank reports, by the events that record them. */
export const reported: Readonly<Record<string, Request<'reportPayment'>['to']>> = {
  paymentCompleted: 'COMPLETED',
  paymentFailed: 'FAILED',
  paymentReturned: 'RETURNED',
  paymentRefunded: 'REFUNDED',
};

/** Records what a bank reports, which the contract declares for the status. */
export function recordFact(books: ModelBooks, { ref, to }: Request<'reportPayment'>): void {
  const row = found(books.rows.payments, ref);
  if (row.status === to) return;
  const possible = transitionsOf('PaymentStatus').filter((one) => one.from.includes(row.status) && one.to === to);
  must(possible.some(({ events = [] }) => events.some((event) => reported[event] === to)));
  if (to === 'REFUNDED') refundAll(books, ref);
  else recordStatus(books, ref, to, null);
}

function refundAll(books: ModelBooks, ref: string): void {
  const row = found(books.rows.payments, ref);
  change(books, ref, null, () => Object.assign(row, { status: 'REFUNDED', refunded: row.amount, allocations: [] }));
}

function recordStatus(books: ModelBooks, ref: string, to: string, changeDate: string | null): void {
  const row = found(books.rows.payments, ref);
  change(books, ref, changeDate, () => {
    row.status = to;
    if (to !== 'COMPLETED') row.allocations = [];
    books.rows.clock += 1;
    for (const one of row.allocations) one.at = books.rows.clock;
  });
}

/** The conditions of the transitions of a payment, by the requests of walks. */
export function paymentConditions({ method, isOfNote }: PaymentRow): Conditions {
  return {
    enteredAsRecord: true,
    enteredByFirm: !isOfNote,
    canBeReturned: method !== 'CASH' && method !== 'CREDIT',
    canBeRefunded: method !== 'CREDIT',
  };
}

export function refund(books: ModelBooks, { ref, refundedAmount, changeDate }: Request<'refund'>): void {
  const row = found(books.rows.payments, ref);
  const more = cents(refundedAmount) - row.refunded;
  if (more === 0n) return;
  must(row.status === 'COMPLETED' || row.status === 'PARTIALLY_REFUNDED');
  must(row.method !== 'CREDIT' && more > 0n && cents(refundedAmount) <= row.amount);
  mustBeInUnits(cents(refundedAmount), row.currency);
  must(changeDate === null || changeDate >= row.paymentDate);
  change(books, ref, changeDate, () => {
    const unapplied = unappliedOf(row);
    let rest = more > unapplied ? more - unapplied : 0n;
    // The latest allocation comes first; of those created together, the last in the list.
    for (const one of row.allocations.toReversed().sort((left, right) => right.at - left.at)) {
      const taken = one.amount < rest ? one.amount : rest;
      one.amount -= taken;
      rest -= taken;
    }
    row.allocations = row.allocations.filter(({ amount }) => amount > 0n);
    row.refunded += more;
    row.status = row.refunded === row.amount ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
  });
}

/** Sets the allocations of a payment. */
function apply(books: ModelBooks, row: PaymentRow, sent: readonly SentAllocation[]): void {
  const known = new Map(row.allocations.map((one) => [one.invoice, one]));
  must(new Set(sent.map(({ invoiceId }) => invoiceId)).size === sent.length);
  const groupOf = (clientId: string) => books.firm.groupOfClient.get(clientId) ?? clientId;
  const next = sent.map(({ invoiceId: invoice, amount }) => {
    const before = known.get(invoice);
    const more = cents(amount) - (before?.amount ?? 0n);
    must(cents(amount) > 0n);
    if (more !== 0n) mustBeInUnits(cents(amount), row.currency);
    if (more <= 0n) return { invoice, amount: cents(amount), at: before?.at ?? 0 };
    const bill = found(books.rows.invoices, invoice);
    must(row.clientId !== null && groupOf(bill.clientId) === groupOf(row.clientId));
    must(currencyOf(books, bill.clientId) === row.currency);
    // What this payment covers of it was taken off before.
    must(bill.total >= 0n && (bill.status === 'POSTED' || bill.status === 'PARTIALLY_PAID'));
    must(cents(amount) <= dueOf(bill) - bill.pending);
    return { invoice, amount: cents(amount), at: books.rows.clock + 1 };
  });
  must(total(next.map(({ amount }) => amount)) <= row.amount - row.refunded);
  books.rows.clock += 1;
  row.allocations = next;
}

interface Held {
  readonly counts: boolean;
  readonly refunded: Cents;
  readonly parts: ReadonlyMap<string, Cents>;
}

/** Changes a payment, and with it what it covers of invoices and the entries of both. */
function change(books: ModelBooks, ref: string, changeDate: string | null, work: () => void): void {
  const row = found(books.rows.payments, ref);
  const before = stateOf(row);
  const touched = new Set(row.allocations.map(({ invoice }) => invoice));
  cover(books, row, -1n);
  work();
  cover(books, row, 1n);
  for (const { invoice } of row.allocations) touched.add(invoice);
  enterChange(books, ref, changeDate, before, stateOf(row));
  for (const invoice of touched) settle(books, invoice);
}

function stateOf({ status, refunded, allocations }: PaymentRow): Held {
  const parts = counts(status) ? allocations : [];
  return { counts: counts(status), refunded, parts: new Map(parts.map(({ invoice, amount }) => [invoice, amount])) };
}

function cover({ rows }: ModelBooks, { status, method, allocations }: PaymentRow, sign: 1n | -1n): void {
  for (const { invoice, amount } of allocations) {
    const bill = found(rows.invoices, invoice);
    const allocation = { status, method, amount: decimalOf(sign * amount) };
    bill.paid += centsOf(covering.amountPaid(decimals(), allocation));
    bill.credited += centsOf(covering.amountCredited(decimals(), allocation));
    bill.pending += centsOf(covering.amountPending(decimals(), allocation));
  }
}

function enterChange(books: ModelBooks, ref: string, given: string | null, before: Held, after: Held): void {
  if (!before.counts && !after.counts) return;
  const { clientId, currency, amount, paymentDate, status, refunded } = found(books.rows.payments, ref);
  const of = { account: 'CREDIT', owner: ref, clientId, currency, payment: ref } as const;
  const held = () => heldOf(books, ref);
  if (!before.counts) enter(books, { ...of, kind: 'PAYMENT', amount, businessDate: paymentDate });
  // Invoices are in the order of their IDs, which is that of their creation.
  const moves = [...books.rows.invoices.keys()].map((invoice) => ({
    invoice,
    more: (after.parts.get(invoice) ?? 0n) - (before.parts.get(invoice) ?? 0n),
  }));
  for (const { invoice, more } of moves) {
    if (more >= 0n) continue;
    const undone = lastOf(held(), 'ALLOCATION', { invoice });
    const businessDate = dayOfChange(books, { given, change: -more, entries: held(), undone });
    const half = lastOf(entriesOf(books, 'RECEIVABLE', invoice), 'ALLOCATION', { payment: ref });
    enterBoth('DEALLOCATION', invoice, -more, businessDate, undone, half);
  }
  if (after.refunded > before.refunded) take('REFUND', after.refunded - before.refunded);
  if (status === 'RETURNED') take('RETURN', amount);
  if (status === 'VOIDED') take('PAYMENT_VOID', amount - refunded);
  for (const { invoice, more } of moves) {
    if (more <= 0n) continue;
    const receivable = entriesOf(books, 'RECEIVABLE', invoice);
    let day = latest(paymentDate, found(books.rows.invoices, invoice).invoiceDate, firstOpenDay(books));
    for (let last = ''; day !== last; ) {
      last = day;
      day = firstDayFor(firstDayFor(day, -more, receivable), -more, held());
    }
    enterBoth('ALLOCATION', invoice, -more, day, undefined, undefined);
  }

  function take(kind: string, part: Cents): void {
    // What a bank takes back after a refund is gone twice: no balance limits it.
    const isLost = kind === 'RETURN' && refunded > 0n;
    const undone = kind === 'REFUND' ? undefined : (lastOf(held(), 'PAYMENT') ?? lastOf(held(), 'IDENTIFICATION'));
    const sign = isLost ? -1 : 1;
    const dated = { given, change: -part, entries: isLost ? [] : held(), undone, sign } as const;
    enter(books, { ...of, kind, amount: -part, businessDate: dayOfChange(books, dated), reverses: undone ?? null });
  }

  function enterBoth(
    kind: string,
    invoice: string,
    part: Cents,
    businessDate: string,
    undone: LedgerRow | undefined,
    half: LedgerRow | undefined,
  ): void {
    const bill = found(books.rows.invoices, invoice);
    const both = { kind, amount: part, businessDate, invoice, payment: ref };
    const owed = { account: 'RECEIVABLE', owner: invoice, clientId: bill.clientId } as const;
    enter(books, { ...both, ...owed, currency, reverses: half ?? null });
    enter(books, { ...both, ...of, invoice, reverses: undone ?? null });
  }
}
