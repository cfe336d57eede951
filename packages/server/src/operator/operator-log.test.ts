import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts';
import { runCommand } from './commands.ts';

const { service, store, tenant, call, addTenant } = await testService();
const operator = { service };
const crm = { tenant: tenant.name, user: 'crm', roles: ['REF_R'], days: 1, description: 'for the CRM' };

interface AuditRow {
  readonly operation: string;
  readonly actor: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

function auditOf(entityId: string): Promise<AuditRow[]> {
  return store.read(tenant.id, (session) =>
    session.all<AuditRow>(sql`
      select operation, actor, entity_type as "entityType", entity_id as "entityId", before, after from audit_log
      where tenant_id = ${tenant.id} and entity_id = ${entityId} order by id`),
  );
}

function operatorLog(): Promise<{ operation: string; subject: string; details: unknown }[]> {
  return store.system((transaction) =>
    transaction.all(sql`select operation, subject, details from operator_log order by id`),
  );
}

test('creating and revoking an API key adds rows to the audit log, without the key', async () => {
  const { id, key, expiresAt } = await createApiKey(operator, crm);
  await revokeApiKey(operator, tenant.name, id);
  const rows = await auditOf(id);
  expect(rows).toMatchObject([
    {
      operation: 'api-key create',
      actor: 'operator',
      entityType: 'ApiKey',
      before: null,
      after: { expiresAt, description: 'for the CRM' },
    },
    {
      operation: 'api-key revoke',
      actor: 'operator',
      before: { revokedAt: null },
      after: { revokedAt: expect.any(String) },
    },
  ]);
  expect(JSON.stringify(rows)).not.toContain(key.split('.')[2]);
});

test('a change of roles adds a row with the roles before and after; no change adds none', async () => {
  await createApiKey(operator, crm);
  await createApiKey(operator, { ...crm, roles: ['REF_R', 'CLNT_R'] });
  const user = await store.read(tenant.id, (session) =>
    session.first<{ id: string }>(sql`select id from api_user where tenant_id = ${tenant.id} and name = 'crm'`),
  );
  const changes = (await auditOf(user?.id ?? '')).map(({ before, after }) => [before?.roles, after?.roles]);
  expect(changes).toEqual([
    [undefined, ['REF_R']],
    [['REF_R'], ['REF_R', 'CLNT_R']],
  ]);
});

test('signing keys and new tenants add rows to the operator log, which cannot be changed', async () => {
  const before = service.keys.signingKey().kid;
  const { kid } = await runCommand(operator, 'signing-key rotate', null);
  await runCommand(operator, 'signing-key retire', { kid: before });
  await addTenant('logged');
  expect((await operatorLog()).slice(-3)).toEqual([
    { operation: 'signing-key rotate', subject: kid, details: null },
    {
      operation: 'signing-key retire',
      subject: before,
      details: null,
    },
    {
      operation: 'tenant create',
      subject: 'logged',
      details: expect.objectContaining({ timeZone: 'America/New_York' }),
    },
  ]);
  for (const statement of [sql`delete from operator_log`, sql`update operator_log set subject = 'x'`]) {
    await expect(store.system((transaction) => transaction.all(statement))).rejects.toMatchObject({
      sqlState: '42501',
    });
  }
  const reading = store.read(tenant.id, (session) => session.all(sql`select * from operator_log`));
  await expect(reading).rejects.toMatchObject({ sqlState: '42501' });
});

test('api-key list shows when a key was last used, and the signing key that it depends on', async () => {
  const { id, key } = await createApiKey(operator, { ...crm, user: 'used' });
  const listed = async () => (await listApiKeys(operator, tenant.name)).find((row) => row.id === id);
  expect(await listed()).toMatchObject({ lastUsedAt: null, signingKey: service.keys.signingKey().kid });
  const exchange = () => call('POST', '/v1/auth/token', { apiKey: key });
  expect(await exchange()).toMatchObject({ status: 200 });
  const used = (await listed())?.lastUsedAt;
  expect(used).toMatch(/^\d{4}-\d\d-\d\dT/);
  // With a precision of a quarter of an hour: not every use is written.
  expect(await exchange()).toMatchObject({ status: 200 });
  expect((await listed())?.lastUsedAt).toBe(used);
});
