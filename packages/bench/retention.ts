/** Measures the tables of events while old ones are removed; see README.md beside this file. `--rounds` and `--events` change how many. */

import type { Tick } from '@financial-automation/server/background/clock';
import { writeAsSystem } from '@financial-automation/server/background/write-as-system';
import type { Service } from '@financial-automation/server/entity/service';
import { keptDays, removeOldEvents } from '@financial-automation/server/modules/events';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { keepPartitions } from '@financial-automation/server/platform/store/partitions';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { sql } from 'kysely';
import pg from 'pg';
import { readOptions } from '../../scripts/options.ts';
import { eventData, subscribedTenant, withService } from './delivering.ts';
import { median, printLoad } from './figures.ts';
import { createDatabase } from './postgres.ts';

const { values } = readOptions({
  options: {
    delivery: { type: 'boolean' },
    retention: { type: 'boolean' },
    rounds: { type: 'string', default: '100' },
    events: { type: 'string', default: '1500' },
  },
});
const rounds = Number(values.rounds);
const events = Number(values.events);
/** Subscriptions that each event was delivered to. */
const subscriptions = 2;
/** Rows that the events are about, in random order. */
const entities = 50_000;
/** Events that get a position in one transaction, as in the service. */
const assignedAtOnce = 500;
/** A round is a day. From this one on, there are rows of up to two months and 30 days are old, so the sizes have been at their largest. */
const settledAfter = 64;
/** In so many days, a month is dropped at least once. */
const cycle = 32;
if (!(rounds >= settledAfter + cycle)) throw new Error(`--rounds must be at least ${settledAfter + cycle}.`);
/** The sizes must not grow by more than this factor between the first of these cycles and the last one. */
const maxGrowth = 1.1;
const tables = ['recorded_event', 'event_position', 'delivery_attempt'] as const;
const monthly = ['delivery_attempt'] as const;
/** How long statements took, in milliseconds. */
const times = new Map<string, number[]>();

printLoad();
await using database = await createDatabase('retention');
const databaseUrl = database.url;
await withService({ databaseUrl }, async (service) => {
  const tenant = await subscribedTenant(service, 'retention', []);
  const { rows: ends } = await service.store.ownerStatements(
    `select min(ends_at) as first from partitions_of('delivery_attempt')`,
  );
  const first = Temporal.Instant.from(new Date(String(ends[0]?.first)).toISOString());
  const sizes: Record<string, number>[] = [];
  const printed: Record<string, Record<string, number>> = {};
  for (let round = 0; round < rounds; round++) {
    const day = first.add({ hours: 24 * round });
    await addDelivered(service, tenant, round, day);
    await removeOld(service, tenant, day.add({ hours: 12 }));
    for (const table of tables) await timed(`vacuum, ${table}`, () => runOn(databaseUrl, `vacuum analyze ${table}`));
    const sizesAfter = await sizesOf(databaseUrl);
    if (round >= settledAfter) sizes.push(sizesAfter);
    if ((round + 1) % Math.ceil(rounds / 5) === 0) printed[`after day ${round + 1}`] = sizesAfter;
  }
  console.log('MB of tables and their indexes, and the rows in them');
  console.table({ ...printed, 'at most': largest(sizes) });
  console.log('Milliseconds');
  console.table(
    Object.fromEntries(
      [...times].map(([name, all]) => [
        name,
        {
          times: all.length,
          p50: rounded(median(all)),
          longest: rounded(Math.max(...all)),
          sum: rounded(all.reduce((sum, one) => sum + one, 0)),
        },
      ]),
    ),
  );
  failIfGrown(sizes);
});
printLoad();

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

async function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const started = performance.now();
  const result = await work();
  times.set(name, [...(times.get(name) ?? []), performance.now() - started]);
  return result;
}

/** Events of a day that were delivered, as writes, positions and deliveries leave them. */
async function addDelivered(
  { store }: Service,
  { id: tenantId }: Tenant,
  round: number,
  day: Temporal.Instant,
): Promise<void> {
  const id = sql`(left(first_id_at(${day.toString()}::timestamptz)::text, 13) || right(uuidv7()::text, 23))::uuid`;
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
      select ${tenantId}, ${id}, 'ClientGroup', md5((random() * ${entities}::integer)::integer::text)::uuid, 'UPDATE',
        ${round * events}::integer + number, ${eventData}::jsonb, ${day.toString()}
      from generate_series(1, ${events}::integer) number`),
  );
  for (let assigned = 0; assigned < events; assigned += assignedAtOnce) {
    await store.write(tenantId, (transaction) =>
      transaction.all(sql`select assign_event_positions(${assignedAtOnce})`),
    );
    await store.write(tenantId, (transaction) =>
      transaction.all(sql`
        insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
          delivery_url, http_status_code, outcome, duration_ms, response_snippet, attempted_at)
        select ${tenantId}, ${id}, md5(subscription::text)::uuid, event_id, entity_type, operation, entity_id, 1,
          'https://example.com/hooks', 200, 'SUCCESS', 12, 'ok', recorded_at
        from (select * from event_position where tenant_id = ${tenantId}
          order by position desc limit ${assignedAtOnce}) event, generate_series(1, ${subscriptions}::integer) subscription`),
    );
  }
}

/** Does what the service does every day and every hour. */
async function removeOld(service: Service, tenant: Tenant, now: Temporal.Instant): Promise<void> {
  const ahead = now.epochMilliseconds - Date.now();
  await service.store.ownerStatements('update tenant set is_sandbox = true, clock_offset = $2 where id = $1', [
    tenant.id,
    Math.max(0, ahead),
  ]);
  const write: Tick['write'] = (work) =>
    writeAsSystem(
      service,
      tenant,
      { operation: 'clock', requestId: 'bench' },
      (unit) => timed('delete', () => work(unit)),
      async () => {},
    );
  await removeOldEvents.run({ tenant, now, signal: new AbortController().signal, write } as Tick);
  for (const table of monthly) {
    const started = performance.now();
    const { dropped } = await keepPartitions(service.store, table, `${keptDays * 86_400_000 - ahead} milliseconds`);
    if (dropped.length > 0)
      times.set(`drop, ${table}`, [...(times.get(`drop, ${table}`) ?? []), performance.now() - started]);
  }
}

async function sizesOf(databaseUrl: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const sizes: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await client.query(
      `select sum(pg_table_size(oid)) as size, sum(pg_indexes_size(oid)) as indexes, sum(greatest(reltuples, 0)) as rows
       from pg_class where relkind = 'r' and oid in (select relid from pg_partition_tree($1::regclass) union select $1::regclass)`,
      [table],
    );
    sizes[table] = Math.round(Number(rows[0]?.size) / 1e5) / 10;
    sizes[`${table}, indexes`] = Math.round(Number(rows[0]?.indexes) / 1e5) / 10;
    sizes[`${table}, rows`] = Number(rows[0]?.rows);
  }
  await client.end();
  return sizes;
}

function failIfGrown(sizes: readonly Record<string, number>[]): void {
  const [early, last] = [largest(sizes.slice(0, cycle)), largest(sizes.slice(-cycle))];
  for (const [name, size] of Object.entries(last)) {
    if (size <= (early[name] ?? 0) * maxGrowth) continue;
    console.error(`${name} grew from ${early[name]} to ${size}.`);
    process.exitCode = 1;
  }
}

/** The largest of each size. */
function largest(sizes: readonly Record<string, number>[]): Record<string, number> {
  const names = Object.keys(sizes[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, Math.max(...sizes.map((one) => one[name] ?? 0))]));
}
