import type { Handler } from '../../../entity/context.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { recordChanges } from '../../../platform/store/trace.ts';
import { rotateSecret } from './webhook-secret.ts';

/** Replaces the secret that signs the events of the tenant. The audit log has when, and not the secret. */
export const rotateWebhookSecret: Handler<'rotateWebhookSecret'> = (context, { body }) => {
  const { caller, tenant, operation, requestId, traceparent, service } = context;
  const { overlapMinutes = 1440 } = body;
  return context.write(async ({ transaction, tenantId }) => {
    const { secret, createdAt } = await rotateSecret(transaction, service.vault, tenant.id, overlapMinutes);
    const { apiUserId, apiUserName: actor } = caller;
    const origin = {
      tenantId,
      apiUserId,
      actor,
      operation: operation.id,
      requestId,
      traceparent,
      occurredAt: createdAt,
    };
    await recordChanges(transaction, origin, [
      {
        entityType: 'WebhookSecret',
        entityId: newId(),
        kind: 'UPDATE',
        before: null,
        after: { createdAt, overlapMinutes },
        event: null,
      },
    ]);
    const headers = { 'Cache-Control': 'no-store' };
    return { status: 200 as const, headers, body: { secret, algorithm: 'HMAC-SHA256' as const, createdAt } };
  });
};
