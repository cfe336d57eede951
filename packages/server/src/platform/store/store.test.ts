import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import { TransactionConflict } from './errors.ts';
import type { Session, Transaction } from './store.ts';

const { store, tenantId } = await testStore();

async function orgNames(): Promise<string[]> {
  const rows = await store.read(tenantId, (session) =>
    session.all(sql<{ name: string }>`select name from org where tenant_id = ${tenantId} order by name`),
  );
  return rows.map((row) => row.name);
}

test('a transaction that throws writes nothing', async () => {
  const before = await orgNames();
  const write = store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'thrown away'));
    throw new Error('changed my mind');
  });
  await expect(write).rejects.toThrow('changed my mind');
  expect(await orgNames()).toEqual(before);
});

test('a tenant is inserted together with its first rows, or not at all', async () => {
  const insert = (name: string, work: (transaction: Transaction, id: number) => Promise<number>) =>
    store.writeNew(async (transaction) => {
      const row = await transaction.first(sql<{ id: number }>`
        insert into tenant (name, display_name, time_zone) values (${name}, ${name}, 'Asia/Tokyo') returning id`);
      const id = row?.id ?? 0;
      return { tenantId: id, value: id };
    }, work);
  const failed = insert('not_founded', async (transaction, id) => {
    await transaction.all(insertOrg(id, 'not founded'));
    throw new Error('changed my mind');
  });
  await expect(failed).rejects.toThrow('changed my mind');
  const named = await store.system((owner) => owner.all(sql`select 1 from tenant where name = 'not_founded'`));
  expect(named).toEqual([]);

  const founded = await insert('founded', async (transaction, id) => {
    await transaction.all(insertOrg(id, 'founded'));
    // From here on, the rows of other tenants are out of reach.
    const foreign = transaction.savepoint(() => transaction.all(insertOrg(tenantId, 'foreign')));
    await expect(foreign).rejects.toThrow('row-level security');
    return id;
  });
  const orgs = await store.read(founded, (session) => session.all(sql`select name from org`));
  expect(orgs).toEqual([{ name: 'founded' }]);
  expect(await orgNames()).not.toContain('foreign');
});

test('a savepoint that fails only undoes its own part', async () => {
  await store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'savepoint first'));
    const part = transaction.savepoint(async () => {
      await transaction.all(insertOrg(tenantId, 'savepoint undone'));
      await transaction.all(insertOrg(tenantId, 'savepoint first'));
    });
    await expect(part).rejects.toMatchObject({ name: 'UniqueViolation', constraint: 'org_name_unique', table: 'org' });
    await transaction.savepoint(() => transaction.all(insertOrg(tenantId, 'savepoint last')));
  });
  expect(await orgNames()).toEqual(expect.arrayContaining(['savepoint first', 'savepoint last']));
  expect(await orgNames()).not.toContain('savepoint undone');
});

test('savepoints can be nested', async () => {
  await store.write(tenantId, async (transaction) => {
    await transaction.savepoint(async () => {
      await transaction.all(insertOrg(tenantId, 'nested outer'));
      const inner = transaction.savepoint(async () => {
        await transaction.all(insertOrg(tenantId, 'nested inner'));
        throw new Error('inner');
      });
      await expect(inner).rejects.toThrow('inner');
    });
  });
  expect(await orgNames()).toContain('nested outer');
  expect(await orgNames()).not.toContain('nested inner');
});

test('a savepoint whose work hides a failed statement fails, and the transaction continues', async () => {
  await store.write(tenantId, async (transaction) => {
    const part = transaction.savepoint(() => transaction.all(sql`select 1 / 0`).catch(() => undefined));
    await expect(part).rejects.toMatchObject({ sqlState: '25P02' });
    await transaction.all(insertOrg(tenantId, 'after hidden failure'));
  });
  expect(await orgNames()).toContain('after hidden failure');
});

test('a transaction whose work hides a failed statement does not count as committed', async () => {
  const write = store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'hidden'));
    await transaction.all(sql`select 1 / 0`).catch(() => undefined);
  });
  await expect(write).rejects.toThrow('Nothing was written');
  expect(await orgNames()).not.toContain('hidden');
});

test('a conflict retries the whole work', async () => {
  let runs = 0;
  await store.write(tenantId, async (transaction) => {
    runs += 1;
    await transaction.all(insertOrg(tenantId, 'conflict'));
    // Simulates a serialization failure that the work catches.
    const conflict = sql`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`;
    if (runs < 3) await transaction.savepoint(() => transaction.all(conflict)).catch(() => undefined);
  });
  expect(runs).toBe(3);
  expect(await orgNames()).toContain('conflict');
});

test('a persistent conflict is reported', async () => {
  let runs = 0;
  const write = store.write(tenantId, async (transaction) => {
    runs += 1;
    await transaction.all(sql`do $$ begin raise exception 'conflict' using errcode = '40P01'; end $$`);
  });
  await expect(write).rejects.toBeInstanceOf(TransactionConflict);
  expect(runs).toBe(8);
});

test('a session that is used after its work throws', async () => {
  let kept: Session | undefined;
  await store.read(tenantId, async (session) => {
    kept = session;
  });
  await expect(kept?.all(sql`select 1`)).rejects.toThrow('has ended');
});

test('statements that are started concurrently run one after the other', async () => {
  const rows = await store.read(tenantId, (session) =>
    Promise.all([1, 2, 3].map((number) => session.first(sql`select ${number}::integer as number`))),
  );
  expect(rows).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }]);
});

test('a nested call throws instead of waiting for a connection forever', async () => {
  const write = store.write(tenantId, () => store.read(tenantId, (session) => session.all(sql`select 1`)));
  await expect(write).rejects.toThrow('already in use');
});
