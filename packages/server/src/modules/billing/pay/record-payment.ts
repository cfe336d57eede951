import { sql } from 'kysely';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import type { PaymentProgress } from '../../../platform/payments/processor.ts';
import { hasOpenStatus } from '../../reference/index.ts';
import { invoice } from '../invoice/invoice.ts';
import {
  acceptLink,
  completeLink,
  isCovered,
  quickPaymentLink,
  reserveLink,
  withdrawLink,
} from '../link/payment-link.ts';
import { type PayableInvoice, spread } from '../payment/allocations.ts';
import { payment } from '../payment/payment.ts';
import { receivePayment, recordResult } from '../payment/payment-rules.ts';
import { counts, dueOf, isOpen } from '../rules/balances.ts';
import type { PaymentAttempt } from './attempt.ts';
import type { AttemptStatus } from './attempt-machine.ts';

/** Maximum number of invoices that one payment covers. */
const maxInvoices = 1_000;

/** Why a payment is refunded without a request of the firm. */
const noLongerDue = {
  failureCode: 'amount_no_longer_due',
  failureMessage: 'The amount of the link was no longer due when the payment arrived. It is refunded in full.',
} as const;

type Recorded = Pick<PaymentAttempt, 'toRefund'> & { readonly paymentId: string };

/**
 * Creates the payment of an attempt. If its link can still be paid, the payment is allocated and uses the link; otherwise
 * nothing is allocated, and the payment is to be refunded.
 */
export function recordPayment(
  unit: UnitOfWork,
  attempt: PaymentAttempt,
  progress: PaymentProgress,
  status: AttemptStatus,
): Promise<Recorded> {
  if (!('fee' in progress) || (status !== 'PENDING' && status !== 'COMPLETED'))
    throw new Error(`A payment cannot start as ${status}.`);
  const amount = parseDecimal(attempt.amount);
  const oldestOpen = openInvoices(attempt.currency, attempt.amount);
  return unit.plan((plan) => {
    const link = plan.getForUpdate(quickPaymentLink, attempt.linkId);
    if (link === undefined) throw new Error(`Link ${attempt.linkId} not found.`);
    const payable = lockPayable(plan, link, attempt.currency, oldestOpen);
    // An attempt that was declined has released its link, which another payer may use.
    const isReserved = link.status === (attempt.status === 'OPEN' ? 'PROCESSING' : 'ACTIVE');
    const toRefund = !isReserved || !isCovered(plan, link);
    // Before the payment is allocated, which would invalidate an active link.
    if (!toRefund && link.status === 'ACTIVE') reserveLink(plan, link.id);
    const { id: paymentId } = receivePayment(plan, {
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
      allocations: toRefund ? [] : spread(amount, payable),
      ...(toRefund ? noLongerDue : {}),
    });
    if (!toRefund) (status === 'PENDING' ? acceptLink : completeLink)(plan, link.id, paymentId);
    else if (attempt.status === 'OPEN') withdrawLink(plan, link.id);
    return { paymentId, toRefund };
  });
}

/** Locks the open invoices that a payment of a link can be allocated to. */
function lockPayable(
  plan: Plan,
  { clientId, invoices }: Row<'QuickPaymentLink'>,
  currency: string,
  oldestOpen: Lookup<readonly string[]>,
): PayableInvoice[] {
  const chosen = invoices.map(({ invoiceId }) => invoiceId);
  const ids = chosen.length > 0 ? chosen : (plan.lookup(oldestOpen, clientId) ?? []);
  const open = [...plan.getManyForUpdate(invoice, new Set(ids)).values()].filter(
    (one) => isOpen(one) && one.currency === currency,
  );
  return open.map((one) => ({ id: one.id, dueDate: one.dueDate, payable: dueOf(one).minus(one.amountPending) }));
}

/** Records the next status of an existing payment. @returns false if the payment can no longer have it */
export function recordNext(plan: Plan, id: string, progress: PaymentProgress, status: AttemptStatus): boolean {
  const reason = reasonOf(progress);
  const current = plan.getForUpdate(payment, id)?.status ?? '';
  // A caller may have recorded the same fact before.
  if (current === status || (status === 'COMPLETED' && counts(current))) return true;
  if ((status === 'REFUNDED' || status === 'RETURNED') && !counts(current)) return false;
  const fee = 'fee' in progress ? { feeAmount: progress.fee } : {};
  if (status === 'COMPLETED') recordResult(plan, id, { status, ...fee });
  else if (status === 'FAILED' || status === 'RETURNED') recordResult(plan, id, { status, ...reason });
  else if (status === 'REFUNDED') recordResult(plan, id, { status });
  else return false;
  return true;
}

/** Why nothing was paid, as it is stored. */
export function reasonOf(progress: PaymentProgress): Pick<PaymentAttempt, 'failureCode' | 'failureMessage'> {
  if (!('code' in progress)) return { failureCode: null, failureMessage: null };
  return { failureCode: progress.code.slice(0, 64), failureMessage: progress.message.slice(0, 500) };
}

/** The open invoices of clients, the oldest first, limited to those that an amount can cover. */
function openInvoices(currency: string, amount: string): Lookup<readonly string[]> {
  return {
    name: 'oldest open invoices',
    async load(transaction, tenantId, clientIds) {
      const rows = await transaction.all<{ clientId: string; ids: readonly string[] }>(sql`
        select client_id as "clientId", (array_agg(id::text order by due_date, id))[1:${sql.lit(maxInvoices)}] as ids
        from (
          select client_id, id, due_date, amount_due - amount_pending as payable,
            sum(amount_due - amount_pending) over (partition by client_id order by due_date, id) as through
          from invoice
          where tenant_id = ${tenantId} and client_id = any(${clientIds}) and ${hasOpenStatus('invoice')}
            and document_type = 'INVOICE' and currency = ${currency}) open
        where payable > 0 and through - payable < ${amount}::numeric
        group by client_id`);
      return new Map(rows.map(({ clientId, ids }) => [clientId, ids]));
    },
  };
}
