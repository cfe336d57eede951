import { due, held, owed, unapplied } from '../../../src/modules/billing/rules/balances.ts';
import { outstanding } from '../../../src/modules/time/work-amounts.ts';
import { decimals } from '../../../src/platform/arithmetic.ts';
import { type Cents, centsOf, decimalOf, divideHalfUp, money, total, unscaled } from '../cents.ts';
import type { Billed, InvoiceRow, ModelBooks, PaymentRow, WipRow } from './rows.ts';

export function outstandingOf({ amount, up, off, billed, status }: WipRow): Cents {
  const [writeUpAmount, writeOffAmount, billedAmount] = [decimalOf(up), decimalOf(off), decimalOf(billed)];
  const work = { status, amount: decimalOf(amount), writeUpAmount, writeOffAmount, billedAmount };
  return centsOf(outstanding(decimals(), work));
}

/** Whether nothing of a row of work is billed or written off. */
export function isUntouched({ billed, up, off }: Pick<WipRow, 'billed' | 'up' | 'off'>): boolean {
  return billed === 0n && up === 0n && off === 0n;
}

export function dueOf({ total: all, paid, credited, writtenOff, status }: InvoiceRow): Cents {
  const documentType = all < 0n ? 'CREDIT_NOTE' : 'INVOICE';
  const covered = { paid: decimalOf(paid), credited: decimalOf(credited), writtenOff: decimalOf(writtenOff) };
  return centsOf(due(decimals(), { status, documentType, total: decimalOf(all), ...covered }));
}

/** What an invoice adds to the balance of its client. */
function owedOn(row: InvoiceRow): Cents {
  return centsOf(owed(decimals(), { status: row.status, due: decimalOf(dueOf(row)) }));
}

export function unappliedOf({ status, amount, refunded, allocations }: PaymentRow): Cents {
  const allocated = decimalOf(total(allocations.map((one) => one.amount)));
  const received = { amount: decimalOf(amount), refunded: decimalOf(refunded), allocated };
  return centsOf(unapplied(decimals(), { status, ...received }));
}

/** What the firm holds for the client, or has lost on a payment. */
function heldOf(row: PaymentRow): Cents {
  return centsOf(held(decimals(), { status: row.status, unapplied: decimalOf(unappliedOf(row)) }));
}

/** The balances of a client, in the format of the API. */
export function balancesOf({ rows }: ModelBooks, clientId: string) {
  const of = <Row extends { readonly clientId: string | null }>(all: Map<string, Row>) =>
    [...all.values()].filter((row) => row.clientId === clientId);
  return {
    outstandingBalance: money(total(of(rows.invoices).map(owedOn))),
    unappliedCredit: money(total(of(rows.payments).map(heldOf))),
    unbilledWip: money(total(of(rows.wips).map(outstandingOf))),
  };
}

export function isSettled(books: ModelBooks, clientId: string): boolean {
  return Object.values(balancesOf(books, clientId)).every((balance) => balance === '0.00');
}

/** Whether work in progress of a job is outstanding. */
export function hasOpenWork({ rows }: ModelBooks, jobId: string): boolean {
  return [...rows.wips.values()].some((row) => row.jobId === jobId && outstandingOf(row) !== 0n);
}

/** The sums of a job, in the format of the API. */
export function jobSums(books: ModelBooks, jobId: string) {
  const { firm, rows } = books;
  const work = [...rows.wips.values()].filter((row) => row.jobId === jobId);
  const approved = [...rows.entries.values()].filter((one) => one.jobId === jobId && one.status === 'APPROVED');
  const billing = billedOf(books, jobId);
  const billedAmount = total(billing.map(({ billed }) => billed));
  const fees = billing.map(({ feeWithoutWork }) => feeWithoutWork);
  const standard = total([...work.map((row) => row.billed + row.off - row.up), ...fees]);
  const fee = firm.feeOfJob.get(jobId);
  return {
    status: rows.jobs.get(jobId)?.status,
    actualHours: money(total(approved.map(({ hours }) => hours))),
    wipAmount: money(total(work.map(outstandingOf))),
    billedAmount: money(billedAmount),
    feeRemaining: fee === undefined ? null : money(fee - billedFeeOf(books, jobId)),
    writeOffAmount: money(total(work.map(({ off }) => off))),
    standardAmount: money(standard),
    realizationPercent: realization(billedAmount, standard),
  };
}

/** What the lines of invoices bill a job. */
export function billedOf({ rows }: ModelBooks, jobId: string): Billed[] {
  const valid = [...rows.invoices.values()].filter(({ status }) => status !== 'PENDING' && status !== 'VOIDED');
  return valid.flatMap(({ billed }) => billed.filter((one) => one.jobId === jobId));
}

export function billedFeeOf(books: ModelBooks, jobId: string): Cents {
  return total(billedOf(books, jobId).map(({ fee }) => fee));
}

/** The hours of a task, in the format of the API. */
export function taskHours({ rows }: ModelBooks, taskId: string): string {
  const approved = [...rows.entries.values()].filter((one) => one.taskId === taskId && one.status === 'APPROVED');
  return money(total(approved.map(({ hours }) => hours)));
}

/** The billed amount as a percentage of its value at standard rates, with at most four places. */
function realization(billed: Cents, standard: Cents): string {
  if (billed <= 0n || standard <= 0n) return '0';
  return unscaled(divideHalfUp(billed * 1_000_000n, standard), 4).replace(/\.?0+$/, '');
}
