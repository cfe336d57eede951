import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import { testStore } from '../../test/database.ts';
import { type AuditEntry, recordAudit } from './audit.ts';
import { type OutboxEvent, recordEvents } from './outbox.ts';

const { store, tenantId, otherTenantId } = await testStore();

const entry: AuditEntry = {
  tenantId,
  apiUserId: uuidv7(),
  actor: 'crm',
  operation: 'upsertContacts',
  requestId: 'request-1',
  entityType: 'Contact',
  entityId: uuidv7(),
  before: null,
  after: { name: 'Åsa "Quote" O’Neil', tags: [] },
  occurredAt: '2026-10-01T09:30:00.123Z',
};
const event: OutboxEvent = {
  tenantId,
  entityType: 'Contact',
  entityId: uuidv7(),
  operation: 'UPDATE',
  sequence: 3,
  data: { id: 1, list: ['a'] },
  changedFields: ['name', 'email'],
  requestId: null,
  occurredAt: '2026-10-01T09:30:00.123Z',
};

test('audit entries are written as they are given, any number at once', async () => {
  const entries = [entry, { ...entry, apiUserId: null, requestId: null, before: { old: 1 }, after: null }];
  await store.write(tenantId, async (transaction) => {
    await recordAudit(transaction, []);
    await recordAudit(transaction, entries);
  });
  const rows = await store.read(tenantId, (session) =>
    session.all(sql`
      select tenant_id as "tenantId", api_user_id as "apiUserId", actor, operation, request_id as "requestId",
        entity_type as "entityType", entity_id as "entityId", before, after, occurred_at as "occurredAt"
      from audit_log where tenant_id = ${tenantId} order by id`),
  );
  expect(rows).toEqual(entries);
});

test('an audit entry for another tenant is refused', async () => {
  const write = store.write(tenantId, (transaction) =>
    recordAudit(transaction, [{ ...entry, tenantId: otherTenantId }]),
  );
  await expect(write).rejects.toMatchObject({ sqlState: '42501' });
});

test('nobody changes or removes an audit entry', async () => {
  await store.write(tenantId, (transaction) => recordAudit(transaction, [entry]));
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

test('events are written as they are given, any number at once', async () => {
  const created: OutboxEvent = { ...event, operation: 'CREATE', sequence: 1, changedFields: null };
  await store.write(tenantId, (transaction) => recordEvents(transaction, [created, event]));
  const rows = await store.read(tenantId, (session) =>
    session.all(sql`
      select tenant_id as "tenantId", entity_type as "entityType", entity_id as "entityId", operation, sequence, data,
        changed_fields as "changedFields", request_id as "requestId", occurred_at as "occurredAt"
      from outbox_event where tenant_id = ${tenantId} and dispatched_at is null order by id`),
  );
  expect(rows).toEqual([created, event]);
});

test('two events of one version of a row are refused', async () => {
  const twice = { ...event, entityId: uuidv7() };
  const write = store.write(tenantId, (transaction) => recordEvents(transaction, [twice, twice]));
  await expect(write).rejects.toMatchObject({ constraint: 'outbox_event_entity_type_entity_id_sequence_unique' });
});

test('of an event only the dispatch can be changed', async () => {
  await store.write(tenantId, (transaction) => transaction.all(sql`update outbox_event set dispatched_at = now()`));
  const write = store.write(tenantId, (transaction) => transaction.all(sql`update outbox_event set data = '{}'`));
  await expect(write).rejects.toMatchObject({ sqlState: '42501' });
});
