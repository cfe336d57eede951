import { createHash } from 'node:crypto';
import type { Bill } from './bills.ts';
import { instantAt, type Span, yearOf } from './calendar.ts';
import { tokenOf } from './parties.ts';
import { creditReasons } from './practice.ts';
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
  readonly method: 'ACH' | 'CHECK' | 'CARD' | 'WIRE' | 'OTHER' | 'CREDIT';
  readonly status: 'PENDING' | 'COMPLETED' | 'FAILED' | 'RETURNED' | 'REFUNDED';
  /** The number of the link that it was paid through. */
  readonly link: number | undefined;
  /** Whether it is the credit of a credit note for the bill, and whether that is applied to the bill. */
  readonly credit: 'applied' | 'unapplied' | undefined;
}

/** The result of an invoice. */
export interface Outcome {
  readonly status: 'POSTED' | 'PARTIALLY_PAID' | 'PAID' | 'WRITTEN_OFF' | 'VOIDED';
  readonly paid: number;
  readonly credited?: number;
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

/** Creates payments of invoices, most of them full and within two months, and for some of them links or credit notes. */
export function createPayments(
  bills: readonly Bill[],
  tenantId: number,
  { today }: Span,
  /** The last numbers of credit notes by year; undefined if there shall be none. */
  firstNotes: ReadonlyMap<number, number> | undefined,
): {
  readonly payments: readonly PaymentSeed[];
  readonly outcomes: ReadonlyMap<Bill, Outcome>;
  readonly links: readonly LinkSeed[];
  /** Credit notes by the bill that they credit. */
  readonly notes: ReadonlyMap<Bill, Bill>;
  /** The last numbers of credit notes by year. */
  readonly lastNotes: ReadonlyMap<number, number>;
} {
  const settling = new Settling(tenantId, today, firstNotes !== undefined);
  const outcomes = new Map<Bill, Outcome>();
  for (const bill of bills) if (bill.invoiceId !== undefined) outcomes.set(bill, settling.settle(bill));
  const { payments, links, credits } = settling;
  return { payments, outcomes, links, ...notesOf(credits, bills.length, firstNotes ?? new Map()) };
}

/** What happens to invoices, drawn for one after the other. */
class Settling {
  readonly payments: PaymentSeed[] = [];
  readonly links: LinkSeed[] = [];
  /** The payments by credit notes. */
  readonly credits: PaymentSeed[] = [];
  readonly #tenantId: number;
  readonly #today: number;
  readonly #hasNotes: boolean;
  readonly #random = new Random(6);
  /** The last numbers of payments by year. */
  readonly #numbers = new Map<number, number>();

  constructor(tenantId: number, today: number, hasNotes: boolean) {
    this.#tenantId = tenantId;
    this.#today = today;
    this.#hasNotes = hasNotes;
  }

