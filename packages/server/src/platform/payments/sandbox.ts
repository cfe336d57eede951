import { type RawBuilder, sql } from 'kysely';
import { databaseClock } from '../database-clock.ts';
import { type Decimal, formatDecimal, parseDecimal, round } from '../decimal.ts';
import type { Store, Transaction } from '../store/store.ts';
import { decimalsOf } from './currency-decimals.ts';
import type { PayDetails, PaymentOrder, PaymentProcessor, PaymentProgress } from './processor.ts';

/** The course of a payment in the sandbox. */
type Scenario = 'approved' | 'challenged' | 'settled' | 'unfunded' | 'returned' | 'cancelled' | keyof typeof declines;

/** Why a card is declined. */
const declines = {
  card_declined: 'The card was declined. Use another card, or ask your bank.',
  insufficient_funds: 'The card has insufficient funds. Use another card.',
  test_mode: 'This is a test mode, which accepts only the test numbers that are listed on the page.',
} as const;

export interface TestNumber {
  readonly number: string;
  readonly scenario: Scenario;
  readonly brand?: string;
  readonly meaning: string;
}

export const testCards: readonly TestNumber[] = [
  { number: '4242424242424242', scenario: 'approved', brand: 'Visa', meaning: 'Succeeds' },
  { number: '5555555555554444', scenario: 'approved', brand: 'Mastercard', meaning: 'Succeeds' },
  { number: '4000000000003220', scenario: 'challenged', brand: 'Visa', meaning: 'Asks for a confirmation first' },
  { number: '4000000000000002', scenario: 'card_declined', brand: 'Visa', meaning: 'Declined' },
  {
    number: '4000000000009995',
    scenario: 'insufficient_funds',
    brand: 'Visa',
    meaning: 'Declined: insufficient funds',
  },
];

export const testRoutingNumber = '110000000';

export const testAccounts: readonly TestNumber[] = [
  { number: '000123456789', scenario: 'settled', meaning: 'Pending, then completed' },
  { number: '000222222227', scenario: 'unfunded', meaning: 'Pending, then failed: insufficient funds (R01)' },
  { number: '000333333335', scenario: 'returned', meaning: 'Pending, completed, then returned (R10)' },
];

/**
 * Delay until a submitted bank payment settles, and from when that was first read until it is returned, in seconds. So
 * everybody sees it completed first.
 */
const settlesAfter = 10;
const returnedAfter = 10;
/** How long a challenge can be answered, in seconds. */
const challengeLasts = 900;
/** How long an authorization can be captured, in seconds. */
const authorizationLasts = 7 * 86_400;

/** SQL that selects cards that the payer's bank has authorized. */
const authorized = sql`(scenario = 'approved' or scenario = 'challenged' and challenge_approved)`;

interface StoredPayment {
  readonly key: string;
  readonly reference: string;
  readonly scenario: Scenario;
  readonly fee: string;
  readonly cardBrand: string | null;
  readonly last4: string | null;
  readonly submittedAt: string;
  readonly challengeApproved: boolean | null;
  readonly capturedAt: string | null;
  readonly refundedAt: string | null;
}

/** A processor that moves no money. It stores payments separately, like an external processor. */
export class SandboxProcessor implements PaymentProcessor {
  readonly name = 'sandbox';
  readonly isTest = true;
  readonly collectsDetails = true;
  readonly #store: Store;
  readonly #now: () => Temporal.Instant;

  constructor(store: Store, now: () => Temporal.Instant = () => databaseClock.instant()) {
    this.#store = store;
    this.#now = now;
  }

  methodsFor(currency: string) {
    return currency === 'USD' ? (['CARD', 'ACH'] as const) : (['CARD'] as const);
  }

