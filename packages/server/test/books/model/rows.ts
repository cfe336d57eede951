import type { Cents } from '../cents.ts';
import type { SentLine } from '../requests.ts';

/** The rows of the expected books, by their ref, with amounts in cents. */
export interface ModelRows {
  readonly entries: Map<string, TimeRow>;
  readonly wips: Map<string, WipRow>;
  readonly drafts: Map<string, DraftRow>;
  readonly invoices: Map<string, InvoiceRow>;
  readonly payments: Map<string, PaymentRow>;
  readonly jobs: Map<string, { status: string }>;
  readonly clients: Map<string, { status: string }>;
  readonly ledger: LedgerRow[];
  closedThrough: string | null;
  /** Counts the times at which allocations were created. */
  clock: number;
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
  readonly relief: string;
  readonly exceedsFee: boolean;
  readonly wipIds: readonly string[];
}

/** What a line bills a job, or no job. */
export interface Billed {
  readonly jobId: string | null;
  readonly amount: Cents;
  readonly discount: Cents;
  readonly isFee: boolean;
  readonly hasWork: boolean;
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
  readonly clientId: string;
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
  readonly clientId: string;
  /** The invoice, payment or row of work whose balance the account is. */
  readonly owner: string;
  readonly invoice: string | null;
  readonly payment: string | null;
  readonly reverses: LedgerRow | null;
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
