/** What an earlier release stored, as the database has it: without fields that were added since, and with one that has been removed. */
import { expect, test } from 'vitest';
import { runBackground } from '../../test/background.ts';
import { deliveringService } from '../../test/delivery.ts';
import { firmWithLetters } from '../../test/modules/engagements.ts';
import { startReceiver } from '../../test/receiver.ts';
import { createEngagements } from '../modules/engagements/create-engagements.ts';
import { setTenantSetting } from '../operator/tenant-settings.ts';

const service = await deliveringService();
const { call, groups, store, subscribe } = service;
interface Event {
  readonly entityId: string;
  readonly data: Record<string, unknown>;
  readonly changedFields: readonly string[];
}
const feed = (query: string) => call<{ data: Event[] }>('GET', `/api/v1/events?${query}`);

/** Changes rows that only the service's own role can change. */
async function asStoredBefore(table: string, change: string, condition: string, value: string): Promise<void> {
  await store.ownerStatements(`alter table ${table} no force row level security`);
  await store.ownerStatements(`update ${table} set ${change} where ${condition} = $1`, [value]);
  await store.ownerStatements(`alter table ${table} force row level security`);
}
const older = (column: string, without: string) =>
  `${column} = (${column}::jsonb - '${without}') || '{"removedSince": "A"}'`;

test('an event is listed and delivered with the fields of today', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver);
  const [id = ''] = await groups('Harbor family');
  const change = `${older('data', 'description')}, changed_fields = '{name,removedSince}'`;
  await asStoredBefore('recorded_event', change, 'entity_id', id);
  const { status, body } = await feed('entityType=ClientGroup');
  const [event] = body.data;
  expect({ status, event }).toMatchObject({ status: 200, event: { entityId: id, changedFields: ['name'] } });
  expect(event?.data).toMatchObject({ name: 'Harbor family', description: null });
  expect(event?.data).not.toHaveProperty('removedSince');
  const delivery = await service.start();
  await expect.poll(() => receiver.arrivals.length).toBe(1);
  expect(receiver.arrivals[0]?.event.data).toEqual(event?.data);
  await delivery.stop(0);
});

test('a response is repeated for its Idempotency-Key with the fields of today', async () => {
  const send = () =>
    call('POST', '/api/v1/clients/v1/onboard', { name: 'Harbor & Pine', address: {} }, { 'Idempotency-Key': 'before' });
  const first = await send();
  expect(first).toMatchObject({ status: 201, body: { billingAddressId: null } });
  await asStoredBefore('idempotency_key', older('response_body', 'billingAddressId'), 'key', 'before');
  expect(await send()).toMatchObject({ status: 201, body: first.body });
  expect((await send()).body).toEqual(first.body);
});

test('a batch that was accepted is run with the defaults of today', async () => {
  const firm = await firmWithLetters(service);
  const entry = { clientId: firm.clientId, fiscalYear: 2026, partnerId: firm.partnerId };
  const { batchId } = (await firm.calls.createBatch([entry])).body;
  await asStoredBefore('engagement_batch_item', older('entry', 'type'), 'engagement_batch_id', batchId);
  const background = await runBackground(service.store, { jobs: [createEngagements] });
  await expect.poll(async () => (await firm.calls.batch(batchId)).body.status).toBe('COMPLETED');
  const [id = ''] = (await firm.calls.batch(batchId)).body.engagementIds;
  expect((await firm.calls.get(id)).body).toMatchObject({ type: 'OTHER' });
  await background.stop(0);
});

test('listEvents › rejects a type whose events are off', async () => {
  expect((await feed('entityType=WipEntry')).status).toBe(200);
  await setTenantSetting(service, { tenant: service.tenant.name, setting: 'wipEvents', value: 'off' });
  await expect.poll(async () => (await feed('entityType=WipEntry')).status, { timeout: 9_000 }).toBe(400);
  expect(await feed('entityType=WipEntry')).toMatchObject({
    status: 400,
    body: { errors: [{ in: 'query', pointer: '/entityType', code: 'EVENT_NOT_ENABLED' }] },
  });
});
