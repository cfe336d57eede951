import { createHash } from 'node:crypto';
import type { Bill } from './bills.ts';
import { instantAt, type Span, yearOf } from './calendar.ts';
import { tokenOf } from './parties.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';

export interface PaymentSeed {
  readonly id: string;
  /** Among all payments, and among those of its year. */
  readonly index: number;
  readonly year: number;
  readonly number: number;
  readonly bill: Bill;
  readonly day: number;
  /** In cents, all of it allocated to the bill. */
  readonly amount: number;
  readonly method: 'ACH' | 'CHECK' | 'CARD' | 'WIRE' | 'OTHER';
  readonly status: 'PENDING' | 'COMPLETED' | 'FAILED' | 'RETURNED' | 'REFUNDED';
  /** The number of the link that it was paid through. */
  readonly link: number | undefined;
}

/** The result of an invoice. */
export interface Outcome {
  readonly status: 'POSTED' | 'PARTIALLY_PAID' | 'PAID' | 'WRITTEN_OFF' | 'VOIDED';
  readonly paid: number;
  readonly pending: number;
  readonly paidDay: number | undefined;
  readonly writtenOffDay?: number;
}

export interface LinkSeed {
  readonly number: number;
  readonly id: string;
  readonly token: string;
  readonly tokenHash: string;
  readonly bill: Bill;
  readonly day: number;
  readonly status: 'USED' | 'EXPIRED' | 'ACTIVE' | 'CANCELLED';
}

/** Creates payments of invoices, most of them full and within two months, and links for some of them. */
export function createPayments(
  bills: readonly Bill[],
  tenantId: number,
  { today }: Span,
): {
  readonly payments: readonly PaymentSeed[];
  readonly outcomes: ReadonlyMap<Bill, Outcome>;
  readonly links: readonly LinkSeed[];
} {
  const random = new Random(6);
  const payments: PaymentSeed[] = [];
  const numbers = new Map<number, number>();
  const outcomes = new Map<Bill, Outcome>();
  const links: LinkSeed[] = [];
  const pay = (bill: Bill, day: number, amount: number, status: PaymentSeed['status'], link?: LinkSeed) => {
    const method =
      status === 'PENDING'
        ? 'ACH'
        : link !== undefined
          ? 'CARD'
          : random.weighted([
              ['ACH', 38],
              ['CHECK', 34],
              ['CARD', 20],
              ['WIRE', 4],
              ['OTHER', 4],
            ]);
    const id = rowId(60, payments.length, instantAt(day, 19) + (payments.length % 100_000));
    const year = yearOf(day);
    const number = (numbers.get(year) ?? 1000) + 1;
    numbers.set(year, number);
    payments.push({ id, index: payments.length, year, number, bill, day, amount, method, status, link: link?.number });
  };
  const linkTo = (bill: Bill, day: number, status: LinkSeed['status']): LinkSeed => {
    const number = links.length;
    const token = tokenOf(tenantId, number);
    const tokenHash = `\\x${createHash('sha256').update(token).digest('hex')}`;
    const id = rowId(61, number, instantAt(day, 17) + (number % 100_000));
    const link = { number, id, token, tokenHash, bill, day, status };
    links.push(link);
    return link;
  };
  for (const bill of bills) {
    if (bill.invoiceId === undefined) continue;
    if (bill.total === 0) {
      outcomes.set(bill, { status: 'PAID', paid: 0, pending: 0, paidDay: bill.day });
      continue;
    }
    if (bill.mayBeVoided && bill.number % 40 === 5) {
      outcomes.set(bill, { status: 'VOIDED', paid: 0, pending: 0, paidDay: undefined });
      continue;
    }
    // Larger bills and longer terms take longer.
    const median = 27 * (Math.max(10_000, bill.total) / 90_000) ** 0.08 * (0.4 + (0.6 * (bill.dueDay - bill.day)) / 30);
    const paidOn = bill.day + Math.max(1, Math.min(220, Math.round(random.logNormal(median, 0.8))));
    const isBad = random.chance(0.008);
    if (isBad && bill.day < today - 150) {
      const writtenOffDay = bill.day + 150;
      outcomes.set(bill, { status: 'WRITTEN_OFF', paid: 0, pending: 0, paidDay: undefined, writtenOffDay });
      continue;
    }
    if (paidOn < today && !isBad) {
      const first = random.chance(0.09) ? Math.floor(bill.total / 3) : 0;
      if (random.chance(0.006) && bill.day < today - 40) linkTo(bill, bill.day + 2, 'EXPIRED');
      if (first > 0) pay(bill, paidOn - 1, first, 'COMPLETED');
      const link = first === 0 && random.chance(0.025) ? linkTo(bill, paidOn - 1, 'USED') : undefined;
      pay(bill, paidOn, bill.total - first, 'COMPLETED', link);
      outcomes.set(bill, { status: 'PAID', paid: bill.total, pending: 0, paidDay: paidOn });
      continue;
    }
    // Failed and returned payments, and refunds, leave the invoice open.
    const failed = random.weighted([
      [undefined, 60],
      ['FAILED' as const, 10],
      ['RETURNED' as const, 5],
      ['REFUNDED' as const, 6],
    ]);
    const soon = Math.min(bill.day + 20, today - 1);
    if (failed !== undefined && soon >= bill.day) pay(bill, soon, bill.total, failed);
    const part = random.chance(0.2) ? Math.floor(bill.total / 4) : 0;
    if (part > 0) pay(bill, Math.max(bill.day, today - 9), part, 'COMPLETED');
    const pending = part === 0 && random.chance(0.1) ? bill.total : 0;
    if (pending > 0) pay(bill, today - 1, pending, 'PENDING');
    if (random.chance(0.15))
      linkTo(bill, Math.max(bill.day, today - 20), part === 0 && pending === 0 ? 'ACTIVE' : 'CANCELLED');
    else if (random.chance(0.2) && bill.day < today - 60) linkTo(bill, bill.day + 2, 'EXPIRED');
    outcomes.set(bill, { status: part > 0 ? 'PARTIALLY_PAID' : 'POSTED', paid: part, pending, paidDay: undefined });
  }
  return { payments, outcomes, links };
}
