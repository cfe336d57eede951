import { sql } from 'kysely';
import type { Logger } from 'pino';
import { parseDecimal } from '../entity/decimal.ts';
import type { Lookup } from '../entity/loaded-rows.ts';
import type { Plan } from '../entity/plan.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import { spread } from '../resources/billing/allocations.ts';
import { dueOf, invoice, isOpen, openDue } from '../resources/billing/invoice.ts';
import { payment, recordResult } from '../resources/billing/payment.ts';
import { invalidateUncovered, quickPaymentLink } from '../resources/billing/payment-link.ts';
import { type Attempt, type AttemptStatus, lockAttempt, secondsToNextCheck, type Write } from './attempt.ts';
import type { Progress } from './processor.ts';

/** Maximum number of invoices that one payment covers. */
const mostInvoices = 1_000;

/**
 * Updates an attempt, its link and its payment to the state at the processor. Can be called concurrently and repeatedly
 * with the same progress.
 */
export async function settle(write: Write, attemptId: string, progress: Progress, log: Logger): Promise<void> {
  // A payment that was returned before the first check was completed first, which is a separate step.
  while (await write((unit) => takeStep(unit, attemptId, progress, log)));
}

/** Applies one step of an attempt in its transaction. @returns whether another one may follow */
async function takeStep(unit: UnitOfWork, attemptId: string, progress: Progress, log: Logger): Promise<boolean> {
  const attempt = await lockAttempt(unit.transaction, unit.tenantId, attemptId);
  if (attempt === undefined) throw new Error(`Attempt ${attemptId} not found.`);
  const next = nextStatus(attempt.status, progress);
  if (next === undefined) {
    const action = attempt.status === 'OPEN' ? actionOf(progress) : {};
    await keep(unit, attempt, { ...attempt, ...action }, attempt.checks + 1);
    return false;
  }
  if (next === 'DECLINED') {
    await unit.plan((plan) => releaseLink(plan, attempt.linkId));
    await keep(unit, attempt, { ...attempt, status: next, actionUrl: null, ...reasonOf(progress) }, 0);
    return false;
  }
  if (attempt.status === 'DECLINED' && !(await unit.plan((plan) => retakeLink(plan, attempt.linkId)))) {
    log.error(
      { attempt: attempt.id, processor: attempt.processor, reference: referenceOf(progress) },
      'The processor has captured a payment of a link that can no longer be paid. Refund it there.',
    );
    await keep(unit, attempt, { ...attempt, failureCode: 'captured_after_release' }, 0);
    return false;
  }
  const paymentId =
    attempt.paymentId === null
      ? await recordPayment(unit, attempt, progress, next)
      : await recordNext(unit, attempt.paymentId, progress, next, log);
  const result = { status: next, paymentId, reference: referenceOf(progress), actionUrl: null };
  await keep(unit, attempt, { ...attempt, ...result, ...(next === 'PENDING' ? {} : reasonOf(progress)) }, 0);
  return true;
}

/** Returns the next status towards the state at the processor; undefined if there is none. */
function nextStatus(status: AttemptStatus, { state }: Progress): AttemptStatus | undefined {
  switch (status) {
    case 'OPEN':
    case 'DECLINED':
      if (state === 'declined') return status === 'OPEN' ? 'DECLINED' : undefined;
      if (state === 'accepted' || state === 'failed') return 'PENDING';
      return state === 'captured' || state === 'returned' ? 'COMPLETED' : undefined;
    case 'PENDING':
      if (state === 'failed') return 'FAILED';
      return state === 'captured' || state === 'returned' ? 'COMPLETED' : undefined;
    case 'COMPLETED':
      return state === 'returned' ? 'RETURNED' : undefined;
    default:
      return undefined;
  }
}

/** Releases the link for other payers, unless the amount due no longer covers its amount. */
function releaseLink(plan: Plan, linkId: string): void {
  const link = plan.getForUpdate(quickPaymentLink, linkId);
  if (link?.status !== 'PROCESSING') return;
  // Locked, so that no concurrent payment covers them while the link is released.
  plan.together(
    ...link.invoices.map(
      ({ invoiceId }) =>
        () =>
          plan.getForShare(invoice, invoiceId),
    ),
  );
  plan.update(quickPaymentLink, linkId, {}, { system: { status: 'ACTIVE' }, event: 'paymentDeclined' });
  invalidateUncovered(plan, linkId, 'paymentApplied', (id) => openDue(plan, id));
}

/**
 * Reserves a released link again for money that was captured anyway. @returns false if another payer uses it, or it has
 * ended
 */
function retakeLink(plan: Plan, linkId: string): boolean {
  if (plan.getForUpdate(quickPaymentLink, linkId)?.status !== 'ACTIVE') return false;
  plan.update(quickPaymentLink, linkId, {}, { system: { status: 'PROCESSING' }, event: 'paymentSubmitted' });
  return true;
}

