import { schemaOf } from '../../../contract/contract.ts';
import type { Service } from '../../../entity/service.ts';
import {
  MalformedNotification,
  type NotifiedAttempt,
  UnverifiedNotification,
} from '../../../platform/payments/processor.ts';
import type { Exchange } from '../../../wire/exchange.ts';
import { type PageResult, pageResult } from '../../../wire/result.ts';
import { findAttempt } from './attempt.ts';
import { addressKey, type PayLimits } from './limits.ts';
import { pageWrites } from './pay-link.ts';
import { followUp } from './reconcile.ts';
import { unknownPage, wrongMethod } from './result-pages.ts';

const tenantName = new RegExp(schemaOf('TenantName').pattern ?? '', 'u');

/** Maximum size of a notification, in bytes. */
const maxNotificationBytes = 1024 * 1024;

/** Handles a notification of a processor. The state itself is queried at the processor. */
export async function handleNotification(service: Service, limits: PayLimits, exchange: Exchange): Promise<PageResult> {
  if (service.processor?.readNotification === undefined) return pageResult(404, unknownPage());
  if (exchange.method !== 'POST') return wrongMethod(['POST']);
  const about = await readNotification(service, limits, exchange);
  if (about === 'rejected') return pageResult(400, '');
  if (about !== undefined) await followUpOn(service, exchange, about);
  return pageResult(200, '');
}

/** The attempt that a notification concerns; undefined if it concerns none. */
async function readNotification(
  { processor, admission }: Service,
  limits: PayLimits,
  exchange: Exchange,
): Promise<NotifiedAttempt | 'rejected' | undefined> {
  const { log } = exchange;
  const address = addressKey(exchange.address);
  const admitted = await admission.admit(exchange, '', address, exchange.body(maxNotificationBytes));
  try {
    const about = await processor?.readNotification?.(
      admitted.bytes ?? Buffer.alloc(0),
      exchange.header('stripe-signature'),
    );
    if (about === undefined || tenantName.test(about.tenant)) return about;
    throw new MalformedNotification('metadata.tenant is not the name of a tenant.');
  } catch (error) {
    if (error instanceof MalformedNotification) {
      log.warn({ reason: error.message }, 'Rejected a malformed notification of the payment processor.');
      return 'rejected';
    }
    if (!(error instanceof UnverifiedNotification)) throw error;
    // Counted after verification, so that forged notifications never block genuine ones of the same address.
    await limits.take('notification', address);
    log.warn('Rejected a notification that the payment processor did not sign.');
    return 'rejected';
  } finally {
    admitted.end();
  }
}

async function followUpOn(service: Service, exchange: Exchange, about: NotifiedAttempt): Promise<void> {
  const { processor, store } = service;
  const tenant = await service.directory.tenant(about.tenant);
  if (tenant === undefined || processor === undefined) return;
  const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, about.key));
  if (attempt === undefined) return;
  await followUp({ processor, tenant, write: pageWrites(service, tenant, exchange.id), log: exchange.log }, attempt);
}
