/**
 * What an earlier release stored, as the database has it: without fields that were added since, with one that has been removed, and with a
 * value that a field can no longer have. `stored-values.unit.test.ts` has every kind of change in every row.
 */
import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { runBackground } from '../../test/background.ts';
import { deliveringService } from '../../test/delivery.ts';
import { firmWithLetters } from '../../test/modules/engagements.ts';
import { recordsOf } from '../../test/modules/records.ts';
import { startReceiver } from '../../test/receiver.ts';
import { startBackground } from '../background/background.ts';
import { createEngagements } from '../modules/engagements/create-engagements.ts';
import { writeRecordBatch } from '../modules/records/write-record-batch.ts';
import { setTenantSetting } from '../operator/tenant-settings.ts';

const service = await deliveringService({ exceedsBounds: true });
const { call, groups, store, subscribe } = service;
type Batch = components['schemas']['RecordBatch'];
interface Event {
  readonly entityId: string;
  readonly data: Record<string, unknown>;
  readonly changedFields: readonly string[];
}
const feed = (query: string) => call<{ data: Event[] }>('GET', `/api/v1/events?${query}`);

/** Changes rows that only the service's own role can change. */
async function asStoredBefore(table: string, change: string, condition: string, value: string): Promise<void> {
  await store.ownerStatements(`alter table ${table} no force row level security`);
  await store.ownerStatements(`alter table ${table} disable trigger user`);
  await store.ownerStatements(`update ${table} set ${change} where ${condition} = $1`, [value]);
  await store.ownerStatements(`alter table ${table} enable trigger user`);
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

test('an event is listed and delivered, and stops no other one, if its row has a value that is no longer possible', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver, { entityType: 'Contact' });
  const upsert = (firstName: string) => recordsOf(service).make('Contact', { firstName, lastName: 'Calder' });
  const [first, second] = [await upsert('Former'), await upsert('Next')];
  await asStoredBefore('recorded_event', `data = data || '{"firstName": 7, "version": null}'`, 'entity_id', first.id);
  const { status, body } = await feed('entityType=Contact');
  expect({ status, rows: body.data.map(({ entityId, data }) => [entityId, data.firstName, data.version]) }).toEqual({
    status: 200,
    rows: [
      [first.id, 7, null],
      [second.id, 'Next', 1],
    ],
  });
  const delivery = await service.start();
  await expect.poll(() => receiver.arrivals.map(({ event }) => event.data.firstName)).toEqual([7, 'Next']);
  await delivery.stop(0);
});

test('a response is repeated for its Idempotency-Key with the fields of today', async () => {
  const send = () =>
    call<object>(
      'POST',
      '/api/v1/clients/v1/onboard',
      { name: 'Harbor & Pine', address: {} },
      { 'Idempotency-Key': 'before' },
    );
  const first = await send();
  expect(first).toMatchObject({ status: 201, body: { billingAddressId: null } });
  await asStoredBefore('idempotency_key', older('response_body', 'billingAddressId'), 'key', 'before');
  expect(await send()).toMatchObject({ status: 201, body: first.body });
  expect((await send()).body).toEqual(first.body);
  await asStoredBefore(
    'idempotency_key',
    `response_body = response_body::jsonb || '{"clientRef": 7}'`,
    'key',
    'before',
  );
  expect(await send()).toMatchObject({ status: 201, body: { ...first.body, clientRef: 7 } });
});

test('a batch that was accepted is run with the defaults of today', async () => {
  const firm = await firmWithLetters(service);
  const entry = { clientId: firm.clientId, fiscalYear: 2026, partnerId: firm.partnerId };
  const missing = { ...entry, clientId: firm.partnerId };
  const { batchId } = (await firm.calls.createBatch([entry, missing])).body;
  await asStoredBefore('engagement_batch_item', older('entry', 'type'), 'engagement_batch_id', batchId);
  const background = await runBackground(service.store, { jobs: [createEngagements] });
  await expect.poll(async () => (await firm.calls.batch(batchId)).body.status).toBe('COMPLETED_WITH_ERRORS');
  const [id = ''] = (await firm.calls.batch(batchId)).body.engagementIds;
  expect((await firm.calls.get(id)).body).toMatchObject({ type: 'OTHER' });
  await background.stop(0);
  const [error] = (await firm.calls.batch(batchId)).body.errors;
  const failed = `engagement_id is null and engagement_batch_id`;
  await asStoredBefore('engagement_batch_item', older('failure', 'pointer'), failed, batchId);
  expect(await firm.calls.batch(batchId)).toMatchObject({
    status: 200,
    body: { errors: [{ ...error, pointer: null }] },
  });
});

test('a batch of records that was accepted is run and reported with the fields of today', async () => {
  const group = (systemRef: string, name: unknown) => ({ type: 'ClientGroup', systemRef, attributes: { name } });
  const records = [group('batch-1', 'One'), group('batch-2', 7), group('batch-3', 'Three')];
  const accepted = await call<Batch>('POST', '/api/v1/records/batch', { records });
  const { id } = accepted.body;
  // The run of an earlier release stopped after its first record.
  const written = {
    index: 0,
    type: 'ClientGroup',
    systemRef: 'batch-1',
    id,
    status: 'CREATED',
    version: 1,
    removedSince: 'A',
  };
  const result = `result = '${JSON.stringify(written)}'`;
  await asStoredBefore('record_batch_item', result, 'index = 0 and record_batch_id', id);
  await asStoredBefore('record_batch', 'created = 1', 'id', id);
  const background = await startBackground(service.service, { jobs: [writeRecordBatch], clockTasks: [] });
  const read = () => call<Batch>('GET', `/api/v1/batches/${id}`);
  await expect.poll(async () => (await read()).body.status).toBe('COMPLETED');
  await background.stop(0);
  const { failures, resultUrl } = (await read()).body;
  const { pathname, search } = new URL(resultUrl ?? '');
  const lines = (await (await fetch(service.address + pathname + search)).text()).trim().split('\n');
  const { removedSince: _, ...ofToday } = written;
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ ...ofToday, error: null }, failures[0], { index: 2 }]);
  expect(lines[0]).not.toContain('removedSince');
  const earlier = `failures = jsonb_build_array((failures -> 0) - 'version' || '{"removedSince": "A"}')`;
  await asStoredBefore('record_batch', earlier, 'id', id);
  expect(await read()).toMatchObject({ status: 200, body: { failures } });
});

test('a revision of a draft is read with the fields of today', async () => {
  const onboarded = await call<{ clientId: string }>('POST', '/api/v1/clients/v1/onboard', {
    name: 'Fern',
    address: {},
  });
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '100.00', taxable: false };
  const days = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const fields = { clientId: onboarded.body.clientId, ...days, lines: [line] };
  const draft = await recordsOf(service).make('DraftInvoice', fields);
  const search = async () => {
    const where = { draftInvoiceId: { _eq: draft.id } };
    return call<{ data: object[] }>('POST', '/gql/v1/draft_invoice_histories/search', { where });
  };
  const { data } = (await search()).body;
  await asStoredBefore(
    'draft_invoice_history',
    older('draft_invoice', 'approvedAt'),
    'draft_invoice_id',
    draft.id ?? '',
  );
  expect(await search()).toMatchObject({ status: 200, body: { data } });
  expect((await search()).body.data).toEqual(data);
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
