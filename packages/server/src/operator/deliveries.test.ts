import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { deliveringService } from '../../test/delivery.ts';
import { sampleOf } from '../../test/nightly.ts';
import { startReceiver } from '../../test/receiver.ts';
import { testService } from '../../test/service.ts';
import type { Tick } from '../background/clock.ts';
import { writeAsSystem } from '../background/write-as-system.ts';
import { removeOldEvents } from '../modules/events/delivery/retention.ts';
import { keepPartitions } from '../platform/store/partitions.ts';
import { runCommand } from './commands.ts';
import { replayDeliveries, rotateWebhookSecret } from './deliveries.ts';
import { visitFirm } from './firm-calls.ts';
import { listenForEvents } from './webhook-listen.ts';
import { triggerEvent, triggers } from './webhook-trigger.ts';

const service = await deliveringService();
const { subscribe, groups, deliveries, change, call, secret, start, tenant, store, address } = service;
const operator = { service: service.service };
await start();
const minuteAgo = () => Temporal.Now.instant().subtract({ minutes: 1 }).toString();

describe('deliveries replay', () => {
  test('sends one event again, and all failed events in their order', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = ({ event }, response) => {
      if (event.data.name !== 'Fine') response.writeHead(400).end();
    };
    await groups('Broken', 'Fine');
    await expect.poll(async () => (await deliveries(id)).length).toBe(2);
    // Simulates that all its attempts have failed.
    await change(sql`delete from delivery_retry where subscription_id = ${id}`);
    receiver.respond = () => undefined;
    const since = minuteAgo();
    expect(await replayDeliveries(operator, { tenant: tenant.name, since, subscription: id })).toEqual({ events: 1 });
    await expect.poll(async () => (await deliveries(id)).length).toBe(3);
    expect((await deliveries(id))[0]).toMatchObject({ outcome: 'SUCCESS', attempt: 1 });
    await expect(replayDeliveries(operator, { tenant: tenant.name, since, subscription: id })).rejects.toThrow(
      'nothing',
    );

    const [latest] = await call<{ data: { id: string }[] }>('GET', `/api/v1/event-subscriptions/${id}/deliveries`).then(
      ({ body }) => body.data,
    );
    expect(await replayDeliveries(operator, { tenant: tenant.name, delivery: latest?.id })).toEqual({ events: 1 });
    await expect.poll(() => receiver.arrivals.length).toBe(4);
    expect(receiver.arrivals[3]?.event.id).toBe(receiver.arrivals[2]?.event.id);
    const log = await store.system((transaction) =>
      transaction.all(sql`select subject from operator_log where operation = 'deliveries replay'`),
    );
    expect(log).toEqual([{ subject: tenant.name }, { subject: tenant.name }]);
  });

  test('reports errors', async () => {
    const replay = (request: object) => replayDeliveries(operator, { tenant: tenant.name, ...request });
    await expect(replay({})).rejects.toThrow('either --delivery or --since');
    await expect(replay({ since: 'yesterday' })).rejects.toThrow('not an instant');
    await expect(replay({ delivery: "x'" })).rejects.toThrow('not the ID');
    await expect(replay({ delivery: '0199a1c2-1b04-7c01-8a4f-5d2e9b60f101' })).rejects.toThrow('nothing to send');
    await expect(replay({ tenant: 'nobody', since: minuteAgo() })).rejects.toThrow('The tenant nobody does not exist.');
  });
});

test('webhook rotate-secret › replaces the secret that the API returns', async () => {
  const before = await secret();
  await rotateWebhookSecret(operator, { tenant: tenant.name, hours: 1 });
  expect(await secret()).not.toBe(before);
});

describe('webhook listen', () => {
  test('receives every event that can be triggered, deactivates its subscriptions when it stops, and takes them again', async () => {
    const { calls } = await visitFirm((name, input) => runCommand(operator, name, input), {
      tenant: tenant.name,
      baseUrl: address,
      user: 'trial',
    });
    const lines: string[] = [];
    const listening = await listenForEvents(calls, { types: [], print: (line) => lines.push(line) });
    // The others change a row, which this tenant does not have.
    for (const event of triggers.filter((one) => /^(Client|ClientGroup|Contact|StaffType|Payment)\./.test(one))) {
      const [type, operation] = event.split('.');
      const id = await triggerEvent(calls, event);
      const isIt = (line: string) =>
        [type, operation, id].every((part) => line.includes(`"${part}"`)) && line.includes('signature verified');
      await expect.poll(() => lines.some(isIt), { message: event }).toBe(true);
    }
    // Of the others, the example is sent. A custom record type has a name of its own.
    const { data: catalog } = await calls.call<{ data: { entityType: string; operation: string }[] }>(
      'GET',
      '/api/v1/event-subscriptions/catalog?enabled=true',
    );
    const examples = catalog
      .map(({ entityType, operation }) => `${entityType}.${operation}`)
      .filter((event) => !triggers.includes(event));
    expect(examples).toEqual(expect.arrayContaining(['Invoice.CREATE', 'TimeEntry.UPDATE', 'Mail.CREATE']));
    for (const event of sampleOf(examples, 10)) {
      const id = await triggerEvent(calls, event);
      const [type, operation] = event.split('.');
      const isIt = (line: string) => [type, operation, id].every((part) => line.includes(`"${part}"`));
      expect(lines.filter(isIt), event).toHaveLength(1);
    }
    await listening.close();
    await expect(triggerEvent(calls, 'Invoice.CREATE')).rejects.toThrow('No active subscription receives');
    const { data } = await calls.call<{ data: { active: boolean; description: string }[] }>(
      'GET',
      '/api/v1/event-subscriptions?pageSize=100',
    );
    const own = data.filter(({ description }) => description === 'webhook listen');
    expect(own.length).toBeGreaterThan(20);
    expect(own.every(({ active }) => !active)).toBe(true);

    const target = await startReceiver();
    target.respond = (_, response) => void response.writeHead(204).end();
    const again: string[] = [];
    const options = { types: ['Client'], print: (line: string) => again.push(line), isCompact: true };
    const second = await listenForEvents(calls, { ...options, forwardTo: target.url });
    const client = await triggerEvent(calls, 'Client.CREATE');
    await expect.poll(() => again.at(-1)).toContain(`signature verified  Client.CREATE  ${client}  forwarded, 204`);
    expect(target.arrivals[0]?.event).toMatchObject({ entityId: client });
    await second.close();
    const after = await calls.call<{ data: { active: boolean }[] }>('GET', '/api/v1/event-subscriptions?pageSize=100');
    expect(after.data.map(({ active }) => active)).toEqual(data.map(({ active }) => active));
    await expect(listenForEvents(calls, { types: ['Elephant'], print: () => undefined })).rejects.toThrow('Elephant');
    await expect(triggerEvent(calls, 'Elephant.CREATE')).rejects.toThrow('There are: Client.CREATE');
  });
});