  submit(order: PaymentOrder, details: PayDetails | undefined): Promise<PaymentProgress> {
    if (details === undefined) throw new Error('The sandbox requires the details of a card or an account.');
    const number = details.method === 'CARD' ? details.number : details.accountNumber;
    const known = (details.method === 'CARD' ? testCards : testAccounts).find((one) => one.number === number);
    const isKnown = details.method === 'CARD' || details.routingNumber === testRoutingNumber;
    return this.#keep(order, {
      scenario: known !== undefined && isKnown ? known.scenario : 'test_mode',
      cardBrand: known?.brand ?? null,
      last4: number.slice(-4),
    });
  }

  async find(order: PaymentOrder): Promise<PaymentProgress | undefined> {
    const now = this.#at(order);
    const stored = await this.#store.system(async (transaction) => {
      await transaction.all(sql`
        update sandbox_payment set captured_at = ${now.toString()}::timestamptz
        where key = ${order.key} and scenario = 'returned' and captured_at is null
          and submitted_at <= ${this.#ago(order, settlesAfter)}::timestamptz`);
      return read(transaction, order.key);
    });
    return stored === undefined ? undefined : this.#progressOf(stored, order);
  }

  async capture(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#change(
      order,
      sql`
      update sandbox_payment set captured_at = ${this.#ago(order, 0)}::timestamptz
      where key = ${order.key} and captured_at is null and ${authorized}
        and submitted_at > ${this.#ago(order, authorizationLasts)}::timestamptz`,
    );
  }

  async cancel(order: PaymentOrder): Promise<PaymentProgress> {
    await this.#store.owner.all(sql`
      update sandbox_payment set scenario = 'cancelled'
      where key = ${order.key} and captured_at is null
        and (${authorized} or scenario = 'challenged' and challenge_approved is null)`);
    return this.#keep(order, { scenario: 'cancelled', cardBrand: null, last4: null });
  }

  async refund(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#change(
      order,
      sql`
      update sandbox_payment set refunded_at = ${this.#ago(order, 0)}::timestamptz
      where key = ${order.key} and refunded_at is null
        and case scenario when 'settled' then submitted_at <= ${this.#ago(order, settlesAfter)}::timestamptz
          when 'returned' then captured_at > ${this.#ago(order, returnedAfter)}::timestamptz
          else captured_at is not null end`,
    );
  }

  async answerChallenge(order: Pick<PaymentOrder, 'key' | 'clockOffset'>, isApproved: boolean): Promise<void> {
    await this.#store.owner.all(sql`
      update sandbox_payment set challenge_approved = ${isApproved}
      where key = ${order.key} and scenario = 'challenged' and challenge_approved is null
        and submitted_at > ${this.#ago(order, challengeLasts)}::timestamptz`);
  }

  /** Changes a payment, and returns its state after that. */
  async #change(order: PaymentOrder, change: RawBuilder<unknown>): Promise<PaymentProgress> {
    const stored = await this.#store.system(async (transaction) => {
      await transaction.all(change);
      return read(transaction, order.key);
    });
    if (stored === undefined) throw new Error('The sandbox has no such payment.');
    return this.#progressOf(stored, order);
  }

  /** Stores a payment, unless one with the key exists. */
  async #keep(
    order: PaymentOrder,
    { scenario, cardBrand, last4 }: Pick<StoredPayment, 'scenario' | 'cardBrand' | 'last4'>,
  ): Promise<PaymentProgress> {
    const stored = await this.#store.system(async (transaction) => {
      await transaction.all(sql`
        insert into sandbox_payment (key, reference, scenario, amount, fee, card_brand, last4, submitted_at)
        values (${order.key}, ${`sandbox_${order.key.replaceAll('-', '')}`}, ${scenario}, ${formatDecimal(order.amount, 2)},
          ${formatDecimal(feeOf(order), 2)}, ${cardBrand}, ${last4}, ${this.#at(order).toString()}::timestamptz)
        on conflict (key) do nothing`);
      return read(transaction, order.key);
    });
    if (stored === undefined) throw new Error('The sandbox has lost a payment.');
    return this.#progressOf(stored, order);
  }

  /** The time by the clock of the tenant. */
  #at({ clockOffset }: Pick<PaymentOrder, 'clockOffset'>): Temporal.Instant {
    return this.#now().add({ milliseconds: clockOffset });
  }

  #ago(order: Pick<PaymentOrder, 'clockOffset'>, seconds: number): string {
    return this.#at(order).subtract({ seconds }).toString();
  }

  #secondsSince(order: PaymentOrder, instant: string): number {
    return this.#at(order).since(Temporal.Instant.from(instant)).total('seconds');
  }

  #progressOf(stored: StoredPayment, order: PaymentOrder): PaymentProgress {
    const { pageUrl } = order;
    const { scenario, reference, cardBrand, last4, challengeApproved } = stored;
    const details = { reference, cardBrand, last4, fee: parseDecimal(stored.fee) };
    const age = this.#secondsSince(order, stored.submittedAt);
    if (stored.refundedAt !== null) return { state: 'refunded', ...details };
    const card = (): PaymentProgress => {
      if (stored.capturedAt !== null) return { state: 'captured', ...details };
      if (age < authorizationLasts) return { state: 'authorized', reference };
      return declined('authorization_expired', 'The payment was not completed in time.');
    };
    switch (scenario) {
      case 'approved':
        return card();
      case 'challenged':
        if (challengeApproved === true) return card();
        if (challengeApproved === false)
          return declined('authentication_failed', 'The payment was not confirmed. Try again, or use another card.');
        if (age >= challengeLasts)
          return declined('authentication_expired', 'The payment was not confirmed in time. Try again.');
        return { state: 'action', reference, url: `${new URL(pageUrl).pathname}/challenge` };
      case 'settled':
        return { state: age < settlesAfter ? 'accepted' : 'captured', ...details };
      case 'unfunded':
        if (age < settlesAfter) return { state: 'accepted', ...details };
        return { state: 'failed', ...details, code: 'R01', message: 'The account has insufficient funds.' };
      case 'returned':
        if (stored.capturedAt === null) return { state: 'accepted', ...details };
        if (this.#secondsSince(order, stored.capturedAt) < returnedAfter) return { state: 'captured', ...details };
        return {
          state: 'returned',
          ...details,
          code: 'R10',
          message: 'The account holder did not authorize the debit.',
        };
      case 'cancelled':
        return declined('cancelled', 'The payment was cancelled.');
      default:
        return declined(scenario, declines[scenario]);
    }
  }
}

function declined(code: string, message: string): PaymentProgress {
  return { state: 'declined', code, message };
}

/** 2.9 % and 0.30 for a card, 0.8 % and at most 5.00 for an account. */
function feeOf({ method, amount, currency }: PaymentOrder): Decimal {
  const most = method === 'CARD' ? amount : parseDecimal('5.00');
  const fee =
    method === 'CARD'
      ? amount.times(parseDecimal('0.029')).plus(parseDecimal('0.30'))
      : amount.times(parseDecimal('0.008'));
  return round(fee.gt(most) ? most : fee, decimalsOf(currency));
}

function read(transaction: Transaction, key: string): Promise<StoredPayment | undefined> {
  return transaction.first<StoredPayment>(sql`
    select key, reference, scenario, fee, card_brand as "cardBrand", last4, submitted_at as "submittedAt",
      challenge_approved as "challengeApproved", captured_at as "capturedAt",
      refunded_at as "refundedAt"
    from sandbox_payment where key = ${key}`);
}
