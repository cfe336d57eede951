/** A line as it is sent: quantity, price and tax rate in decimal text. */
export interface SentLine {
  readonly lineType: 'TIME' | 'EXPENSE' | 'FIXED_FEE' | 'PROGRESS' | 'DISCOUNT' | 'INTEREST' | 'OTHER';
  readonly description: string;
  readonly quantity: string;
  readonly unitAmount: string;
  readonly taxable: boolean;
  readonly taxRatePercent: string;
  readonly jobId: string | null;
  readonly relief: 'FULL' | 'PART';
  readonly exceedsFee: boolean;
  readonly wipIds: readonly string[];
}

/** The currencies of walks: of two firms abroad, one has no minor unit. */
export const currencies = ['USD', 'EUR', 'JPY'] as const;
export type WalkCurrency = (typeof currencies)[number];

export interface SentAllocation {
  readonly invoiceId: string;
  readonly amount: string;
}

/**
 * A change of the books, as it is sent to the API. Rows are named by their `ref` if the caller chose one, otherwise by
 * their ID.
 */
export type BooksRequest =
  | {
      readonly kind: 'time';
      readonly ref: string;
      readonly jobId: string;
      readonly taskId: string | null;
      readonly workDate: string;
      readonly hours: string;
      readonly isBillable: boolean;
      readonly status: 'DRAFT' | 'SUBMITTED';
      readonly reverses: string | null;
    }
  | { readonly kind: 'hours'; readonly ref: string; readonly hours: string }
  | { readonly kind: 'moveEntry'; readonly ref: string; readonly to: EntryStatus }
  | { readonly kind: 'removeEntry'; readonly ref: string }
  | {
      readonly kind: 'wip';
      readonly ref: string;
      readonly jobId: string;
      readonly wipType: OwnWip;
      readonly workDate: string;
      readonly amount: string;
    }
  | ({
      readonly kind: 'writeOffWip';
      readonly ref: string;
      readonly amount: string;
      /** Whether it gives a reason, which belongs to a write-off and not to undoing one. */
      readonly hasReason: boolean;
    } & Dated)
  | {
      readonly kind: 'draft';
      readonly ref: string;
      readonly clientId: string;
      /** Null if it is not sent: that of the client. */
      readonly currency: WalkCurrency | null;
      readonly invoiceDate: string;
      readonly lines: readonly SentLine[];
    }
  | { readonly kind: 'draftLines'; readonly ref: string; readonly lines: readonly SentLine[] }
  | { readonly kind: 'redateDraft'; readonly ref: string; readonly invoiceDate: string }
  | { readonly kind: 'moveDraft'; readonly ref: string; readonly to: DraftStatus }
  | { readonly kind: 'deleteDraft'; readonly ref: string }
  | {
      readonly kind: 'import';
      readonly ref: string;
      readonly clientId: string;
      readonly currency: WalkCurrency | null;
      readonly invoiceDate: string;
      readonly status: 'PENDING' | 'POSTED';
      readonly lines: readonly SentLine[];
    }
  | ({ readonly kind: 'moveInvoice'; readonly ref: string; readonly to: InvoiceMove } & Dated)
  | {
      readonly kind: 'pay';
      readonly ref: string;
      /** Null if the payer is unknown. */
      readonly clientId: string | null;
      readonly currency: WalkCurrency;
      readonly method: 'CHECK' | 'CREDIT' | 'ACH';
      readonly paymentDate: string;
      readonly amount: string;
      readonly allocations: readonly SentAllocation[];
    }
  | ({
      /** Sets the client of a payment whose payer was unknown. */
      readonly kind: 'identify';
      readonly ref: string;
      readonly clientId: string;
    } & Dated)
  | ({ readonly kind: 'movePayment'; readonly ref: string; readonly to: PaymentMove } & Dated)
  | {
      /** A fact that a bank reports, through the processor. */
      readonly kind: 'reportPayment';
      readonly ref: string;
      readonly to: 'COMPLETED' | 'FAILED' | 'RETURNED' | 'REFUNDED';
    }
  | ({ readonly kind: 'refund'; readonly ref: string; readonly refundedAmount: string } & Dated)
  | ({ readonly kind: 'allocate'; readonly ref: string; readonly allocations: readonly SentAllocation[] } & Dated)
  | { readonly kind: 'moveJob'; readonly ref: string; readonly to: string }
  | { readonly kind: 'moveClient'; readonly ref: string; readonly to: string }
  | {
      /** Changes the currency of a client. */
      readonly kind: 'currency';
      readonly ref: string;
      readonly currency: WalkCurrency;
    }
  | {
      /** Closes the books through a day, or opens them again. */
      readonly kind: 'close';
      readonly ref: string;
      readonly day: string | null;
    };

/** A change of which the caller can say for which day it counts. */
interface Dated {
  readonly changeDate: string | null;
}

export type EntryStatus = 'DRAFT' | 'SUBMITTED' | 'APPROVED' | 'REJECTED';
/** PAID settles a small rest. */
export type InvoiceMove = 'POSTED' | 'PARTIALLY_PAID' | 'PAID' | 'VOIDED' | 'WRITTEN_OFF';
/** RETURNED by a caller; the processor has its own kind. */
export type PaymentMove = 'COMPLETED' | 'FAILED' | 'VOIDED' | 'RETURNED';
export type OwnWip = 'FIXED_FEE' | 'PROGRESS' | 'ADJUSTMENT';
export type DraftStatus = 'DRAFT' | 'IN_REVIEW' | 'APPROVED' | 'REJECTED';

/** The reason of every write-off, rejection and void in tests; constant, so that repeating one changes nothing. */
export const reason = 'Because';
