import type { QueryResultRow } from 'pg';
import { expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { migrate, readMigrations } from './migrate.ts';
import { ensureServiceRole } from './role.ts';

const migrations = await readMigrations();
const { pool } = await testEngine(await testDatabase('empty'));
const client = await pool.connect();
await ensureServiceRole(client).finally(() => client.release());

const [first, second] = [7, 8];
const [subscription, user] = ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-00000000000a'];
const rowId = (number: number) => `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** The statements of the version before, with the values of a tenant. */
const before = {
  record: (tenant: number, entity: string, version: number, name: string) => `
    insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, recorded_at, data,
      changed_fields, request_id, traceparent)
    select ${tenant}::integer, uuidv7(), 'ClientGroup', '${entity}', 'UPDATE', ${version}, now(),
      greatest(tenant_clock_timestamp(), (
        select recorded_at from outbox_event event where event.tenant_id = ${tenant} and event.position is null
          and event.entity_type = 'ClientGroup' and event.entity_id = '${entity}' order by event.sequence desc limit 1)),
      '{"name": "${name}"}', '{name}', 'request', null`,
  assign: (most: number) => `select * from assign_event_positions(${most})`,
  due: (tenant: number, after: number, most: number) => `
    select id, entity_id, position::integer, 0, false,
       exists (select from delivery_retry retry where retry.tenant_id = ${tenant}
         and retry.subscription_id = '${subscription}' and retry.entity_id = event.entity_id)
     from outbox_event event
     where event.tenant_id = ${tenant} and event.entity_type = 'ClientGroup'
       and event.position > ${after} and event.operation = any (array['CREATE', 'UPDATE'])
       and event.recorded_at >= now() - interval '1 day'
     order by event.position limit ${most}`,
  messages: (tenant: number, ids: readonly string[]) => `
    select id, entity_type as "entityType", operation, entity_id as "entityId", occurred_at as "occurredAt",
      recorded_at as "recordedAt", sequence, data::text as data, changed_fields as "changedFields", traceparent, position,
      case when entity_type = 'Payment' then data->>'source' end as source
    from outbox_event event where tenant_id = ${tenant} and id = any('{${ids.join(',')}}'::uuid[])`,
  kept: (tenant: number) => `
    select (select min(position) from outbox_event where tenant_id = ${tenant} and position is not null)::integer as oldest,
      coalesce((select position from event_feed where tenant_id = ${tenant}), 0)::integer as newest,
      exists (select from outbox_event where tenant_id = ${tenant} and position is null) as "hasWaiting"`,
  page: (tenant: number, after: number, end: number) => `
    select id, data::text as data, position::integer from outbox_event event
    where tenant_id = ${tenant} and position > ${after} and position <= ${end} and entity_type = any ('{ClientGroup,Client}')
    order by position limit 100`,
  remove: (tenant: number, age: string) => `
    delete from outbox_event where tenant_id = ${tenant} and id in (
      select id from (
        select id, bool_and(recorded_at < now() - interval '${age}' and not false) over (order by position) as is_old
        from outbox_event event where tenant_id = ${tenant} and position is not null
        order by position limit 1000) oldest
      where is_old) returning 1`,
  replay: (tenant: number) => `
    select attempt.subscription_id as subscription, event.id as event, event.entity_id as entity, event.position::integer
    from (select subscription_id, event_id from delivery_attempt where tenant_id = ${tenant} and attempted_at >= '2026-01-01'
      group by subscription_id, event_id having not bool_or(outcome = 'SUCCESS')) attempt
    join event_subscription subscription
      on subscription.tenant_id = ${tenant} and subscription.id = attempt.subscription_id and subscription.active
    join outbox_event event
      on event.tenant_id = ${tenant} and event.id = attempt.event_id and event.position is not null`,
} as const;

/** How far migrations have come. */
const upTo = (last: string) => migrate(pool, new Map([...migrations].filter(([name]) => name <= last)));

test('the migrations move the positions of all events, while the version before assigns and removes some', async () => {
  await upTo('0210');
  for (const tenant of [first, second])
    await as(
      tenant,
      `insert into tenant (id, name, display_name, time_zone) overriding system value
       values (${tenant}, 'tenant_${tenant}', 'tenant', 'America/New_York')`,
      `insert into api_user (tenant_id, id, name, roles) values (${tenant}, '${user}', 'kept', '{}')`,
      `insert into event_subscription (tenant_id, id, system_ref, entity_type, operations, delivery_url, created_by_api_user_id)
       values (${tenant}, '${subscription}', 'one', 'ClientGroup', '{CREATE,UPDATE}', 'https://example.com', '${user}')`,
    );
  // More than a batch of the migration copies.
  await as(
    first,
    `insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
     select ${first}, uuidv7(), 'ClientGroup', uuidv7(), 'CREATE', 1, '{}' from generate_series(1, 7000)`,
    before.assign(7000),
    before.record(first, rowId(1), 1, 'waits'),
  );
  await as(second, before.record(second, rowId(1), 1, 'is positioned'), before.assign(100));
  const positions = `
    select e.tenant_id, e.id, e.entity_type, e.entity_id, e.operation, e.recorded_at, position::integer
    from outbox_event e where position is not null order by position`;

  await upTo('0210_event_positions');
  await as(first, before.assign(100), before.record(first, rowId(1), 2, 'waits, too'));
  expect(await as(first, before.remove(first, '-1 hour'))).toHaveLength(1000);
  const expected = { first: await as(first, positions), second: await as(second, positions) };
  expect(expected.first).toHaveLength(6_001);
  expect(expected.second).toHaveLength(1);

  await upTo('0211_copied_positions');
  expect(await as(first, before.remove(first, '-1 hour'))).toHaveLength(1000);
  expected.first.splice(0, 1000);

  await migrate(pool, migrations);
  const moved = `
    select tenant_id, event_id as id, entity_type, entity_id, operation, recorded_at, position::integer
    from event_position order by position`;
  for (const [tenant, rows] of [
    [first, expected.first],
    [second, expected.second],
  ] as const) {
    expect(await as(tenant, moved)).toEqual(rows);
    expect(await as(tenant, positions)).toEqual(rows);
  }
  const waiting = `
    select event.data ->> 'name' as name, waiting.entity_id as id, waiting.operation from event_waiting waiting
    join recorded_event event on event.tenant_id = waiting.tenant_id and event.id = waiting.event_id
      and event.recorded_at = waiting.recorded_at and event.sequence = waiting.sequence and event.entity_type = waiting.entity_type`;
  expect(await as(first, waiting)).toEqual([{ name: 'waits, too', id: rowId(1), operation: 'UPDATE' }]);
  expect(await as(second, waiting)).toEqual([]);
  expect(await asOwner('select * from tenants_with_new_events() as tenant')).toEqual([{ tenant: first }]);
});

test('the statements of the version before find each event once, in the order of positions, whichever version wrote it', async () => {
  const one = rowId(2);
  const [{ newest = 0 } = {}] = await as<{ newest: number }>(second, before.kept(second));
  const record = (version: number, name: string) =>
    `insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
     values (${second}, uuidv7(), 'ClientGroup', '${one}', 'UPDATE', ${version}, '{"name": "${name}"}')`;
  await as(
    second,
    before.record(second, one, 1, 'before 1'),
    record(2, 'now 2'),
    before.record(second, one, 3, 'before 3'),
  );
  expect(await as(second, before.kept(second))).toEqual([{ oldest: 1, newest, hasWaiting: true }]);
  expect(await as(second, before.page(second, newest, newest + 10))).toEqual([]);
  expect(await as(second, before.assign(2))).toEqual([{ assigned: 2, partitions: 1 }]);
  expect(await as(second, before.assign(2))).toEqual([{ assigned: 1, partitions: 1 }]);
  expect(await as(second, before.assign(2))).toEqual([{ assigned: 0, partitions: 0 }]);
  expect(await as(second, before.kept(second))).toEqual([{ oldest: 1, newest: newest + 3, hasWaiting: false }]);

  const due = await as<{ id: string; position: number }>(second, before.due(second, newest, 2));
  expect(due.map(({ position }) => position)).toEqual([newest + 1, newest + 2]);
  const last = await as<{ id: string; position: number }>(second, before.due(second, newest + 2, 2));
  expect(last.map(({ position }) => position)).toEqual([newest + 3]);
  const ids = [...due, ...last].map(({ id }) => id);
  const messages = await as<{ id: string; data: string; sequence: number }>(second, before.messages(second, ids));
  const names = ['before 1', 'now 2', 'before 3'];
  const sent = ids.map((id) => messages.find((message) => message.id === id));
  expect(messages).toHaveLength(3);
  expect(sent.map((message) => JSON.parse(message?.data ?? '{}').name)).toEqual(names);
  const page = await as<{ data: string }>(second, before.page(second, newest, newest + 3));
  expect(page.map(({ data }) => JSON.parse(data).name)).toEqual(names);

  await as(
    second,
    `insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
       delivery_url, outcome, duration_ms, attempted_at)
     values (${second}, uuidv7(), '${subscription}', '${ids[1]}', 'ClientGroup', 'UPDATE', '${one}', 1, 'https://example.com',
       'FAILED', 1, now())`,
  );
  expect(await as(second, before.replay(second))).toEqual([
    { subscription, event: ids[1], entity: one, position: newest + 2 },
  ]);
});

test('the statements of the version before keep events of one version of a row apart, and remove those that are old', async () => {
  await expect(as(second, before.record(second, rowId(2), 3, 'again'))).rejects.toMatchObject({
    constraint: 'recorded_event_entity_type_entity_id_sequence_unique',
  });
  // Of another tenant.
  await expect(as(second, before.record(first, rowId(3), 1, 'other'))).rejects.toThrow('row-level security');
  expect(await as(second, `select id from outbox_event where tenant_id = ${first}`)).toEqual([]);
  await as(second, before.record(second, rowId(2), 4, 'waits'));
  expect(await as(second, before.remove(second, '1 hour'))).toEqual([]);
  expect(await as(second, before.remove(second, '-1 hour'))).toHaveLength(4);
  const counts = `
    select (select count(*) from recorded_event)::integer as events, (select count(*) from event_position)::integer as positioned,
      (select count(*) from event_waiting)::integer as waiting`;
  expect(await as(second, counts)).toEqual([{ events: 1, positioned: 0, waiting: 1 }]);
  // As demo data do.
  const removed = `delete from outbox_event where tenant_id = ${second} and entity_id = '${rowId(2)}' returning *`;
  expect(await as(second, removed)).toMatchObject([{ data: { name: 'waits' }, position: null }]);
  expect(await as(second, counts)).toEqual([{ events: 0, positioned: 0, waiting: 0 }]);
});

test('assign_event_positions › makes a leased partition due, and counts it only when its lease has expired', async () => {
  const record = (number: number) =>
    `insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
     values (${second}, uuidv7(), 'ClientGroup', '${rowId(number)}', 'CREATE', 1, '{}')`;
  const lease = (interval: string) => `
    update delivery_partition set leased_by = '${user}', leased_until = now() + interval '${interval}', due_at = null
    where tenant_id = ${second}`;
  const due = `select due_at is not null as due from delivery_partition where tenant_id = ${second}`;
  await as(second, record(11), lease('10 seconds'));
  expect(await as(second, before.assign(2))).toEqual([{ assigned: 1, partitions: 0 }]);
  expect(await as(second, due)).toEqual([{ due: true }]);
  await as(second, record(12), lease('-1 second'));
  expect(await as(second, before.assign(2))).toEqual([{ assigned: 1, partitions: 1 }]);
});

/** Runs statements in one transaction as requests of a tenant; those that only the owner can run, as the owner. */
async function as<Row extends QueryResultRow>(tenant: number, ...statements: string[]): Promise<Row[]> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local app.tenant_id = '${tenant}'; set local timezone = 'UTC'`);
    let rows: Row[] = [];
    for (const statement of statements) {
      const isOwners = statement.startsWith('insert into tenant ');
      await client.query(`set local role ${isOwners ? 'none' : 'financial_automation_service'}`);
      ({ rows } = await client.query<Row>(statement));
    }
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function asOwner(statement: string): Promise<unknown[]> {
  return (await pool.query(statement)).rows;
}
