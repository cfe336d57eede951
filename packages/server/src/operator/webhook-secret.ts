import { rotateSecret } from '../modules/events/index.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

/** Replaces the secret that signs events of a tenant. Both secrets sign during the specified hours. */
export async function rotateWebhookSecret(
  operator: Operator,
  { tenant: name, hours }: { readonly tenant: string; readonly hours: number },
): Promise<null> {
  const { store, vault } = operator.service;
  const tenant = await tenantNamed(operator, name);
  await store.write(tenant.id, (transaction) => rotateSecret(transaction, vault, tenant.id, hours * 60));
  await recordOperatorAct(store.owner, {
    operation: 'webhook rotate-secret',
    subject: tenant.name,
    details: { hours },
  });
  return null;
}
