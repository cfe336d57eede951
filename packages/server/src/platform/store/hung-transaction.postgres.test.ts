import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { nextNumber, takeNumbers } from './counter.ts';
import { DatabaseUnavailable } from './errors.ts';
import { standardLimits } from './limits.ts';

const idleInTransaction = 500;
const { store, tenantId } = await testStore({ limits: { idleInTransaction, lock: 20_000 } });

test('a transaction whose process hangs keeps others waiting for its gapless numbers for a short time, and not at all for others', async () => {
  const held = Promise.withResolvers<void>();
  const hung = store.write(tenantId, async (transaction) => {
    await nextNumber(transaction, tenantId, 'invoice.invoice_number');
    await takeNumbers(transaction, tenantId, 'client.client_ref', 1);
    held.resolve();
    await pause(4 * idleInTransaction);
  });
  hung.catch(() => undefined);
  await held.promise;
  const isHung = () => Promise.race([hung.then(() => false), pause(0).then(() => true)]);
  expect(await store.write(tenantId, (one) => takeNumbers(one, tenantId, 'client.client_ref', 1))).toBe(2);
  expect(await store.write(tenantId, (one) => nextNumber(one, tenantId, 'invoice.invoice_number'))).toBe(1);
  expect(await isHung()).toBe(true);
  // Nothing was committed, so it is no unknown outcome.
  await expect(hung).rejects.toBeInstanceOf(DatabaseUnavailable);
  expect(standardLimits.idleInTransaction).toBeLessThanOrEqual(5_000);
});
