import { sql } from 'kysely';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import { type Decimal, formatDecimal, parseDecimal } from '../../../platform/decimal.ts';
import type { PayMethod, PaymentOrder } from '../../../platform/payments/processor.ts';
import { newId } from '../../../platform/store/new-id.ts';
import type { Session, Transaction } from '../../../platform/store/store.ts';
import { quickPaymentLink, reserveLink } from '../link/payment-link.ts';
import { type AttemptStatus, attemptMachine } from './attempt-machine.ts';

/** One attempt to pay a link, as it is stored. */
export interface PaymentAttempt {
  readonly id: string;
  readonly linkId: string;
  readonly status: AttemptStatus;
  readonly processor: string;
  readonly reference: string | null;
  readonly method: PayMethod;
  readonly amount: string;
  readonly currency: string;
  readonly payerName: string;
  readonly payerEmail: string | null;
  readonly description: string;
  readonly actionUrl: string | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly paymentId: string | null;
  /** Whether the payment came when its link could no longer be paid, so that it is refunded. */
  readonly toRefund: boolean;
  readonly createdAt: string;
  readonly checks: number;
  /** In hex. */
  readonly sessionHash: string;
  readonly pageUrl: string;
  /** How far the clock of the tenant is ahead of the real one, in milliseconds. */
  readonly clockOffset: number;
}

/** The payment details that a payer submitted. */
export interface AttemptRequest {
  readonly method: PayMethod;
  /** If the link lets the payer choose it. */
  readonly amount: Decimal | undefined;
  readonly payerName: string;
  readonly payerEmail: string | null;
  readonly description: string;
  readonly processor: string;
  /** In hex. */
  readonly sessionHash: string;
}

/** One transaction of changes for the tenant of the link. */
export type Write = <T>(work: (unit: UnitOfWork) => Promise<T>) => Promise<T>;

/** Time that the processor has to accept an order before other requests check its state, in seconds. */
export const submitSeconds = 30;

/** Reserves a link for one payer. @returns undefined if it can no longer be paid, or another payer is paying it. */
export function beginAttempt(
  write: Write,
  linkId: string,
  request: AttemptRequest,
): Promise<PaymentAttempt | undefined> {
  return write(async (unit) => {
    const link = await unit.plan((plan) => {
      const row = plan.getForUpdate(quickPaymentLink, linkId);
      if (row?.status !== 'ACTIVE' || row.expiresAt <= plan.now) return undefined;
      reserveLink(plan, linkId);
      return row;
    });
    if (link === undefined) return undefined;
    const amount = link.amount ?? request.amount;
    if (amount === undefined) throw new Error('An attempt to pay a link without an amount requires one.');
    const id = newId();
    await unit.transaction.all(sql`
      insert into payment_attempt (tenant_id, id, quick_payment_link_id, status, processor, method, amount, currency,
        payer_name, payer_email, description, session_hash, created_at, next_check_at)
      values (${unit.tenantId}, ${id}, ${linkId}, ${attemptMachine.initial}, ${request.processor}, ${request.method},
        ${formatDecimal(amount, 2)}, ${link.currency}, ${request.payerName}, ${request.payerEmail}, ${request.description},
        decode(${request.sessionHash}, 'hex'), tenant_now(), tenant_now() + ${submitSeconds} * interval '1 second')`);
    return findAttempt(unit.transaction, unit.tenantId, id);
  });
}

const columns = sql`select a.id, a.quick_payment_link_id as "linkId", a.status, a.processor, a.reference, a.method, a.amount,
  a.currency, a.payer_name as "payerName", a.payer_email as "payerEmail", a.description, a.action_url as "actionUrl",
  a.failure_code as "failureCode", a.failure_message as "failureMessage", a.payment_id as "paymentId",
  a.to_refund as "toRefund", a.created_at as "createdAt", a.checks, encode(a.session_hash, 'hex') as "sessionHash", link.url as "pageUrl",
  coalesce(nullif(current_setting('app.clock_offset', true), '')::bigint, 0) as "clockOffset"
  from payment_attempt a
  join quick_payment_link link on link.tenant_id = a.tenant_id and link.id = a.quick_payment_link_id`;

