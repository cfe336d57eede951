import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { recordChanges, type TracedChange, type TraceOrigin } from './trace.ts';

const { store, tenantId, otherTenantId } = await testStore();

const origin: TraceOrigin = {
  tenantId,
  apiUserId: uuidv7(),
  actor: 'crm',
  operation: 'upsertContacts',
  requestId: 'request-1',
  occurredAt: '2026-10-01T09:30:00.123Z',
};
const creation: TracedChange = {
  entityType: 'Contact',
  entityId: uuidv7(),
  kind: 'CREATE',
  before: null,
  after: Object.assign({ version: 1 }, { name: 'Åsa "Quote" O’Neil', tags: [] }),
  event: { changedFields: null },
};
const change: TracedChange = {
  entityType: 'Staff',
  entityId: uuidv7(),
  kind: 'UPDATE',
  before: { rate: '12.50' },
  after: Object.assign({ version: 3 }, { rate: '13.00' }),
  event: { data: { rate: null }, changedFields: ['rate', 'title'] },
};
const silent: TracedChange = { ...change, entityId: uuidv7(), kind: 'DELETE', event: null };

const audited = () =>
  store.read(tenantId, (session) =>
    session.all(sql`
      select tenant_id as "tenantId", api_user_id as "apiUserId", actor, operation, request_id as "requestId",
        occurred_at as "occurredAt", entity_type as "entityType", entity_id as "entityId", before, after
      from audit_log where tenant_id = ${tenantId} order by id`),
  );

test('recordChanges writes an audit row for each change, and an event if the change has one', async () => {
  await store.write(tenantId, async (transaction) => {
    await recordChanges(transaction, origin, []);
    await recordChanges(transaction, origin, [creation, change, silent]);
  });
  expect(await audited()).toEqual(
    [creation, change, silent].map(({ entityType, entityId, before, after }) => ({
      ...origin,
      entityType,
      entityId,
      before,
      after,
    })),
  );
  const events = await store.read(tenantId, (session) =>
    session.all(sql`
      select tenant_id as "tenantId", entity_type as "entityType", entity_id as "entityId", operation as kind, sequence, data,
        changed_fields as "changedFields", request_id as "requestId", occurred_at as "occurredAt"
      from recorded_event where tenant_id = ${tenantId} order by id`),
  );
  const { requestId, occurredAt } = origin;
  expect(events).toEqual(
    [creation, change].map(({ entityType, entityId, kind, after, event }) => ({
      ...{ tenantId, entityType, entityId, kind, requestId, occurredAt },
      sequence: after.version,
      data: event?.data ?? after,
      changedFields: event?.changedFields,
    })),
  );
});

test('recordChanges › the events of a row get positions in their order, even if the clock of the database goes back', async () => {
  const otherOrigin = { ...origin, tenantId: otherTenantId };
  const row = { ...creation, entityId: uuidv7() };
  const positions = await store.write(otherTenantId, async (transaction) => {
    await recordChanges(transaction, otherOrigin, [row, { ...row, entityId: uuidv7() }]);
    await transaction.all(sql`select assign_event_positions(100)`);
    // Recorded while the clock was ahead.
    await transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
      values (${otherTenantId}, ${uuidv7()}, ${row.entityType}, ${row.entityId}, 'UPDATE', 2, '{}', now() + interval '1 hour')`);
    for (const version of [3, 4])
      await recordChanges(transaction, otherOrigin, [{ ...row, kind: 'UPDATE', after: { version } }]);
    await transaction.all(sql`select assign_event_positions(100)`);
    return transaction.all<{ sequence: number }>(sql`
      select sequence from event_position positioned
      join recorded_event event on event.tenant_id = positioned.tenant_id and event.id = positioned.event_id
      where positioned.tenant_id = ${otherTenantId} and positioned.entity_id = ${row.entityId} order by position`);
  });
  expect(positions.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
});

test('recordChanges writes changes without a caller or a request', async () => {
  const withoutCaller = { ...origin, apiUserId: null, actor: 'system', requestId: null };
  await store.write(tenantId, (transaction) => recordChanges(transaction, withoutCaller, [silent]));
  expect((await audited()).at(-1)).toMatchObject({ apiUserId: null, actor: 'system', requestId: null });
});

test('recordChanges for another tenant is rejected', async () => {
  for (const one of [silent, { ...creation, entityId: uuidv7() }]) {
    const write = store.write(tenantId, (transaction) =>
      recordChanges(transaction, { ...origin, tenantId: otherTenantId }, [one]),
    );
    await expect(write).rejects.toMatchObject({ sqlState: '42501' });
  }
});

test('audit rows cannot be changed or deleted', async () => {
  await store.write(tenantId, (transaction) => recordChanges(transaction, origin, [silent]));
  const statements = [sql`update audit_log set actor = 'x'`, sql`delete from audit_log`, sql`truncate audit_log`];
  for (const statement of statements) {
    await expect(store.write(tenantId, (transaction) => transaction.all(statement))).rejects.toMatchObject({
      sqlState: '42501',
      message: expect.stringContaining('permission denied'),
    });
    const asOwner = store.system(async (transaction) => {
      await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
      await transaction.all(statement);
    });
    await expect(asOwner).rejects.toThrow('rows of audit_log are never changed or removed');
  }
});

test('two events of one version of a row are rejected', async () => {
  const twice = { ...change, entityId: uuidv7() };
  const write = store.write(tenantId, (transaction) => recordChanges(transaction, origin, [twice, twice]));
  await expect(write).rejects.toMatchObject({ constraint: 'recorded_event_entity_type_entity_id_sequence_unique' });
});

test('events and their positions cannot be changed', async () => {
  for (const statement of [sql`update recorded_event set data = '{}'`, sql`update event_position set position = 1`]) {
    const write = store.write(tenantId, (transaction) => transaction.all(statement));
    await expect(write).rejects.toMatchObject({ sqlState: '42501' });
  }
});
