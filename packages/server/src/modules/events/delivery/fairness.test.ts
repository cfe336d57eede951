import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { deliveringService } from '../../../../test/delivery.ts';
import { type Receiver, startReceiver } from '../../../../test/receiver.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';

const service = await deliveringService({ sending: { timeout: 600_000 } });
const { store, subscribe, start } = service;

/** Records events of rows of their own, without the writes. */
async function record({ id }: Tenant, count: number, entityType = 'ClientGroup'): Promise<void> {
  await store.write(id, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
      select ${id}, uuidv7(), ${entityType}, uuidv7(), 'CREATE', 1, '{}', clock_timestamp()
      from generate_series(1, ${count}::integer)`),
  );
  store.notify('events_recorded', String(id));
}

/** Returns the longest time that events wait, one after the other, in milliseconds. */
async function longestWait(tenant: Tenant, receiver: Receiver, count: number): Promise<number> {
  let longest = 0;
  for (let index = 0; index < count; index++) {
    const before = receiver.arrivals.length;
    const recorded = performance.now();
    await record(tenant, 1);
    await expect.poll(() => receiver.arrivals.length, { interval: 2 }).toBe(before + 1);
    longest = Math.max(longest, (receiver.arrivals.at(-1)?.at ?? 0) - recorded);
  }
  return longest;
}

test('subscriptions of a tenant whose receivers take long do not delay the events of other tenants', async () => {
  await start();
  const quick = await startReceiver();
  const other = await service.addTenant('other');
  await subscribe(quick, {}, await service.signIn({ roles: ['API_ADMIN'], tenant: other }));
  const slow = await startReceiver();
  slow.respond = () => new Promise((resolve) => setTimeout(resolve, 14_000));
  for (let index = 0; index < 100; index++) await subscribe(slow);
  const healthy = await startReceiver();
  await subscribe(healthy, { entityType: 'ContactInfo' });
  await record(service.tenant, 100);
  await expect.poll(() => slow.arrivals.length).toBeGreaterThan(60);
  // An event that waits for a slow receiver waits for 14 s.
  expect(await longestWait(other, quick, 20)).toBeLessThan(7_000);
  // A healthy subscription of the same tenant waits for its turn, and not for the receivers of the others.
  await record(service.tenant, 1, 'ContactInfo');
  await expect.poll(() => healthy.arrivals.length, { timeout: 10_000 }).toBe(1);
});
