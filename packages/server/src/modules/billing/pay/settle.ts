import type { Logger } from 'pino';
import type { Plan } from '../../../entity/plan.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import type { PaymentProcessor, PaymentProgress } from '../../../platform/payments/processor.ts';
import { invoice } from '../invoice/invoice.ts';
import { isCovered, quickPaymentLink, releaseLink, withdrawLink } from '../link/payment-link.ts';
import { lockAttempt, type PaymentAttempt, storeAttempt, type Write } from './attempt.ts';
import { type AttemptStatus, nextStatus } from './attempt-machine.ts';
import { reasonOf, recordNext, recordPayment } from './record-payment.ts';

/** What must be done at the processor next. */
export type SettlementStep = keyof Pick<PaymentProcessor, 'capture' | 'cancel' | 'refund'>;

/** An attempt after its state at the processor was recorded. */
interface Settled {
  readonly attempt: PaymentAttempt;
  readonly step: SettlementStep | undefined;
}

/**
 * Updates an attempt, its link and its payment to the state at the processor, and decides what must be done there next.
 * Can be called concurrently and repeatedly with the same progress.
 */
export async function settle(
  write: Write,
  attemptId: string,
  progress: PaymentProgress,
  log: Logger,
): Promise<Settled> {
  for (;;) {
    const settled = await write((unit) => takeTransition(unit, attemptId, progress, log));
    // A payment that was returned before the first check was completed first, which is a separate transition.
    if (settled !== undefined) return settled;
  }
}

/** Applies one transition of an attempt in its transaction. @returns undefined if another one may follow */
async function takeTransition(
  unit: UnitOfWork,
  attemptId: string,
  progress: PaymentProgress,
  log: Logger,
): Promise<Settled | undefined> {
  const before = await lockAttempt(unit.transaction, unit.tenantId, attemptId);
  if (before === undefined) throw new Error(`Attempt ${attemptId} not found.`);
  const status = nextStatus(before.status, progress.state);
  if (status === undefined) {
    const step = await unit.plan((plan) => nextStep(plan, before, progress));
    const attempt = before.status === 'OPEN' ? { ...before, ...actionOf(progress) } : before;
    await storeAttempt(unit, attempt, attempt.checks + 1);
    return { attempt, step };
  }
  const changes =
    status === 'DECLINED'
      ? await unit.plan((plan) => freeLink(plan, before.linkId))
      : await record(unit, before, progress, status, log);
  const reason = status === 'PENDING' ? {} : reasonOf(progress);
  await storeAttempt(unit, { ...before, status, actionUrl: null, ...changes, ...reason }, 0);
  return undefined;
}

/**
 * Returns what must be done at the processor while the status of an attempt remains. Nothing is captured for a link that
 * can no longer be paid, and what was captured for it anyway is refunded. The answer is not stored: after a crash it is
 * decided again, by what holds then. An invoice that is paid after the decision and before the capture is detected when
 * the payment is recorded.
 */
function nextStep(
  plan: Plan,
  { status, linkId, toRefund }: PaymentAttempt,
  { state }: PaymentProgress,
): SettlementStep | undefined {
  if (status === 'COMPLETED') return toRefund && state === 'captured' ? 'refund' : undefined;
  if (state !== 'action' && state !== 'authorized') return undefined;
  if (status === 'DECLINED') return 'cancel';
  if (status === 'OPEN') {
    const link = plan.getForUpdate(quickPaymentLink, linkId);
    if (link === undefined || !isStillDue(plan, link)) return 'cancel';
  }
  return state === 'authorized' ? 'capture' : undefined;
}

/**
 * Whether the amount due on the invoices of a link covers its amount. The invoices are locked, so that payments that are
 * being recorded are taken into account.
 */
function isStillDue(plan: Plan, link: Parameters<typeof isCovered>[1]): boolean {
  plan.each(link.invoices, ({ invoiceId }) => plan.getForShare(invoice, invoiceId));
  return isCovered(plan, link);
}

/** Releases the link for other payers, unless the amount due no longer covers its amount. */
function freeLink(plan: Plan, linkId: string): void {
  const link = plan.getForUpdate(quickPaymentLink, linkId);
  if (link?.status !== 'PROCESSING') return;
  (isStillDue(plan, link) ? releaseLink : withdrawLink)(plan, linkId);
}

/** Records the payment of an attempt, or its next status. */
async function record(
  unit: UnitOfWork,
  attempt: PaymentAttempt,
  progress: PaymentProgress,
  status: AttemptStatus,
  log: Logger,
): Promise<Pick<PaymentAttempt, 'reference' | 'paymentId' | 'toRefund'>> {
  const { id, paymentId, toRefund, processor } = attempt;
  const reference = 'reference' in progress ? progress.reference : null;
  if (paymentId !== null) {
    const isRecorded = await unit.plan((plan) => recordNext(plan, paymentId, progress, status));
    if (!isRecorded)
      log.error(
        { payment: paymentId, status },
        'Payment processor reports a result that the payment can no longer have.',
      );
    else if (status === 'REFUNDED') log.info({ attempt: id, payment: paymentId }, 'Payment refunded.');
    return { reference, paymentId, toRefund };
  }
  const recorded = await recordPayment(unit, attempt, progress, status);
  if (recorded.toRefund)
    log.warn(
      { attempt: id, payment: recorded.paymentId, processor, reference },
      'Payment received through a link that can no longer be paid; refunding.',
    );
  return { reference, ...recorded };
}

function actionOf(progress: PaymentProgress): Partial<Pick<PaymentAttempt, 'reference' | 'actionUrl'>> {
  if (progress.state === 'action') return { reference: progress.reference, actionUrl: progress.url };
  return progress.state === 'authorized' ? { reference: progress.reference, actionUrl: null } : {};
}
