import { asOperator, ensureApiUser, type Service, tenantNamed } from '@financial-automation/server/service';
import { seedAbroad } from './abroad.ts';
import { seedBilling } from './billing.ts';
import { seedEngagements } from './engagements.ts';
import { planFirm } from './firm.ts';
import { seedIntegrations } from './integrations.ts';
import { planDecisions, planEntries } from './work.ts';

/**
 * Creates the firm of the contract's examples, with their IDs and references: clients and contacts, jobs with time and
 * expenses in every status, bills and payments, letters and files, and custom records of a CRM. All people and firms are
 * fictitious.
 */
export async function seedDemoData({ service }: { readonly service: Service }, tenantName: string): Promise<void> {
  const tenant = await tenantNamed({ service }, tenantName);
  await asOperator(service, tenant, 'demo data', (unit) => unit.plan(planFirm));
  // Only this operation changes the status of entries.
  const entries = await asOperator(service, tenant, 'upsertEntries', (unit) => unit.plan(planEntries));
  await asOperator(service, tenant, 'upsertEntries', (unit) => unit.plan((plan) => planDecisions(plan, entries)));
  const crm = { user: 'hartwell-crm', roles: ['API_ADMIN'] };
  const apiUserId = await service.store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, crm));
  await seedBilling(service, tenant, apiUserId);
  await seedAbroad(service, tenant);
  await seedEngagements(service, tenant, apiUserId);
  await seedIntegrations(service, tenant, apiUserId);
}
