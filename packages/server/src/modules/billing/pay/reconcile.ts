import { sql } from 'kysely';
import type { Logger } from 'pino';
import { defineClockTask } from '../../../background/clock.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import type { PaymentProcessor, PaymentProgress } from '../../../platform/payments/processor.ts';
import { dueAttempts, orderOf, type PaymentAttempt, secondsToNextCheck, type Write } from './attempt.ts';
import { type SettlementStep, settle } from './settle.ts';

/** The parameters for following up attempts of a tenant. */
export interface FollowUp {
  readonly processor: PaymentProcessor;
  readonly tenant: Tenant;
  readonly write: Write;
  readonly log: Logger;
}

/** Number of attempts that are followed up concurrently. */
const lanes = 4;

/**
 * Completes, releases or refunds attempts that hang because a process died or the processor did not respond, and follows
 * bank payments until they can no longer be returned.
 */
export const followAttempts = defineClockTask({
  name: 'follow-payment-attempts',
  every: 'due',
  nextDue: (tenantId, after) => sql`
    select min(next_check_at) as at from payment_attempt where tenant_id = ${tenantId} and next_check_at > ${after}::timestamptz`,
  async run({ tenant, now, signal, read, write, log, service: { processor } }) {
    if (processor === undefined) return;
    while (!signal.aborted) {
      const due = await read((session) => dueAttempts(session, tenant.id, now, 50));
      if (due.length === 0) return;
      const queue = due.values();
      const lane = async (): Promise<void> => {
        for (const attempt of queue) {
          if (signal.aborted) return;
          await followUp({ processor, tenant, write, log }, attempt);
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
    }
  },
});

/**
 * Queries the state of an attempt at the processor, records it, and does there what follows. If the processor has not
 * received the order, nothing was captured, and the attempt is cancelled there before the link is released: an order that
 * is still in transit then has no effect.
 */
export async function followUp(context: FollowUp, attempt: PaymentAttempt): Promise<void> {
  const { processor, tenant, write, log } = context;
  if (attempt.processor !== processor.name) {
    log.error({ attempt: attempt.id, processor: attempt.processor }, 'Payment attempt belongs to another processor.');
    return postpone(write, attempt);
  }
  const order = orderOf(tenant.name, attempt);
  let progress: PaymentProgress | undefined;
  try {
    progress = await processor.find(order);
    if (attempt.status === 'OPEN' && progress === undefined) progress = await processor.cancel(order);
  } catch (error) {
    log.warn({ err: error, attempt: attempt.id }, 'Payment processor returned no result of an attempt.');
  }
  if (progress === undefined) await postpone(write, attempt);
  else await advance(context, attempt.id, progress);
}

/**
 * Records the state of an attempt at the processor, and does there what follows from it: captures an authorized card,
 * cancels what can no longer be paid, and refunds what was captured anyway. If this is interrupted, the attempt is
 * followed up, and what follows is decided again.
 */
export async function advance(
  { processor, tenant, write, log }: FollowUp,
  id: string,
  found: PaymentProgress,
): Promise<void> {
  const done = new Set<SettlementStep>();
  let progress = found;
  for (;;) {
    const { attempt, step } = await settle(write, id, progress, log);
    // A step that did not change the state, such as a refund that is on its way, is repeated by the next check.
    if (step === undefined || done.has(step)) return;
    done.add(step);
    try {
      progress = await processor[step](orderOf(tenant.name, attempt));
    } catch (error) {
      log.warn({ err: error, attempt: id, step }, 'Payment processor returned no result of a step.');
      return;
    }
  }
}

function postpone(write: Write, attempt: PaymentAttempt): Promise<void> {
  return write(async (unit) => {
    const seconds = secondsToNextCheck(attempt, attempt.checks + 1, unit.now);
    await unit.transaction.all(sql`
      update payment_attempt set checks = checks + 1,
        next_check_at = tenant_clock_timestamp() + ${seconds}::integer * interval '1 second'
      where tenant_id = ${unit.tenantId} and id = ${attempt.id}`);
  });
}
