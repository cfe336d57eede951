import { type Cents, unitOf } from '../cents.ts';
import type { SentLine, WalkCurrency } from '../requests.ts';

/** The rows of the expected books, by their ref, with amounts in cents. */
export interface ModelRows {
  readonly entries: Map<string, TimeRow>;
  readonly wips: Map<string, WipRow>;
  readonly drafts: Map<string, DraftRow>;
  readonly invoices: Map<string, InvoiceRow>;
  readonly payments: Map<string, PaymentRow>;
  readonly jobs: Map<string, { status: string }>;
  readonly clients: Map<string, { status: string; currency: WalkCurrency }>;
  readonly ledger: LedgerRow[];
  closedThrough: string | null;
  /** Counts the times at which allocations were created. */
  clock: number;
}

/** Copies all that a request can change. Ten times as fast as `structuredClone`. */
export function copyOf(rows: ModelRows): ModelRows {
  const copied = <Row extends object>(all: ReadonlyMap<string, Row>) =>
    new Map([...all].map(([ref, row]) => [ref, { ...row }]));
  const payments = copied(rows.payments);
  for (const row of payments.values()) row.allocations = row.allocations.map((one) => ({ ...one }));
  return {
    ...rows,
    entries: copied(rows.entries),
    wips: copied(rows.wips),
    drafts: copied(rows.drafts),
    invoices: copied(rows.invoices),
    payments,
    jobs: copied(rows.jobs),
    clients: copied(rows.clients),
    ledger: [...rows.ledger],
  };
}

export interface TimeRow {
  readonly jobId: string;
  readonly taskId: string | null;
  readonly workDate: string;
  readonly isBillable: boolean;
  readonly reverses: string | null;
  hours: bigint;
  status: string;
}

export interface WipRow {
  readonly jobId: string;
  readonly clientId: string;
  readonly entry: string | null;
  readonly workDate: string;
  readonly amount: Cents;
  billed: Cents;
  up: Cents;
  off: Cents;
  status: string;
  draft: string | null;
}

export interface Line {
  readonly lineType: string;
  readonly amount: Cents;
  readonly tax: Cents;
  readonly jobId: string | null;
  readonly relief: SentLine['relief'];
  readonly exceedsFee: boolean;
  readonly wipIds: readonly string[];
}

/** What the lines of an invoice bill a job. */
export interface Billed {
  readonly jobId: string;
  readonly billed: Cents;
  readonly fee: Cents;
  readonly feeWithoutWork: Cents;
}

export interface DraftRow {
  readonly clientId: string;
  invoiceDate: string;
  lines: readonly Line[];
  /** The lines as they were sent. */
  sent: readonly SentLine[];
  status: string;
}

/** What an invoice took from a row of work. */
export interface Relief {
  readonly wipId: string;
  readonly billed: Cents;
  readonly up: Cents;
  readonly off: Cents;
}

export interface InvoiceRow {
  readonly clientId: string;
  readonly invoiceDate: string;
  readonly total: Cents;
  /** Whether the amount and the tax of each line are zero. */
  readonly isZero: boolean;
  readonly reliefs: readonly Relief[];
  readonly billed: readonly Billed[];
  status: string;
  paidDate: string | null;
  paid: Cents;
  credited: Cents;
  pending: Cents;
  writtenOff: Cents;
}

export interface PaymentRow {
  /** Null while the payer is unknown. */
  clientId: string | null;
  readonly currency: WalkCurrency;
  readonly method: string;
  readonly paymentDate: string;
  readonly amount: Cents;
  /** Whether it is the credit of a credit note. */
  readonly isOfNote: boolean;
  allocations: { readonly invoice: string; amount: Cents; at: number }[];
  refunded: Cents;
  status: string;
}

/** An entry of the ledger. */
export interface LedgerRow {
  readonly account: 'RECEIVABLE' | 'CREDIT' | 'WIP';
  readonly kind: string;
  readonly amount: Cents;
  readonly businessDate: string;
  readonly currency: string;
  readonly clientId: string | null;
  /** The invoice, payment or row of work whose balance the account is. */
  readonly owner: string;
  readonly invoice: string | null;
  readonly payment: string | null;
  readonly reverses: LedgerRow | null;
  /** Whether it settles a small rest, or undoes that. */
  readonly isRounding: boolean;
}

/** The firm that the books are of. */
export interface Firm {
  /** In cents. */
  readonly hourlyRate: Cents;
  readonly clientOfJob: ReadonlyMap<string, string>;
  readonly groupOfClient: ReadonlyMap<string, string>;
  readonly feeOfJob: ReadonlyMap<string, Cents>;
  readonly taskOfJob: ReadonlyMap<string, string>;
  /** The status of each job and client when the books were opened. */
  readonly statusOfJob: ReadonlyMap<string, string>;
  readonly statusOfClient: ReadonlyMap<string, string>;
  /** The currency of all clients when the books were opened. */
  readonly currency: WalkCurrency;
  /** The largest rest that can be settled, in cents. */
  readonly settleWithin: Cents;
}

/** The expected books while a request is applied. */
export interface ModelBooks {
  readonly firm: Firm;
  readonly rows: ModelRows;
}

/** Thrown where the books reject a request. */
export class Rejected extends Error {
  override readonly name = 'Rejected';
}

/** @throws Rejected unless a rule is met. */
export function must(isMet: boolean): void {
  if (!isMet) throw new Rejected('The books reject the request.');
}

/** The currency of a client, and of all its documents. */
export function currencyOf({ rows }: ModelBooks, clientId: string): WalkCurrency {
  return found(rows.clients, clientId).currency;
}

/** @throws Rejected if an amount is not a multiple of the minor unit of a currency */
export function mustBeInUnits(amount: Cents, currency: string): void {
  must(amount % unitOf(currency) === 0n);
}

/** The ref of the payment that is the credit of a credit note. */
export function creditOf(note: string): string {
  return `credit of ${note}`;
}

export function isCredit(ref: string): boolean {
  return ref.startsWith(creditOf(''));
}

export function found<Value>(rows: ReadonlyMap<string, Value>, ref: string): Value {
  const row = rows.get(ref);
  if (row === undefined) throw new Error(`The model has no ${ref}.`);
  return row;
}