test('webhook trigger › changes a row of every type that records update, and the feed has the event', async () => {
  const admin = await testService({ filled: 'examples', roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
  const calls = {
    call: async <Body>(method: string, path: string, body?: object) =>
      (await admin.call<Body>(method, path, body)).body,
  };
  const found: string[] = [];
  for (const event of triggers) {
    const id = await triggerEvent(calls, event).catch((error: Error) => found.push(`${event}: ${error.message}`));
    const [type = '', operation] = event.split('.');
    const recorded = await admin.store.read(admin.tenant.id, (session) =>
      session.all(sql`
        select from recorded_event
        where tenant_id = ${admin.tenant.id} and entity_type = ${type} and operation = ${operation ?? ''} and entity_id = ${id}`),
    );
    found.push(recorded.length > 0 ? event : `${event} is missing`);
  }
  expect(found).toEqual(triggers);
  expect(triggers).toEqual(expect.arrayContaining(['Invoice.UPDATE', 'Job.UPDATE']));
});

describe('remove-old-events', () => {
  const attempts = (tenantId: number, days: number, count: number) => sql`
    insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
      delivery_url, outcome, duration_ms, attempted_at)
    select ${tenantId}, uuidv7(), uuidv7(), uuidv7(), 'ClientGroup', 'CREATE', uuidv7(), 1, 'https://example.com/', 'SUCCESS',
      1, now() - make_interval(days => ${days}::integer) from generate_series(1, ${count}::integer)`;
  const run = (of: typeof tenant) =>
    removeOldEvents.run({
      tenant: of,
      now: Temporal.Now.instant(),
      signal: new AbortController().signal,
      write: (work: Parameters<Tick['write']>[0]) =>
        writeAsSystem(service.service, of, { operation: 'clock', requestId: 'test' }, work, async () => {}),
    } as Tick);

  test('removes only events older than 30 days, in batches', async () => {
    const old = await service.addTenant('old');
    const fill = (days: number, count: number) =>
      store.write(old.id, async (transaction) => {
        await transaction.all(sql`
          insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
          select ${old.id}, uuidv7(), 'ClientGroup', uuidv7(), 'CREATE', 1, '{}', now() - make_interval(days => ${days}::integer)
          from generate_series(1, ${count}::integer)`);
        await transaction.all(sql`select assign_event_positions(100000)`);
      });
    await fill(31, 2_500);
    await fill(29, 10);
    await run(old);
    const left = await store.read(old.id, (session) =>
      session.all(sql`select (select count(*)::integer from recorded_event where tenant_id = ${old.id}) as events,
        (select count(*)::integer from event_position where tenant_id = ${old.id}) as positions`),
    );
    expect(left).toEqual([{ events: 10, positions: 10 }]);
  });

  test('leaves attempts to the end of their month, and removes those that were imported after that, in batches', async () => {
    const late = await service.addTenant('late');
    const add = (days: number, count: number) =>
      store.write(late.id, (transaction) => transaction.all(attempts(late.id, days, count)));
    const left = async () => {
      const rows = await store.read(late.id, (session) =>
        session.all<{ days: number; count: number }>(sql`
          select round(extract(epoch from now() - attempted_at) / 86400)::integer as days, count(*)::integer as count
          from delivery_attempt where tenant_id = ${late.id} group by 1 order by 1`),
      );
      return Object.fromEntries(rows.map(({ days, count }) => [days, count]));
    };
    // The month of these rows has a partition, whenever the database was created.
    await keepPartitions(store, 'delivery_attempt', null);
    await add(31, 10);
    await run(late);
    expect(await left()).toEqual({ 31: 10 });
    // Whatever begins less than three months from now is old.
    const { dropped } = await keepPartitions(store, 'delivery_attempt', '-3 months');
    expect(dropped[0]).toBe('delivery_attempt_first');
    expect(await left()).toEqual({});
    await add(31, 1_500);
    await add(29, 10);
    await run(late);
    expect(await left()).toEqual({ 29: 10 });
  });
});

test('metrics › count attempts by outcome, and report the lag', async () => {
  const metrics = await service.service.metrics.registry.metrics();
  expect(metrics).toMatch(/webhook_delivery_attempt_seconds_count\{outcome="SUCCESS"\} [1-9]/);
  expect(metrics).toMatch(/webhook_delivery_attempt_seconds_count\{outcome="FAILED"\} [1-9]/);
  expect(metrics).toMatch(/webhook_event_lag_seconds_count [1-9]/);
  expect(metrics).toMatch(/webhook_deliveries_waiting_seconds \d/);
});
