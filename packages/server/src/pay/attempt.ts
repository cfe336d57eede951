import { sql } from 'kysely';
import { type Decimal, formatDecimal, parseDecimal } from '../entity/decimal.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import { quickPaymentLink } from '../resources/billing/payment-link.ts';
import { newId } from '../store/new-id.ts';
import type { Session, Transaction } from '../store/store.ts';
import type { PayMethod, PaymentOrder } from './processor.ts';

/**
 * - `OPEN`: the processor was told, or is about to be, and the link is PROCESSING.
 * - `DECLINED`: nothing was captured, and the link was released.
 * - Others: there is a payment, which has had this result.
 */
export type AttemptStatus = 'OPEN' | 'DECLINED' | 'PENDING' | 'COMPLETED' | 'FAILED' | 'RETURNED';

/** One attempt to pay a link, as it is stored. */
export interface Attempt {
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
  readonly createdAt: string;
  readonly checks: number;
  /** In hex. */
  readonly sessionHash: string;
  readonly pageUrl: string;
}

/** What a payer submitted. */
export interface AttemptRequest {
  readonly method: PayMethod;
  /** Where the link leaves it to the payer. */
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

/** How long the processor has to take an order before somebody else looks what became of it, in seconds. */
export const submitSeconds = 30;

/** Takes a link for one payer. @returns undefined where it can no longer be paid, or somebody else is paying it. */
export function beginAttempt(write: Write, linkId: string, request: AttemptRequest): Promise<Attempt | undefined> {
  return write(async (unit) => {
    const link = await unit.plan((plan) => {
      const row = plan.getForUpdate(quickPaymentLink, linkId);
      if (row?.status !== 'ACTIVE' || row.expiresAt <= plan.now) return undefined;
      plan.update(quickPaymentLink, linkId, {}, { system: { status: 'PROCESSING' }, event: 'paymentSubmitted' });
      return row;
    });
    if (link === undefined) return undefined;
    const amount = link.amount ?? request.amount;
    if (amount === undefined) throw new Error('An attempt to pay a link without an amount needs one.');
    const id = newId();
    await unit.transaction.all(sql`
      insert into payment_attempt (tenant_id, id, quick_payment_link_id, processor, method, amount, currency, payer_name,
        payer_email, description, session_hash, next_check_at)
      values (${unit.tenantId}, ${id}, ${linkId}, ${request.processor}, ${request.method}, ${formatDecimal(amount, 2)},
        ${link.currency}, ${request.payerName}, ${request.payerEmail}, ${request.description},
        decode(${request.sessionHash}, 'hex'), now() + ${submitSeconds} * interval '1 second')`);
    return findAttempt(unit.transaction, unit.tenantId, id);
  });
}

const columns = sql`select a.id, a.quick_payment_link_id as "linkId", a.status, a.processor, a.reference, a.method, a.amount,
  a.currency, a.payer_name as "payerName", a.payer_email as "payerEmail", a.description, a.action_url as "actionUrl",
  a.failure_code as "failureCode", a.failure_message as "failureMessage", a.payment_id as "paymentId",
  a.created_at as "createdAt", a.checks, encode(a.session_hash, 'hex') as "sessionHash", link.url as "pageUrl"
  from payment_attempt a
  join quick_payment_link link on link.tenant_id = a.tenant_id and link.id = a.quick_payment_link_id`;

export function findAttempt(session: Session, tenantId: number, id: string): Promise<Attempt | undefined> {
  return session.first<Attempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.id = ${id}`);
}

/** The same, locked until the transaction ends. */
export function lockAttempt(transaction: Transaction, tenantId: number, id: string): Promise<Attempt | undefined> {
  return transaction.first<Attempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.id = ${id} for update of a`);
}

/** The attempt that decides about a link: the one that was not declined, or the last one. */
export function latestAttempt(session: Session, tenantId: number, linkId: string): Promise<Attempt | undefined> {
  return session.first<Attempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.quick_payment_link_id = ${linkId}
    order by a.status = 'DECLINED', a.id desc limit 1`);
}

/** Attempts of which it is time to hear what became of them. */
export function dueAttempts(
  session: Session,
  tenantId: number,
  now: Temporal.Instant,
  limit: number,
): Promise<Attempt[]> {
  return session.all<Attempt>(sql`${columns} where a.tenant_id = ${tenantId} and a.next_check_at <= ${now.toString()}::timestamptz
    order by a.next_check_at limit ${limit}`);
}

/**
 * Takes the right to ask for an open attempt in between, so that the many who look at a page do not ask for it all at once.
 * One that has not reached the processor yet is left alone.
 */
export async function claimCheck(transaction: Transaction, tenantId: number, id: string): Promise<boolean> {
  const claimed = await transaction.first(sql`
    update payment_attempt set checked_at = clock_timestamp()
    where tenant_id = ${tenantId} and id = ${id} and status = 'OPEN'
      and (action_url is not null or next_check_at <= clock_timestamp())
      and (checked_at is null or checked_at < clock_timestamp() - interval '2 seconds')
    returning id`);
  return claimed !== undefined;
}

/** How long a bank can take a debit back, in days. */
const returnDays = 60;

/** When to ask for an attempt again, in seconds: soon after it changed, then ever more rarely. Null where nothing can change any more. */
export function secondsToNextCheck(
  { status, method, createdAt }: Pick<Attempt, 'status' | 'method' | 'createdAt'>,
  checks: number,
  now: string,
): number | null {
  const longest = status === 'OPEN' ? 300 : 86_400;
  const seconds = Math.min(longest, 15 * 2 ** Math.min(checks, 20));
  if (status === 'OPEN' || status === 'PENDING') return seconds;
  if (status !== 'COMPLETED' || method !== 'ACH') return null;
  const age = Temporal.Instant.from(now).since(Temporal.Instant.from(createdAt)).total('hours') / 24;
  return age < returnDays ? seconds : null;
}

/** What the processor is told of an attempt. */
export function orderOf(tenant: string, attempt: Attempt): PaymentOrder {
  const { id, reference, method, amount, currency, payerName, payerEmail, description, pageUrl, createdAt } = attempt;
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
  };
}
