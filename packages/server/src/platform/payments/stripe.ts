import type { Logger } from 'pino';
import Stripe from 'stripe';
import { databaseClock } from '../database-clock.ts';
import { type Decimal, parseDecimal, zero } from '../decimal.ts';
import { decimalsOf } from './currency-decimals.ts';
import {
  MalformedNotification,
  type NotifiedAttempt,
  type PayMethod,
  type PaymentOrder,
  type PaymentProcessor,
  type PaymentProgress,
  UnverifiedNotification,
} from './processor.ts';
import { readMetadata, readStripeEvent } from './stripe-event.ts';

/** How long a payer can take at Stripe, in seconds. Stripe requires at least 30 minutes. */
const sessionLasts = 40 * 60;

/** Timeout of a request to Stripe, in milliseconds, and the number of retries where they are safe. */
const timeout = 6_000;
const retries = 2;

const methodTypes = { CARD: 'card', ACH: 'us_bank_account' } as const satisfies Record<PayMethod, string>;

/**
 * Stripe with Checkout: payers enter their card or account on Stripe's page, so that the details never reach this
 * service.
 * https://docs.stripe.com/payments/checkout, https://docs.stripe.com/payments/ach-direct-debit
 */
export class StripeProcessor implements PaymentProcessor {
  readonly name = 'stripe';
  readonly isTest: boolean;
  readonly collectsDetails = false;
  readonly #stripe: Stripe;
  readonly #webhookSecret: string;
  readonly #log: Logger;

  /** @param address address of Stripe, for tests. */
  constructor(
    { secretKey, webhookSecret }: { readonly secretKey: string; readonly webhookSecret: string },
    log: Logger,
    address: { readonly host?: string; readonly port?: number; readonly protocol?: 'http' | 'https' } = {},
  ) {
    this.#stripe = new Stripe(secretKey, { timeout, maxNetworkRetries: retries, telemetry: false, ...address });
    this.#webhookSecret = webhookSecret;
    this.#log = log;
    this.isTest = secretKey.includes('_test_');
  }

  methodsFor(currency: string) {
    return currency === 'USD' ? (['CARD', 'ACH'] as const) : (['CARD'] as const);
  }

