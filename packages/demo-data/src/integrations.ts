import { writeRecord } from '@financial-automation/server/modules/bulk';
import { eventSubscription } from '@financial-automation/server/modules/events';
import {
  customRecordType,
  recordTypesForWriting,
  startRecordBatch,
} from '@financial-automation/server/modules/records';
import {
  asOperator,
  type Row,
  type Service,
  type Tenant,
  type Transaction,
} from '@financial-automation/server/service';
import { sql } from 'kysely';
import { exampleOf } from './firm.ts';
import { storyId } from './story-id.ts';

const deliveryUrl = 'https://hooks.hartwell.example.com/financial-automation';
const opportunities = exampleOf<Row<'CustomRecordType'>>('custom_record_type_opportunity');

/** Creates the data of a CRM: a custom type with two records, and an inactive subscription. */
export async function seedIntegrations(service: Service, tenant: Tenant, apiUserId: string): Promise<void> {
  const { id, name, displayName, description, fields } = opportunities;
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => plan.create(customRecordType, { displayName, description }, { id, system: { name, fields } })),
  );
  await asOperator(service, tenant, 'demo data', async (unit) => {
    const type = (await recordTypesForWriting(unit, [name])).get(name);
    if (type === undefined) throw new Error('The custom type was not created.');
    const opportunity = (number: number, stage: string, value: string, client: number) => ({
      type: name,
      systemRef: `OPP-${number}`,
      attributes: { stage, value, client: storyId('Client', client), expectedCloseDate: '2026-10-15' },
    });
    const records = [opportunity(501, 'PROPOSAL', '18000.00', 1), opportunity(502, 'LEAD', '2400.00', 2)];
    await unit.plan((plan) => records.map((record) => writeRecord(plan, type, 'UPSERT', record)));
    await startRecordBatch(unit, records, apiUserId, storyId('RecordBatch', 1));
  });
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => {
      const id = storyId('EventSubscription', 1);
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
  await asOperator(service, tenant, 'demo data', ({ transaction }) => insertDeliveries(transaction, tenant.id));
}

/** Inserts a failed and a successful attempt to deliver the event of the payment, and gives that event the ID that it has in the examples. */
async function insertDeliveries(transaction: Transaction, tenantId: number): Promise<void> {
  const payment = storyId('Payment', 1);
  const event = storyId('Event', 1);
  await transaction.all(sql`
    with former as (
      delete from recorded_event where tenant_id = ${tenantId} and entity_id = ${payment} and operation = 'CREATE' returning *
    ), waiting as (
      delete from event_waiting where tenant_id = ${tenantId} and event_id in (select id from former)
    ), positioned as (
      delete from event_position where tenant_id = ${tenantId} and event_id in (select id from former)
    )
    insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, data, changed_fields)
    select ${tenantId}, ${event}, entity_type, entity_id, operation, sequence, occurred_at, data, changed_fields from former`);
  // Only an event with a position has been delivered.
  await transaction.all(sql`select * from assign_event_positions(100000)`);
  const attempts = [
    { id: storyId('DeliveryAttempt', 1), attempt: 1, status: 503, outcome: 'FAILED', ago: 10, duration: 412 },
    { id: storyId('DeliveryAttempt', 2), attempt: 2, status: 200, outcome: 'SUCCESS', ago: 5, duration: 184 },
  ];
  // Attempts are kept for 30 days, so these are of today.
  for (const { id, attempt, status, outcome, ago, duration } of attempts)
    await transaction.all(sql`
      insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
        delivery_url, http_status_code, outcome, duration_ms, error_message, attempted_at)
      values (${tenantId}, ${id}, ${storyId('EventSubscription', 1)}, ${event}, 'Payment', 'CREATE', ${payment}, ${attempt},
        ${deliveryUrl}, ${status}, ${outcome}, ${duration},
        ${outcome === 'SUCCESS' ? null : `The receiver responded with ${status}.`}, tenant_now() - ${ago} * interval '1 second')`);
}