  settle(bill: Bill): Outcome {
    const [random, today] = [this.#random, this.#today];
    if (bill.total === 0) return { status: 'PAID', paid: 0, pending: 0, paidDay: bill.day };
    if (bill.mayBeVoided && bill.number % 40 === 5)
      return { status: 'VOIDED', paid: 0, pending: 0, paidDay: undefined };
    // Larger bills and longer terms take longer.
    const median = 27 * (Math.max(10_000, bill.total) / 90_000) ** 0.08 * (0.4 + (0.6 * (bill.dueDay - bill.day)) / 30);
    const paidOn = bill.day + Math.max(1, Math.min(220, Math.round(random.logNormal(median, 0.8))));
    const isBad = random.chance(0.008);
    if (isBad && bill.day < today - 150)
      return { status: 'WRITTEN_OFF', paid: 0, pending: 0, paidDay: undefined, writtenOffDay: bill.day + 150 };
    const isCredited = this.#hasNotes && bill.number % 70 === 11 && bill.total > 20_000;
    return paidOn < today && !isBad ? this.#payAll(bill, paidOn, isCredited) : this.#leaveOpen(bill, isCredited);
  }

  #payAll(bill: Bill, paidOn: number, isCredited: boolean): Outcome {
    const random = this.#random;
    const credited = isCredited ? this.#credit(bill, Math.min(bill.day + 9, paidOn), 'applied') : 0;
    const first = random.chance(0.09) ? Math.floor(bill.total / 3) : 0;
    if (random.chance(0.006) && bill.day < this.#today - 40) this.#linkTo(bill, bill.day + 2, 'EXPIRED');
    if (first > 0) this.#pay(bill, paidOn - 1, first, 'COMPLETED');
    const link = first === 0 && random.chance(0.025) ? this.#linkTo(bill, paidOn - 1, 'USED') : undefined;
    this.#pay(bill, paidOn, bill.total - credited - first, 'COMPLETED', link);
    return { status: 'PAID', paid: bill.total - credited, credited, pending: 0, paidDay: paidOn };
  }

  #leaveOpen(bill: Bill, isCredited: boolean): Outcome {
    const [random, today] = [this.#random, this.#today];
    // A credit is not always applied at once.
    if (isCredited && bill.day < today - 1) this.#credit(bill, Math.min(bill.day + 9, today - 1), 'unapplied');
    // Failed and returned payments, and refunds, leave the invoice open.
    const failed = random.weighted([
      [undefined, 60],
      ['FAILED' as const, 10],
      ['RETURNED' as const, 5],
      ['REFUNDED' as const, 6],
    ]);
    const soon = Math.min(bill.day + 20, today - 1);
    if (failed !== undefined && soon >= bill.day) this.#pay(bill, soon, bill.total, failed);
    const part = random.chance(0.2) ? Math.floor(bill.total / 4) : 0;
    if (part > 0) this.#pay(bill, Math.max(bill.day, today - 9), part, 'COMPLETED');
    const pending = part === 0 && random.chance(0.1) ? bill.total : 0;
    if (pending > 0) this.#pay(bill, today - 1, pending, 'PENDING');
    if (random.chance(0.15))
      this.#linkTo(bill, Math.max(bill.day, today - 20), part === 0 && pending === 0 ? 'ACTIVE' : 'CANCELLED');
    else if (random.chance(0.2) && bill.day < today - 60) this.#linkTo(bill, bill.day + 2, 'EXPIRED');
    return { status: part > 0 ? 'PARTIALLY_PAID' : 'POSTED', paid: part, pending, paidDay: undefined };
  }

  #pay(
    bill: Bill,
    day: number,
    amount: number,
    status: PaymentSeed['status'],
    link?: LinkSeed,
    credit?: PaymentSeed['credit'],
  ): PaymentSeed {
    const method = this.#methodOf(status, link, credit);
    const index = this.payments.length;
    const id = rowId(60, index, instantAt(day, 19) + (index % 100_000));
    const year = yearOf(day);
    const number = (this.#numbers.get(year) ?? 1000) + 1;
    this.#numbers.set(year, number);
    const seed = { id, index, year, number, bill, day, amount, method, status, link: link?.number, credit };
    this.payments.push(seed);
    return seed;
  }

  #methodOf(
    status: PaymentSeed['status'],
    link: LinkSeed | undefined,
    credit: PaymentSeed['credit'],
  ): PaymentSeed['method'] {
    if (credit !== undefined) return 'CREDIT';
    if (status === 'PENDING') return 'ACH';
    if (link !== undefined) return 'CARD';
    return this.#random.weighted([
      ['ACH', 38],
      ['CHECK', 34],
      ['CARD', 20],
      ['WIRE', 4],
      ['OTHER', 4],
    ]);
  }

  /** Credits a part of a bill. @returns the amount */
  #credit(bill: Bill, day: number, credit: 'applied' | 'unapplied'): number {
    const amount = Math.max(2_500, Math.round(bill.total / 5_000) * 500);
    this.credits.push(this.#pay(bill, day, amount, 'COMPLETED', undefined, credit));
    return amount;
  }

  #linkTo(bill: Bill, day: number, status: LinkSeed['status']): LinkSeed {
    const number = this.links.length;
    const token = tokenOf(this.#tenantId, number);
    const tokenHash = `\\x${createHash('sha256').update(token).digest('hex')}`;
    const id = rowId(61, number, instantAt(day, 17) + (number % 100_000));
    const link = { number, id, token, tokenHash, bill, day, status };
    this.links.push(link);
    return link;
  }
}

/** Creates the credit notes of credits, numbered per year in the order of their days. */
function notesOf(credits: readonly PaymentSeed[], firstNumber: number, firstNotes: ReadonlyMap<number, number>) {
  const notes = new Map<Bill, Bill>();
  const lastNotes = new Map(firstNotes);
  for (const { bill, day, amount } of credits.toSorted((one, other) => one.day - other.day)) {
    const number = firstNumber + notes.size;
    const year = yearOf(day);
    const place = (lastNotes.get(year) ?? 0) + 1;
    lastNotes.set(year, place);
    const reason = creditReasons[number % creditReasons.length] ?? creditReasons[0];
    const line = {
      lineType: 'DISCOUNT',
      description: reason,
      amount: -amount,
      tax: 0,
      work: [],
      relief: 'FULL',
    } as const;
    notes.set(bill, {
      number,
      draftId: rowId(50, number, instantAt(day, 16) + (number % 100_000)),
      invoiceId: rowId(51, number, instantAt(day, 18) + (number % 100_000)),
      invoiceNumber: `CN-${year}-${String(place).padStart(5, '0')}`,
      draftStatus: 'POSTED',
      client: bill.client,
      jobId: bill.jobId,
      day,
      dueDay: day,
      lines: [line],
      taxRate: 0,
      standard: 0,
      total: -amount,
      mayBeVoided: false,
      writeDownReason: undefined,
      credited: bill,
    });
  }
  return { notes, lastNotes };
}
