import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from '../../../entity/service.ts';
import { transact } from '../../../entity/transact.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import type { PaymentProcessor } from '../../../platform/payments/processor.ts';
import { beginAttempt, claimCheck, orderOf, type PaymentAttempt, submitSeconds, type Write } from './attempt.ts';
import type { Submitted } from './form.ts';
import type { LinkPage } from './link-page.ts';
import { advance, type FollowUp, followUp } from './reconcile.ts';

/** How long a payer waits for the processor, in milliseconds. Then the page shows the payment as in progress. */
const patience = (submitSeconds - 10) * 1000;

/** Returns the write function of the page for a tenant, audited as the system. */
export function pageWrites({ store, vault }: Service, tenant: Tenant, requestId: string): Write {
  const origin = { tenant, caller: undefined, operation: 'payment page', requestId, vault };
  return (work) => transact(store, origin, work);
}

/**
 * Pays a link. The attempt is stored before the order is sent to the processor, so that it is followed up even if this
 * process dies.
 *
 * @returns undefined if the link can no longer be paid, or another payer is paying it.
 */
export async function payLink(
  context: FollowUp,
  link: LinkPage,
  { details, ...submitted }: Submitted,
  sessionHash: string,
): Promise<PaymentAttempt | undefined> {
  const { processor, tenant, write, log } = context;
  const request = { ...submitted, description: descriptionOf(link), processor: processor.name, sessionHash };
  const attempt = await beginAttempt(write, link.id, request);
  if (attempt === undefined) return undefined;
  try {
    await advance(context, attempt.id, await inTime(processor.submit(orderOf(tenant.name, attempt), details)));
  } catch (error) {
    log.warn({ err: error, attempt: attempt.id }, 'Payment is still pending; following up.');
  }
  return attempt;
}

/** Cancels an attempt that waits for its payer. If the processor does not respond, it remains open. */
export async function cancelAttempt(context: FollowUp, attempt: PaymentAttempt): Promise<void> {
  const { processor, tenant, log } = context;
  try {
    await advance(context, attempt.id, await processor.cancel(orderOf(tenant.name, attempt)));
  } catch (error) {
    log.warn({ err: error, attempt: attempt.id }, 'Cancelling a payment failed; following up.');
  }
}

/** Checks the state of an open attempt, unless it was just checked. @returns whether it may have changed */
export async function lookAgain({ store }: Service, context: FollowUp, attempt: PaymentAttempt): Promise<boolean> {
  const { tenant } = context;
  const isClaimed = await store.write(tenant.id, (transaction) => claimCheck(transaction, tenant.id, attempt.id));
  if (isClaimed) await followUp(context, attempt);
  return isClaimed;
}

/** The description at the processor and on the card statement. */
function descriptionOf({ orgName, invoices }: LinkPage): string {
  const numbers = invoices.map(({ number }) => number).join(', ');
  const text = numbers === '' ? orgName : `${orgName}: ${numbers}`;
  return text.length <= 200 ? text : `${text.slice(0, 199).toWellFormed()}…`;
}

async function inTime(work: ReturnType<PaymentProcessor['submit']>): ReturnType<PaymentProcessor['submit']> {
  const timer = new AbortController();
  const late = pause(patience, undefined, { signal: timer.signal }).then(() => {
    throw new Error('The payment processor did not respond in time.');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
    work.catch(() => undefined);
  }
}
