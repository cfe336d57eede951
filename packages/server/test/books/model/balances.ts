import { due, type MoneyRule, termsOf, unapplied } from '../../../src/modules/billing/money-rules.ts';
import { type Cents, divideHalfUp, money, total, unscaled } from '../cents.ts';
import type { Billed, InvoiceRow, ModelBooks, PaymentRow, WipRow } from './rows.ts';

export function outstandingOf({ amount, up, off, billed, status }: WipRow): Cents {
  return status === 'REVERSED' ? 0n : amount + up - off - billed;
}

/** Whether nothing of a row of work is billed or written off. */
export function isUntouched({ billed, up, off }: Pick<WipRow, 'billed' | 'up' | 'off'>): boolean {
  return billed === 0n && up === 0n && off === 0n;
}

export function dueOf({ total: all, paid, credited, writtenOff, status }: InvoiceRow): Cents {
  return centsBy(due, all < 0n ? 'CREDIT_NOTE' : status, { total: all, paid, credited, writtenOff });
}

function centsBy<Part extends string>(rule: MoneyRule<Part>, status: string, amounts: Record<Part, Cents>): Cents {
  return total(termsOf(rule, status).map(([part, sign]) => BigInt(sign) * amounts[part]));
}

export function unappliedOf({ status, amount, refunded, allocations }: PaymentRow): Cents {
  return centsBy(unapplied, status, { amount, refunded, allocated: total(allocations.map((one) => one.amount)) });
}

/** The balances of a client, in the format of the API. */
export function balancesOf({ rows }: ModelBooks, clientId: string) {
  const of = <Row extends { readonly clientId: string }>(all: Map<string, Row>) =>
    [...all.values()].filter((row) => row.clientId === clientId);
  const posted = of(rows.invoices).filter(({ status }) => status !== 'PENDING');
  const held = of(rows.payments).filter(({ status }) => status !== 'PENDING');
  return {
    outstandingBalance: money(total(posted.map(dueOf))),
    unappliedCredit: money(total(held.map(unappliedOf))),
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
  const billed = billedOf(books, jobId);
  const billedAmount = total(billed.map(({ amount, discount }) => amount + discount));
  const fees = billed.filter(({ isFee, hasWork }) => isFee && !hasWork).map(({ amount }) => amount);
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
  const fees = billedOf(books, jobId).filter(({ isFee }) => isFee);
  return total(fees.map(({ amount }) => amount));
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
