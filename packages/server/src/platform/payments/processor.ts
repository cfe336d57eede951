import type { Decimal } from '../decimal.ts';

export type PayMethod = 'CARD' | 'ACH';

/** The order of an attempt to pay, as sent to a processor. It does not change during the attempt. */
export interface PaymentOrder {
  /** The ID of the attempt, which is the idempotency key. */
  readonly key: string;
  readonly tenant: string;
  /** The processor's own ID, once it is known. */
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
  /** How far the clock of the tenant is ahead of the real one, in milliseconds. Only a processor that moves no money follows it. */
  readonly clockOffset: number;
}

/** The details that the payer entered on the page. They are passed to the processor, and neither stored nor logged. */
export type PayDetails =
  | { readonly method: 'CARD'; readonly number: string; readonly expiry: string; readonly securityCode: string }
  | { readonly method: 'ACH'; readonly routingNumber: string; readonly accountNumber: string };

interface PaymentMethodDetails {
  readonly reference: string;
  readonly cardBrand: string | null;
  readonly last4: string | null;
  /** The fee of the processor. */
  readonly fee: Decimal;
}

interface Reason {
  readonly code: string;
  readonly message: string;
}

/**
 * The state of a payment at the processor.
 *
 * - `action`: the payer must continue at `url`; nothing is captured.
 * - `authorized`: the bank has reserved the amount on the card, and nothing is captured.
 * - `declined`: nothing is or will be captured.
 * - `accepted`: the bank has received the order, and the result takes days.
 * - `captured`: the money is certain, also while a refund is on its way.
 * - `failed`: the bank did not pay an accepted order.
 * - `returned`: the bank returned a captured payment.
 * - `refunded`: the whole amount of a captured payment was refunded.
 */
export type PaymentProgress =
  | { readonly state: 'action'; readonly reference: string; readonly url: string }
  | { readonly state: 'authorized'; readonly reference: string }
  | ({ readonly state: 'declined' } & Reason)
  | ({ readonly state: 'accepted' | 'captured' | 'refunded' } & PaymentMethodDetails)
  | ({ readonly state: 'failed' | 'returned' } & PaymentMethodDetails & Reason);

/** A payment service provider. Every function can fail or time out, whether or not it has taken effect. */
export interface PaymentProcessor {
  /** Name of the processor on payments. */
  readonly name: string;
  /** Whether it is a test processor that moves no money. */
  readonly isTest: boolean;
  /** Whether the payment page collects the card or account; otherwise the payer enters it at the processor. */
  readonly collectsDetails: boolean;
  methodsFor(currency: string): readonly PayMethod[];
  /** Sends an order, once for each key. A card is at most authorized: `capture` charges it. */
  submit(order: PaymentOrder, details: PayDetails | undefined): Promise<PaymentProgress>;
  /** Returns the state of an order; undefined if the processor has not received it. */
  find(order: PaymentOrder): Promise<PaymentProgress | undefined>;
  /** Charges an authorized card. Returns the state after that, like the next two; all can be repeated. */
  capture(order: PaymentOrder): Promise<PaymentProgress>;
  /** Ensures that nothing is captured from now on, also for a `submit` that is still in transit. */
  cancel(order: PaymentOrder): Promise<PaymentProgress>;
  /** Refunds the whole amount of a captured payment, once. */
  refund(order: PaymentOrder): Promise<PaymentProgress>;
  /**
   * Returns the attempt that a notification concerns; undefined if it concerns none.
   *
   * @throws UnverifiedNotification if it does not come from the processor.
   * @throws MalformedNotification if it does, and cannot be read.
   */
  readNotification?(body: Buffer, signature: string | undefined): Promise<NotifiedAttempt | undefined>;
  /** Answers a challenge, if this service shows the challenge itself. */
  answerChallenge?(order: Pick<PaymentOrder, 'key' | 'clockOffset'>, isApproved: boolean): Promise<void>;
}

/** The attempt that a notification concerns. */
export interface NotifiedAttempt {
  readonly tenant: string;
  /** The ID of the attempt. */
  readonly key: string;
}

export class UnverifiedNotification extends Error {
  override readonly name = 'UnverifiedNotification';
}

export class MalformedNotification extends Error {
  override readonly name = 'MalformedNotification';
}
