import type { Handler } from '../../../entity/context.ts';
import { currentSecret } from './webhook-secret.ts';

/** The secret that the tenant's events are signed with. */
export const getWebhookSecret: Handler<'getWebhookSecret'> = async ({ service, tenant }) => {
  const { secret, createdAt } = await currentSecret(service.store, service.vault, tenant.id);
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    body: { secret, algorithm: 'HMAC-SHA256', createdAt },
  };
};
