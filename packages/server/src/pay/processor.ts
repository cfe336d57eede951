import type { Decimal } from '../entity/decimal.ts';

export type PayMethod = 'CARD' | 'ACH';

/** What a processor is told of an attempt to pay. It stays the same for as long as the attempt exists. */
export interface PaymentOrder {
  /** The ID of the attempt: whatever is sent twice with it is done once. */
  readonly key: string;
  readonly tenant: string;
  /** The processor's own key, once it is known. */
  readonly reference: string | null;
  readonly method: PayMethod;
  readonly amount: Decimal;
  readonly currency: string;
  readonly payerName: string;
  readonly payerEmail: string | null;
  readonly description: string;
  /** The payment page of the link. */
  readonly pageUrl: string;
  readonly createdAt: string;
}

/** What the payer entered on the page. It is handed to the processor, and neither stored nor logged. */
export type PayDetails =
  | { readonly method: 'CARD'; readonly number: string; readonly expiry: string; readonly securityCode: string }
  | { readonly method: 'ACH'; readonly routingNumber: string; readonly accountNumber: string };

interface Made {
  readonly reference: string;
  readonly cardBrand: string | null;
  readonly last4: string | null;
  /** What the processor keeps. */
  readonly fee: Decimal;
}

interface Reason {
  readonly code: string;
  readonly message: string;
}

/**
 * How far a payment has come at the processor.
 *
 * - `action`: the payer must go on at `url`; nothing is captured.
 * - `declined`: nothing is captured, and nothing will be.
 * - `accepted`: the bank was told to pay, and the result comes in days.
 * - `captured`: the money is certain.
 * - `failed`: the bank did not pay what was accepted.
 * - `returned`: what was captured was taken back.
 */
export type Progress =
  | { readonly state: 'action'; readonly reference: string; readonly url: string }
  | ({ readonly state: 'declined' } & Reason)
  | ({ readonly state: 'accepted' | 'captured' } & Made)
  | ({ readonly state: 'failed' | 'returned' } & Made & Reason);

/** A company that moves money. Every function can fail or time out; that says nothing of what it did. */
export interface PaymentProcessor {
  /** As it appears on payments. */
  readonly name: string;
  /** Whether no money moves. */
  readonly isTest: boolean;
  /** Whether the payment page asks for the card or the account; if not, the payer enters it at the processor. */
  readonly takesDetails: boolean;
  methodsFor(currency: string): readonly PayMethod[];
  submit(order: PaymentOrder, details: PayDetails | undefined): Promise<Progress>;
  /** How far it has come; undefined where the processor does not know the order. */
  find(order: PaymentOrder): Promise<Progress | undefined>;
  /** Makes sure that nothing is captured from now on, also for a `submit` that is still on its way. Returns what has happened by then. */
  cancel(order: PaymentOrder): Promise<Progress>;
  /**
   * The attempt that a notification is about; undefined where it is about none.
   *
   * @throws UnverifiedNotification where it is not from the processor.
   */
  readNotification?(
    body: Buffer,
    signature: string | undefined,
  ): Promise<{ readonly tenant: string; readonly key: string } | undefined>;
  /** The answer to a challenge, where this service shows the challenge itself. */
  answerChallenge?(key: string, isApproved: boolean): Promise<void>;
}

export class UnverifiedNotification extends Error {
  override readonly name = 'UnverifiedNotification';
}
