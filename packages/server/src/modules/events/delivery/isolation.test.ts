import { sql } from 'kysely';
import { describe, expect, test, vi } from 'vitest';
import { deliveringService } from '../../../../test/delivery.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { startReceiver } from '../../../../test/receiver.ts';

const service = await deliveringService({ sending: { timeout: 600_000 } });
const { subscribe, change, deliveries, subscription, store, tenant, start, passTime } = service;

/** Events of rows of their own, without the writes. */
const record = (count: number, entityType = 'ClientGroup', later = '0') =>
  change(sql`
    insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
    select ${tenant.id}, uuidv7(), ${entityType}, uuidv7(), 'CREATE', 1, jsonb_build_object('number', number),
      clock_timestamp() + ${later}::interval
    from generate_series(1, ${count}::integer) number`);
const notify = () => store.notify('events_recorded', String(tenant.id));

describe('the assignment of positions', () => {
  test('delivers events of transactions that commit in another order than they were recorded', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver, { entityType: 'ContactInfo' });
    const delivery = await start();
    // As if the second transaction had recorded its event first, and committed last.
    await record(1, 'ContactInfo', '1 minute');
    notify();
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    await record(1, 'ContactInfo');
    notify();
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    // The receiver has them before the server has stored the results.
    await expect.poll(async () => (await deliveries(id)).length).toBe(2);
    await delivery.stop(1_000);
    await change(sql`update event_subscription set active = false, deactivated_at = now() where id = ${id}`);
  });
});

describe('subscriptions that fail or hang', () => {
  test('hold up no other one', async () => {
    const delivery = await start();
    const dead = await startReceiver();
    // Nothing that this receiver takes ends before the test does: whoever waited for it would wait for ever.
    dead.respond = () => new Promise(() => undefined);
    const failing = await startReceiver();
    failing.respond = (_, response) => response.writeHead(500).end();
    const healthy = await Promise.all(Array.from({ length: 10 }, () => startReceiver()));
    for (let index = 0; index < 20; index++) await subscribe(dead);
    const { id } = await subscribe(failing);
    for (const receiver of healthy) await subscribe(receiver);
    await record(40);
    notify();
    await expect.poll(() => healthy.map(({ arrivals }) => arrivals.length)).toEqual(Array(10).fill(40));
    expect(dead.arrivals.length).toBeGreaterThan(64);
    await expect.poll(async () => (await subscription(id)).consecutiveFailures).toBeGreaterThanOrEqual(5);
    await delivery.stop(0);
    await change(sql`update event_subscription set active = false, deactivated_at = now() where active`);
  });

  test('keep what waits for them in the outbox, and not in memory', async () => {
    const dead = await startReceiver();
    dead.respond = (_, response) => response.writeHead(503).end();
    const { id } = await subscribe(dead);
    const events = isNightly ? 3_000 : 600;
    await record(events);
    notify();
    const delivery = await start();
    for (let probes = 0; probes < 5; probes++) {
      await passTime();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await expect.poll(async () => (await subscription(id)).consecutiveFailures).toBeGreaterThanOrEqual(5);
    const [kept] = (await change(sql`
      select count(*)::integer as retries from delivery_retry where subscription_id = ${id}`)) as { retries: number }[];
    expect(kept?.retries).toBeLessThan(50);
    dead.respond = () => undefined;
    const seen = () => new Set(dead.arrivals.map(({ event }) => event.entityId)).size;
    while (seen() < events) {
      await passTime();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await delivery.stop(1_000);
    await change(sql`update event_subscription set active = false, deactivated_at = now() where active`);
  });
});

test('the lease of a subscription whose work failed ends, while the process has others', async () => {
  const hanging = await startReceiver();
  hanging.respond = () => new Promise(() => undefined);
  const waits = await subscribe(hanging, { entityType: 'ContactInfo' });
  const fails = await subscribe(await startReceiver());
  const delivery = await start();
  await record(1, 'ContactInfo');
  notify();
  await expect.poll(() => hanging.arrivals.length).toBe(1);
  const leaseOf = async (id: string) => {
    const [row] = await change(
      sql`select leased_until as "until" from delivery_partition where subscription_id = ${id}`,
    );
    return String(Reflect.get(Object(row), 'until'));
  };
  const read = vi.spyOn(service.service.store, 'read').mockRejectedValueOnce(new Error('The connection broke.'));
  await record(1);
  notify();
  await expect.poll(() => leaseOf(fails.id)).not.toBe('null');
  read.mockRestore();
  const until = await leaseOf(fails.id);
  await expect.poll(async () => (await leaseOf(waits.id)) > until, { timeout: 10_000 }).toBe(true);
  expect(await leaseOf(fails.id)).toBe(until);
  await delivery.stop(0);
  await change(sql`update event_subscription set active = false, deactivated_at = now() where active`);
});

describe('a process that stops', () => {
  test('leaves what it has not sent to the next one, which sends it at once', async () => {
    const receiver = await startReceiver();
    await subscribe(receiver);
    let slow = true;
    receiver.respond = () => (slow ? new Promise((resolve) => setTimeout(resolve, 300)) : undefined);
    await record(100);
    const first = await start();
    notify();
    await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(0);
    await first.stop(2_000);
    const before = receiver.arrivals.length;
    expect(before).toBeLessThan(100);
    slow = false;
    const second = await start();
    await expect.poll(() => new Set(receiver.arrivals.map(({ event }) => event.entityId)).size).toBe(100);
    // What was under way was waited for, so nothing comes twice.
    expect(receiver.arrivals.length).toBe(100);
    await second.stop(1_000);
  });
});
