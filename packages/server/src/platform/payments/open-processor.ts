import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { PaymentProcessor } from './processor.ts';
import { SandboxProcessor } from './sandbox.ts';

export type PaymentSettings =
  | { readonly processor: 'sandbox' }
  | { readonly processor: 'stripe'; readonly secretKey: string; readonly webhookSecret: string };

/** Opens the configured processor. Its library is only loaded if it is used, because it takes 40 MB. */
export async function openProcessor(
  payments: PaymentSettings | undefined,
  store: Store,
  log: Logger,
): Promise<PaymentProcessor | undefined> {
  if (payments === undefined) return undefined;
  if (payments.processor === 'sandbox') {
    log.warn('PAYMENT_PROCESSOR is sandbox: test cards pay invoices, and no money moves. Use it for tests only.');
    return new SandboxProcessor(store);
  }
  const { StripeProcessor } = await import('./stripe.ts');
  return new StripeProcessor(payments, log);
}
