import { writeRecord } from '../../server/src/bulk/write-records.ts';
import { eventSubscription } from '../../server/src/modules/events/subscriptions/event-subscription.ts';
import { readFields } from '../../server/src/modules/records/check-fields.ts';
import { customRecordType } from '../../server/src/modules/records/custom-type.ts';
import { recordTypesForWriting } from '../../server/src/modules/records/record-types.ts';
import { asOperator } from '../../server/src/operator/tenants.ts';
import type { Tenant } from '../../server/src/platform/auth/caller.ts';
import type { Service } from '../../server/src/service/service.ts';
import { storyId } from './story-id.ts';

const stages = ['LEAD', 'QUALIFIED', 'PROPOSAL', 'WON', 'LOST'];

/** Creates the data of a CRM: a custom type with two records, and an inactive subscription. */
export async function seedIntegrations(service: Service, tenant: Tenant, apiUserId: string): Promise<void> {
  await asOperator(service, tenant, 'demo data', async (unit) => {
    const fields = await readFields(unit, 'Opportunity', [
      { name: 'stage', displayName: 'Stage', type: 'ENUM', required: true, defaultValue: 'LEAD', enumValues: stages },
      { name: 'value', displayName: 'Expected fees', type: 'DECIMAL', minimum: '0', scale: 2 },
      { name: 'client', displayName: 'Client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' },
      { name: 'expectedCloseDate', displayName: 'Expected close', type: 'DATE' },
    ]);
    const labels = { displayName: 'Opportunity', description: 'Work that the firm may win, as the CRM sees it' };
    const id = storyId('CustomRecordType', 1);
    await unit.plan((plan) => plan.create(customRecordType, labels, { id, system: { name: 'Opportunity', fields } }));
  });
  await asOperator(service, tenant, 'demo data', async (unit) => {
    const type = (await recordTypesForWriting(unit, ['Opportunity'])).get('Opportunity');
    if (type === undefined) throw new Error('The custom type was not created.');
    const opportunity = (number: number, stage: string, value: string, client: number) => ({
      type: 'Opportunity',
      systemRef: `OPP-${number}`,
      attributes: { stage, value, client: storyId('Client', client), expectedCloseDate: '2026-10-15' },
    });
    const records = [opportunity(501, 'PROPOSAL', '18000.00', 1), opportunity(502, 'LEAD', '2400.00', 2)];
    await unit.plan((plan) => records.map((record) => writeRecord(plan, type, 'UPSERT', record)));
  });
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => {
      const id = storyId('EventSubscription', 1);
      const deliveryUrl = 'https://hooks.hartwell.example.com/financial-automation';
      const fields = { deliveryUrl, filterExpression: 'ownPaymentLinksOnly', description: 'Payments into the CRM' };
      const operations: ('CREATE' | 'UPDATE')[] = ['CREATE', 'UPDATE'];
      const system = { entityType: 'Payment', operations, createdByApiUserId: apiUserId };
      plan.create(eventSubscription, fields, { id, system });
    }),
  );
  // No receiver listens at this address.
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => plan.remove(eventSubscription, storyId('EventSubscription', 1))),
  );
}