/** Creates the payment with its allocations, and marks the link as used. */
async function recordPayment(
  unit: UnitOfWork,
  attempt: Attempt,
  progress: Progress,
  status: AttemptStatus,
): Promise<string> {
  if (!('fee' in progress) || (status !== 'PENDING' && status !== 'COMPLETED'))
    throw new Error(`A payment cannot start as ${status}.`);
  const amount = parseDecimal(attempt.amount);
  const oldestOpen = openInvoices(attempt.currency, attempt.amount);
  return unit.plan((plan) => {
    const link = plan.getForUpdate(quickPaymentLink, attempt.linkId);
    if (link === undefined) throw new Error(`Link ${attempt.linkId} not found.`);
    const chosen = link.invoices.map(({ invoiceId }) => invoiceId);
    const ids = chosen.length > 0 ? chosen : (plan.lookup(oldestOpen, link.clientId) ?? []);
    const open = [...plan.getManyForUpdate(invoice, new Set(ids)).values()].filter(
      (one) => isOpen(one) && one.currency === attempt.currency,
    );
    const payable = open.map((one) => ({
      id: one.id,
      dueDate: one.dueDate,
      payable: dueOf(one).minus(one.amountPending),
    }));
    const { row } = plan.create(
      payment,
      {},
      {
        system: {
          clientId: link.clientId,
          payerName: attempt.payerName,
          payerEmail: attempt.payerEmail,
          paymentDate: plan.today,
          amount,
          currency: attempt.currency,
          method: attempt.method,
          status,
          source: 'QUICK_PAYMENT_LINK',
          quickPaymentLinkId: attempt.linkId,
          processor: attempt.processor,
          processorRef: progress.reference,
          cardBrand: progress.cardBrand,
          last4: progress.last4,
          feeAmount: progress.fee.gt(amount) ? amount : progress.fee,
          allocations: spread(amount, payable),
        },
      },
    );
    const system = { status: 'USED', paymentId: row.id, usedAt: plan.now } as const;
    const event = status === 'PENDING' ? 'paymentAccepted' : 'paymentCompleted';
    plan.update(quickPaymentLink, attempt.linkId, {}, { system, event });
    return row.id;
  });
}

/** Records the next status of an existing payment. */
async function recordNext(
  unit: UnitOfWork,
  id: string,
  progress: Progress,
  status: AttemptStatus,
  log: Logger,
): Promise<string> {
  const isRecorded = await unit.plan((plan) => {
    const reason = { failureCode: reasonOf(progress).failureCode, failureMessage: reasonOf(progress).failureMessage };
    if (status === 'COMPLETED') {
      const fee = 'fee' in progress ? { feeAmount: progress.fee } : {};
      recordResult(plan, id, { status, ...fee }, 'paymentCompleted');
    } else if (status === 'FAILED') recordResult(plan, id, { status, ...reason }, 'paymentFailed');
    else if (status === 'RETURNED' && plan.getForUpdate(payment, id)?.status === 'COMPLETED')
      recordResult(plan, id, { status, ...reason }, 'paymentReturned');
    else return false;
    return true;
  });
  if (!isRecorded)
    log.error({ payment: id, result: status }, 'The processor reports a result that the payment can no longer have.');
  return id;
}

/** The open invoices of clients, the oldest first, limited to those that an amount can cover. */
function openInvoices(currency: string, amount: string): Lookup<readonly string[]> {
  return {
    name: 'oldest open invoices',
    async load(transaction, tenantId, clientIds) {
      const rows = await transaction.all<{ clientId: string; ids: readonly string[] }>(sql`
        select client_id as "clientId", (array_agg(id::text order by due_date, id))[1:${sql.lit(mostInvoices)}] as ids
        from (
          select client_id, id, due_date, amount_due - amount_pending as payable,
            sum(amount_due - amount_pending) over (partition by client_id order by due_date, id) as through
          from invoice
          where tenant_id = ${tenantId} and client_id = any(${clientIds}) and status in ('POSTED', 'PARTIALLY_PAID')
            and currency = ${currency}) open
        where payable > 0 and through - payable < ${amount}::numeric
        group by client_id`);
      return new Map(rows.map(({ clientId, ids }) => [clientId, ids]));
    },
  };
}

function actionOf(progress: Progress): Partial<Pick<Attempt, 'reference' | 'actionUrl'>> {
  return progress.state === 'action' ? { reference: progress.reference, actionUrl: progress.url } : {};
}

function reasonOf(progress: Progress): Pick<Attempt, 'failureCode' | 'failureMessage'> {
  if (!('code' in progress)) return { failureCode: null, failureMessage: null };
  return { failureCode: progress.code.slice(0, 64), failureMessage: progress.message.slice(0, 500) };
}

function referenceOf(progress: Progress): string | null {
  return 'reference' in progress ? progress.reference : null;
}

async function keep(unit: UnitOfWork, before: Attempt, after: Attempt, checks: number): Promise<void> {
  const seconds = secondsToNextCheck(after, checks, unit.now);
  await unit.transaction.all(sql`
    update payment_attempt set status = ${after.status}, reference = ${after.reference}, action_url = ${after.actionUrl},
      failure_code = ${after.failureCode}, failure_message = ${after.failureMessage}, payment_id = ${after.paymentId}::uuid,
      checks = ${checks}, next_check_at = clock_timestamp() + ${seconds}::integer * interval '1 second'
    where tenant_id = ${unit.tenantId} and id = ${before.id}`);
}