  async submit(order: PaymentOrder): Promise<PaymentProgress> {
    const { key, tenant, amount, currency, description, method, pageUrl, payerEmail, createdAt } = order;
    const metadata = { tenant, attempt: key };
    const units = minorUnits(amount, currency);
    if (units === undefined)
      return { state: 'declined', code: 'invalid_amount', message: `${currency} has no amounts as small as that.` };
    try {
      const session = await this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          client_reference_id: key,
          metadata,
          // A card is captured separately, after the link is checked again. A bank account cannot be.
          payment_intent_data: { description, metadata, ...(method === 'CARD' ? { capture_method: 'manual' } : {}) },
          allowed_payment_method_types: [methodTypes[method]],
          // Without it, a payer could wait days for two micro-deposits.
          ...(method === 'ACH'
            ? { payment_method_options: { us_bank_account: { verification_method: 'instant' } } }
            : {}),
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: currency.toLowerCase(),
                unit_amount: units,
                product_data: { name: description },
              },
            },
          ],
          ...(payerEmail === null ? {} : { customer_email: payerEmail }),
          success_url: pageUrl,
          cancel_url: pageUrl,
          // Based on stored values, so that the same order results in the same request.
          expires_at: Math.floor(Date.parse(createdAt) / 1000) + sessionLasts,
        },
        { idempotencyKey: key },
      );
      return progressOfSession(session);
    } catch (error) {
      if (!(error instanceof Stripe.errors.StripeError) || !isRejection(error)) throw error;
      this.#log.error({ attempt: key, code: error.code, type: error.type }, 'Stripe rejected a payment.');
      return {
        state: 'declined',
        code: error.code ?? 'rejected',
        message:
          error.code === 'amount_too_small'
            ? 'The amount is below what can be paid online.'
            : 'Online payments are not possible at the moment.',
      };
    }
  }

  async find({ reference }: PaymentOrder): Promise<PaymentProgress | undefined> {
    if (reference === null) return undefined;
    return this.#progressAt(reference);
  }

  async capture(order: PaymentOrder): Promise<PaymentProgress> {
    const reference = referenceOf(order);
    const found = await this.#retrieve(reference);
    if (isAuthorized(found)) {
      try {
        await this.#stripe.paymentIntents.capture(found.id);
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeError) || !isRejection(error)) throw error;
        this.#log.error({ attempt: order.key, code: error.code, type: error.type }, 'Stripe rejected a capture.');
        // It was captured or cancelled just now; otherwise it never will be.
        return this.cancel(order);
      }
    }
    return this.#progressAt(reference);
  }

  /**
   * Without a known session, its page was never shown: whether Stripe has one or not, it cannot be paid, and expires
   * automatically. Stripe cancels the payment of a session only while it is authorized; before that, the session expires.
   */
  async cancel({ reference }: PaymentOrder): Promise<PaymentProgress> {
    if (reference === null) return cancelled;
    const found = await this.#retrieve(reference);
    try {
      if (isAuthorized(found)) await this.#stripe.paymentIntents.cancel(found.id);
      else if (found.object === 'checkout.session' && found.status === 'open')
        await this.#stripe.checkout.sessions.expire(found.id);
      else return await this.#progressAt(reference);
    } catch (error) {
      // It was paid, captured or cancelled, or has expired just now.
      if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
      return this.#progressAt(reference);
    }
    return cancelled;
  }

  async refund(order: PaymentOrder): Promise<PaymentProgress> {
    const { key, tenant } = order;
    const reference = referenceOf(order);
    const found = await this.#retrieve(reference);
    if (found.object === 'payment_intent' && found.status === 'succeeded' && !isRefunded(found)) {
      try {
        await this.#stripe.refunds.create(
          { payment_intent: found.id, metadata: { tenant, attempt: key } },
          { idempotencyKey: `${key}-refund` },
        );
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeError) || !isRejection(error)) throw error;
        this.#log.error({ attempt: key, code: error.code, type: error.type }, 'Stripe rejected a refund.');
      }
    }
    return this.#progressAt(reference);
  }

  async readNotification(body: Buffer, signature: string | undefined): Promise<NotifiedAttempt | undefined> {
    const subject = readStripeEvent(this.#verified(body, signature));
    if (subject === undefined) return undefined;
    if ('attempt' in subject) return subject.attempt;
    try {
      return readMetadata((await this.#intent(subject.intent)).metadata);
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404) return undefined;
      throw error;
    }
  }

  /** Returns the event of a notification, whose signature says nothing about its shape. */
  #verified(body: Buffer, signature: string | undefined): unknown {
    try {
      return this.#stripe.webhooks.constructEvent(
        body,
        signature ?? '',
        this.#webhookSecret,
        undefined,
        undefined,
        databaseClock.now(),
      );
    } catch (error) {
      if (error instanceof Stripe.errors.StripeSignatureVerificationError)
        throw new UnverifiedNotification('The signature is missing or invalid.', { cause: error });
      throw new MalformedNotification('The body is not an event.', { cause: error });
    }
  }

  #intent(id: string): Promise<Stripe.PaymentIntent> {
    return this.#stripe.paymentIntents.retrieve(id, {
      expand: ['payment_method', 'latest_charge.balance_transaction', 'latest_charge.refunds'],
    });
  }

  /** Returns the payment of an order, or its session until the payer has completed that. */
  async #retrieve(reference: string): Promise<Stripe.PaymentIntent | Stripe.Checkout.Session> {
    if (reference.startsWith('pi_')) return this.#intent(reference);
    const session = await this.#stripe.checkout.sessions.retrieve(reference);
    if (session.status !== 'complete') return session;
    const id = idOf(session.payment_intent);
    if (id === undefined) throw new Error(`The session ${reference} has no payment.`);
    return this.#intent(id);
  }

  async #progressAt(reference: string): Promise<PaymentProgress> {
    const found = await this.#retrieve(reference);
    return found.object === 'payment_intent' ? this.#progressOfIntent(found) : progressOfSession(found);
  }

  async #progressOfIntent(intent: Stripe.PaymentIntent): Promise<PaymentProgress> {
    if (isAuthorized(intent)) return { state: 'authorized', reference: intent.id };
    // An authorization that was cancelled, or has expired. Nothing was captured.
    if (intent.status === 'canceled' && intent.capture_method === 'manual') return cancelled;
    const details = detailsOf(intent);
    if (intent.status === 'canceled' || intent.status === 'requires_payment_method') {
      const { code, message } = intent.last_payment_error ?? {};
      return {
        state: 'failed',
        ...details,
        code: code ?? 'payment_failed',
        message: message ?? 'The bank rejected the payment.',
      };
    }
    if (intent.status !== 'succeeded') return { state: 'accepted', ...details };
    const charge = expanded(intent.latest_charge);
    if (isRefunded(intent))
      // A refund can take days, and can fail.
      return { state: charge?.refunds?.data.some(isUnderway) === true ? 'captured' : 'refunded', ...details };
    if (charge?.disputed === true) {
      const { data } = await this.#stripe.disputes.list({ payment_intent: intent.id, limit: 10 });
      const lost = data.find(({ status }) => status === 'lost');
      if (lost !== undefined)
        return {
          state: 'returned',
          ...details,
          code: lost.reason,
          message: 'The payer or the bank returned the payment.',
        };
    }
    return { state: 'captured', ...details };
  }
}

