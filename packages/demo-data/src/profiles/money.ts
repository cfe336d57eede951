import { createHash } from 'node:crypto';
import type { Bill } from './bills.ts';
import { instantAt, lastDay } from './calendar.ts';
import { tokenOf } from './parties.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';

export interface PaymentSeed {
  readonly id: string;
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
): {
  readonly payments: readonly PaymentSeed[];
  readonly outcomes: ReadonlyMap<Bill, Outcome>;
  readonly links: readonly LinkSeed[];
} {
  const random = new Random(6);
  const payments: PaymentSeed[] = [];
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
    payments.push({ id, bill, day, amount, method, status, link: link?.number });
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
    if (bill.mayBeVoided && bill.number % 16 === 5) {
      outcomes.set(bill, { status: 'VOIDED', paid: 0, pending: 0, paidDay: undefined });
      continue;
    }
    const paidOn = bill.day + Math.max(1, Math.min(200, Math.round(random.logNormal(24, 0.7))));
    if (random.chance(0.002) && bill.day < lastDay - 200) {
      outcomes.set(bill, { status: 'WRITTEN_OFF', paid: 0, pending: 0, paidDay: undefined });
      continue;
    }
    if (paidOn < lastDay && !random.chance(0.012)) {
      const first = random.chance(0.09) ? Math.floor(bill.total / 3) : 0;
      if (first > 0) pay(bill, paidOn - 1, first, 'COMPLETED');
      const link = first === 0 && random.chance(0.029) ? linkTo(bill, paidOn - 1, 'USED') : undefined;
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
    const soon = Math.min(bill.day + 20, lastDay - 1);
    if (failed !== undefined && soon >= bill.day) pay(bill, soon, bill.total, failed);
    const part = random.chance(0.2) ? Math.floor(bill.total / 4) : 0;
    if (part > 0) pay(bill, Math.max(bill.day, lastDay - 9), part, 'COMPLETED');
    const pending = part === 0 && random.chance(0.1) ? bill.total : 0;
    if (pending > 0) pay(bill, lastDay - 1, pending, 'PENDING');
    if (random.chance(0.08))
      linkTo(bill, Math.max(bill.day, lastDay - 20), part === 0 && pending === 0 ? 'ACTIVE' : 'CANCELLED');
    else if (random.chance(0.2) && bill.day < lastDay - 60) linkTo(bill, bill.day + 2, 'EXPIRED');
    outcomes.set(bill, { status: part > 0 ? 'PARTIALLY_PAID' : 'POSTED', paid: part, pending, paidDay: undefined });
  }
  return { payments, outcomes, links };
}
