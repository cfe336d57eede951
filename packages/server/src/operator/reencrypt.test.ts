import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { WriteResult } from '../../test/modules/records.ts';
import { testService } from '../../test/service.ts';
import { importedContentPurpose } from '../modules/bulk/index.ts';
import { currentSecret } from '../modules/events/signatures/webhook-secret.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import { type MasterKeys, Vault } from '../platform/auth/vault.ts';
import { urlPurpose } from './databases/index.ts';
import { reencryptAll } from './reencrypt.ts';

const [former, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const { service, store, tenant, call } = await testService({ config: { masterKeys: [former] } });
/** The service in a process that was started with these keys. */
const withKeys = (...keys: MasterKeys) => ({ service: { ...service, vault: new Vault(keys) } });

/** All encrypted values, by their columns. */
async function storedValues(): Promise<Record<string, string[]>> {
  const columns = await store.system((transaction) =>
    transaction.all<{ table: string; column: string; isOfTenant: boolean }>(sql`
      select table_name as "table", column_name as "column", exists (select from information_schema.columns t
        where t.table_schema = 'public' and t.table_name = c.table_name and t.column_name = 'tenant_id') as "isOfTenant"
      from information_schema.columns c where table_schema = 'public' and column_name like '%\_encrypted' order by 1, 2`),
  );
  const found: Record<string, string[]> = {};
  for (const { table, column, isOfTenant } of columns) {
    const query = sql<{ value: string }>`
      select encode(${sql.ref(column)}, 'hex') as value from ${sql.table(table)} where ${sql.ref(column)} is not null`;
    const rows = isOfTenant
      ? await store.read(tenant.id, (session) => session.all(query))
      : await store.system((transaction) => transaction.all(query));
    found[`${table}.${column}`] = rows.map(({ value }) => value);
  }
  return found;
}

test('master-key reencrypt › each value of each column is under the first key afterwards, and no row has changed', async () => {
  await call('POST', '/api/v1/clients/v1/onboard', {
    name: 'Harbor',
    address: {},
    taxId: '98-7654321',
  });
  const record = { type: 'ClientGroup', systemRef: 'season', attributes: { name: 'Season' } };
  expect((await call('POST', '/api/v1/records/batch', { records: [record] })).status).toBe(202);
  const imported = {
    type: 'Client',
    systemRef: 'old',
    source: 'IMPORT',
    attributes: { name: 'Old', taxId: '12-3456789' },
  };
  const importAgain = async () =>
    (await call<WriteResult>('POST', '/api/v1/records', { records: [imported] })).body.records[0]?.status;
  expect([await importAgain(), await importAgain()]).toEqual(['CREATED', 'UNCHANGED']);
  // The version before stored digests as they are.
  const [digest] = (await storedValues())['imported_content.digest_encrypted'] ?? [];
  const plain = service.vault.decrypt(importedContentPurpose, Buffer.from(digest ?? '', 'hex'));
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update imported_content set digest = decode(${plain}, 'hex'), digest_encrypted = null`),
  );
  expect(await importAgain()).toBe('UNCHANGED');
  expect((await reencryptAll(withKeys(former))).reencrypted).toBe(0);
  expect(await importAgain()).toBe('UNCHANGED');
  const secret = await currentSecret(store, service.vault, tenant.id);
  const address = service.vault.encrypt(urlPurpose, 'postgres://west');
  await store.system((transaction) =>
    transaction.all(sql`insert into cell (number, name, url_encrypted) values (1, 'west', ${address})`),
  );
  // Read in the database: this process cannot read the signing key any more afterwards.
  const clients = () =>
    store.read(tenant.id, (session) =>
      session.all(sql`select to_jsonb(c) - 'tax_id_encrypted' as client from client c order by id`),
    );
  const clientsBefore = await clients();
  const before = await storedValues();
  const count = Object.values(before).flat().length;
  expect(Object.values(before).map(({ length }) => length)).not.toContain(0);

  // A process that has both keys, whichever is the first, works with what either has written.
  expect(await reencryptAll(withKeys(former, next))).toEqual({ values: count, reencrypted: 0 });
  const both = withKeys(next, former);
  const cursor = service.vault.sign('cursor', 'page 2');
  expect(both.service.vault.verify('cursor', 'page 2', cursor)).toBe(true);
  expect(withKeys(next).service.vault.verify('cursor', 'page 2', cursor)).toBe(false);
  expect(await reencryptAll(both)).toEqual({ values: count, reencrypted: count });

  const after = await storedValues();
  for (const [column, values] of Object.entries(before))
    expect(after[column], column).toEqual(values.map(() => expect.not.stringMatching(values.join('|'))));
  const alone = withKeys(next).service.vault;
  expect(await reencryptAll(withKeys(next))).toEqual({ values: count, reencrypted: 0 });
  expect(await currentSecret(store, alone, tenant.id)).toEqual(secret);
  await KeyRing.open(store, alone);
  expect(await clients()).toEqual(clientsBefore);
  const acts = await store.system((transaction) =>
    transaction.all<{ details: unknown }>(
      sql`select details from operator_log where operation = 'master-key reencrypt' order by id`,
    ),
  );
  expect(acts.map(({ details }) => details)).toContainEqual({ values: count, reencrypted: count });
});

test('master-key reencrypt › names a column whose values are under none of the keys, and a tenant that moves', async () => {
  await expect(reencryptAll(withKeys(Buffer.alloc(32, 3)))).rejects.toThrow(
    /^A value of client\.tax_id_encrypted is under none of the keys in MASTER_KEY\./,
  );
  await store.system((transaction) =>
    transaction.all(sql`
      insert into tenant_move (tenant, phase, cell, move_id, mover, mover_until)
      values (${tenant.id}, 'LEAVING', 1, gen_random_uuid(), gen_random_uuid(), now())`),
  );
  await expect(reencryptAll(withKeys(next))).rejects.toThrow(/^The tenant firm moves to another database\./);
});
