import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { lastNumber, nextNumber, takeNumbers } from './counter.ts';
import type { Transaction } from './session.ts';

const { store, tenantId, otherTenantId } = await testStore({ poolSize: 20 });

test('nextNumber › counts from 1 for each tenant and name, also several at a time', async () => {
  const take = (tenant: number, name: string, count?: number) =>
    store.write(tenant, (transaction) => nextNumber(transaction, tenant, name, count));
  expect(await take(tenantId, 'Invoice/a')).toBe(1);
  expect(await take(tenantId, 'Invoice/a', 10)).toBe(2);
  expect(await take(tenantId, 'Invoice/a')).toBe(12);
  expect(await take(tenantId, 'Invoice/b')).toBe(1);
  expect(await take(otherTenantId, 'Invoice/a')).toBe(1);
});

test.each([0, -1, 1.5, Number.NaN])('nextNumber › rejects a count of %s', async (count) => {
  const taken = store.write(tenantId, (transaction) => nextNumber(transaction, tenantId, 'Invoice/a', count));
  await expect(taken).rejects.toThrow(RangeError);
});

test('nextNumber › leaves no gap and no duplicate under concurrent transactions, some of which roll back', async () => {
  const taken: number[] = [];
  let rolledBack = 0;
  const transactions = Array.from({ length: 200 }, (_, index) =>
    store
      .write(tenantId, async (transaction) => {
        const count = 1 + (index % 3);
        const first = await nextNumber(transaction, tenantId, 'Invoice/concurrent', count);
        // The lock is held during another statement, so that other transactions wait for it.
        await transaction.all(sql`select 1`);
        if (index % 4 === 0) throw new Error('Rolled back.');
        return Array.from({ length: count }, (_, offset) => first + offset);
      })
      .then(
        (numbers) => void taken.push(...numbers),
        (error: Error) => {
          if (error.message !== 'Rolled back.') throw error;
          rolledBack += 1;
        },
      ),
  );
  await Promise.all(transactions);
  expect(rolledBack).toBe(50);
  expect(taken.toSorted((left, right) => left - right)).toEqual(taken.map((_, index) => index + 1));
});

test('nextNumber › returns the numbers of a savepoint that is undone', async () => {
  const numbers = await store.write(tenantId, async (transaction) => {
    const take = () => nextNumber(transaction, tenantId, 'Invoice/savepoint');
    const first = await take();
    const undone = transaction.savepoint(async () => {
      await take();
      throw new Error('Undone.');
    });
    await expect(undone).rejects.toThrow('Undone.');
    return [first, await take()];
  });
  expect(numbers).toEqual([1, 2]);
});

test('takeNumbers › numbers what may have gaps without waiting for open transactions, and keeps numbers of those that roll back', async () => {
  const take = (transaction: Transaction, count = 1) => takeNumbers(transaction, tenantId, 'client.client_ref', count);
  const ofRolledBack = store.write(tenantId, async (transaction) => {
    expect(await take(transaction, 2)).toBe(1);
    throw new Error('Rolled back.');
  });
  await expect(ofRolledBack).rejects.toThrow('Rolled back.');
  const ofOpen = Promise.withResolvers<number>();
  const others = Promise.withResolvers<void>();
  const open = store.write(tenantId, async (transaction) => {
    ofOpen.resolve(await take(transaction));
    await others.promise;
  });
  // PGlite has one connection, whose transaction is over before the next one begins.
  if (store.engine === 'pglite') others.resolve();
  const first = store.engine === 'pglite' ? 1 : 3;
  expect(await ofOpen.promise).toBe(first);
  expect(await store.write(tenantId, (one) => take(one))).toBe(first + 1);
  others.resolve();
  await open;
  expect(await store.write(tenantId, (one) => lastNumber(one, tenantId, 'client.client_ref'))).toBe(first + 1);
});

test('takeNumbers › counts for each tenant, whatever the name', async () => {
  const name = `client.'"; drop table tenant_counter`;
  const take = (tenant: number) => store.write(tenant, (transaction) => takeNumbers(transaction, tenant, name, 1));
  expect([await take(tenantId), await take(tenantId), await take(otherTenantId)]).toEqual([1, 2, 1]);
});