const cancelled: PaymentProgress = {
  state: 'declined',
  code: 'cancelled',
  message: 'The payment was cancelled.',
};

function isAuthorized(found: Stripe.PaymentIntent | Stripe.Checkout.Session): boolean {
  return found.object === 'payment_intent' && found.status === 'requires_capture';
}

/** Whether refunds of the whole amount have been created. Stripe no longer counts those that have failed. */
function isRefunded(intent: Stripe.PaymentIntent): boolean {
  return expanded(intent.latest_charge)?.refunded === true;
}

function isUnderway({ status }: Stripe.Refund): boolean {
  return status === 'pending' || status === 'requires_action';
}

function referenceOf({ key, reference }: PaymentOrder): string {
  if (reference === null) throw new Error(`Stripe has no payment of the attempt ${key}.`);
  return reference;
}

/** Whether a response means that nothing was created. Others, such as 409, 429 and 5xx, leave it open. */
function isRejection(error: InstanceType<typeof Stripe.errors.StripeError>): boolean {
  return (
    [400, 401, 402, 403, 404].includes(error.statusCode ?? 0) &&
    !(error instanceof Stripe.errors.StripeIdempotencyError)
  );
}

function progressOfSession({ id, status, url }: Stripe.Checkout.Session): PaymentProgress {
  if (status === 'open' && url !== null) return { state: 'action', reference: id, url };
  if (status === 'expired')
    return {
      state: 'declined',
      code: 'expired',
      message: 'The payment was not completed in time.',
    };
  throw new Error(`The session ${id} is ${status}.`);
}

function detailsOf(intent: Stripe.PaymentIntent) {
  const charge = expanded(intent.latest_charge);
  const details = charge?.payment_method_details ?? expanded(intent.payment_method);
  const brand = details?.card?.brand ?? null;
  const settled = expanded(charge?.balance_transaction);
  return {
    reference: intent.id,
    cardBrand: brand === null ? null : brand.charAt(0).toUpperCase() + brand.slice(1),
    last4: details?.card?.last4 ?? details?.us_bank_account?.last4 ?? null,
    // If the account has another currency, the fee is not in that of the payment.
    fee:
      settled === undefined || settled.currency !== intent.currency
        ? zero
        : majorUnits(settled.fee, intent.currency.toUpperCase()),
  };
}

function expanded<Thing extends object>(thing: string | Thing | null | undefined): Thing | undefined {
  return typeof thing === 'object' && thing !== null ? thing : undefined;
}

function idOf(thing: string | { readonly id: string } | null): string | undefined {
  return typeof thing === 'string' ? thing : thing?.id;
}

/** Undefined if the currency does not support the amount. */
function minorUnits(amount: Decimal, currency: string): number | undefined {
  const units = amount.times(parseDecimal(`1e${decimalsOf(currency)}`));
  return units.round(0).eq(units) ? Number(units.toFixed(0)) : undefined;
}

function majorUnits(units: number, currency: string): Decimal {
  return parseDecimal(`${units}e-${decimalsOf(currency)}`);
}