export function findAttempt(session: Session, tenantId: number, id: string): Promise<PaymentAttempt | undefined> {
  return session.first<PaymentAttempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.id = ${id}`);
}

/** The same, locked until the transaction ends. */
export function lockAttempt(
  transaction: Transaction,
  tenantId: number,
  id: string,
): Promise<PaymentAttempt | undefined> {
  return transaction.first<PaymentAttempt>(
    sql`${columns} where a.tenant_id = ${tenantId} and a.id = ${id} for update of a`,
  );
}

/** Returns the attempt that determines the state of a link: the one that uses it, one that is refunded, or the last one. */
export function latestAttempt(session: Session, tenantId: number, linkId: string): Promise<PaymentAttempt | undefined> {
  return session.first<PaymentAttempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.quick_payment_link_id = ${linkId}
    order by a.status = 'DECLINED', a.to_refund, a.id desc limit 1`);
}

/** Returns attempts whose state must be checked now. */
export function dueAttempts(
  session: Session,
  tenantId: number,
  now: Temporal.Instant,
  limit: number,
): Promise<PaymentAttempt[]> {
  return session.all<PaymentAttempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.next_check_at <= ${now.toString()}::timestamptz
    order by a.next_check_at limit ${limit}`);
}

/**
 * Claims the next check of an open attempt, so that concurrent page views do not all query the processor. An attempt that
 * has not reached the processor yet is not checked.
 */
export async function claimCheck(transaction: Transaction, tenantId: number, id: string): Promise<boolean> {
  const claimed = await transaction.first(sql`
    update payment_attempt set checked_at = tenant_clock_timestamp()
    where tenant_id = ${tenantId} and id = ${id} and status = 'OPEN'
      and (action_url is not null or next_check_at <= tenant_clock_timestamp())
      and (checked_at is null or checked_at < tenant_clock_timestamp() - interval '2 seconds')
    returning id`);
  return claimed !== undefined;
}

/** Number of days in which a bank can return a debit. */
const returnDays = 60;

/**
 * Seconds until the state of an attempt is checked again: soon after a change, then at growing intervals. Null if its
 * state is final.
 */
export function secondsToNextCheck(
  { status, method, toRefund, createdAt }: Pick<PaymentAttempt, 'status' | 'method' | 'toRefund' | 'createdAt'>,
  checks: number,
  now: string,
): number | null {
  const longest = status === 'OPEN' ? 300 : 86_400;
  const seconds = Math.min(longest, 15 * 2 ** Math.min(checks, 20));
  if (status === 'OPEN' || status === 'PENDING' || (status === 'COMPLETED' && toRefund)) return seconds;
  if (status !== 'COMPLETED' || method !== 'ACH') return null;
  const age = Temporal.Instant.from(now).since(Temporal.Instant.from(createdAt)).total('hours') / 24;
  return age < returnDays ? seconds : null;
}

/** Stores an attempt after a check. @param checks the number of checks since its last change */
export async function storeAttempt(unit: UnitOfWork, attempt: PaymentAttempt, checks: number): Promise<void> {
  const seconds = secondsToNextCheck(attempt, checks, unit.now);
  await unit.transaction.all(sql`
    update payment_attempt set status = ${attempt.status}, reference = ${attempt.reference},
      action_url = ${attempt.actionUrl}, failure_code = ${attempt.failureCode}, failure_message = ${attempt.failureMessage},
      payment_id = ${attempt.paymentId}::uuid, to_refund = ${attempt.toRefund}, checks = ${checks},
      next_check_at = tenant_clock_timestamp() + ${seconds}::integer * interval '1 second'
    where tenant_id = ${unit.tenantId} and id = ${attempt.id}`);
}

/** Creates the order for the processor. */
export function orderOf(tenant: string, attempt: PaymentAttempt): PaymentOrder {
  const {
    id,
    reference,
    method,
    amount,
    currency,
    payerName,
    payerEmail,
    description,
    pageUrl,
    createdAt,
    clockOffset,
  } = attempt;
  return {
    key: id,
    tenant,
    reference,
    method,
    amount: parseDecimal(amount),
    currency,
    payerName,
    payerEmail,
    description,
    pageUrl,
    createdAt,
    clockOffset,
  };
}
