/** Measures the tables of events while old ones are removed; see README.md beside this file. `--rounds` and `--events` change how many. */

import { sql } from 'kysely';
import pg from 'pg';
import { readOptions } from '../../scripts/options.ts';
import type { Tick } from '../server/src/background/clock.ts';
import { writeAsSystem } from '../server/src/background/write-as-system.ts';
import { removeOldEvents } from '../server/src/modules/events/delivery/remove-old-events.ts';
import type { Tenant } from '../server/src/platform/auth/caller.ts';
import type { Service } from '../server/src/service/service.ts';
import { runOn } from '../server/test/postgres-server.ts';
import { eventData, onPostgres, printLoad, subscribedTenant, withService } from './delivering.ts';
import { median } from './median.ts';

const { values } = readOptions({
  options: {
    delivery: { type: 'boolean' },
    retention: { type: 'boolean' },
    rounds: { type: 'string', default: '20' },
    events: { type: 'string', default: '20000' },
  },
});
const rounds = Number(values.rounds);
const events = Number(values.events);
/** Subscriptions that each event was delivered to. */
const subscriptions = 2;
/** Rows that the events are about, in random order. */
const entities = 50_000;
/** A round is a day. The job keeps 30 days, so it runs as if on a later day, and this many are left. */
const keptRounds = 3;
const keptDays = 30;
/** Events that get a position in one transaction, as in the service. */
const assignedAtOnce = 500;
/**
 * Sizes count from this round on. Before the first removal, tables have a day less than at each later insert, and pages of an index that it
 * empties are reused after the second vacuum.
 */
const settledAfter = keptRounds + 3;
/** The place of a day is used again after so many rounds. At the end of a table, it is returned to the system in between. */
const cycle = keptRounds + 1;
if (!(rounds >= settledAfter + cycle)) throw new Error(`--rounds must be at least ${settledAfter + cycle}.`);
/** The sizes must not grow by more than this factor between the first of these cycles and the last one. */
const mostGrowth = 1.1;
const tables = ['recorded_event', 'event_position', 'delivery_attempt'] as const;
/** Positions are removed with their events. */
const removedTables = ['recorded_event', 'delivery_attempt'] as const;
type DeleteTimes = Record<(typeof removedTables)[number], number[]>;

printLoad();
await onPostgres('retention', (databaseUrl) =>
  withService({ databaseUrl }, async (service) => {
    const tenant = await subscribedTenant(service, 'retention', []);
    const first = Temporal.Now.instant().subtract({ hours: 24 * (rounds + keptDays) });
    const sizes: Record<string, number>[] = [];
    const printed: Record<string, Record<string, number>> = {};
    const times: DeleteTimes = { recorded_event: [], delivery_attempt: [] };
    for (let round = 1; round <= rounds; round++) {
      const day = first.add({ hours: 24 * round });
      await addDelivered(service, tenant, round, day);
      // Half a day later than this, the events of the day before would be removed too.
      await removeUntil(service, tenant, day.subtract({ hours: 24 * keptRounds - 12 }), times);
      for (const table of tables) await runOn(databaseUrl, `vacuum analyze ${table}`);
      const sizesAfter = await sizesOf(databaseUrl);
      if (round >= settledAfter) sizes.push(sizesAfter);
      if (round % Math.ceil(rounds / 4) === 0) printed[`after round ${round}`] = sizesAfter;
    }
    console.log('MB of tables and their indexes, and the rows in them');
    console.table(printed);
    console.log('Milliseconds of a delete statement');
    console.table(
      Object.fromEntries(
        removedTables.map((table) => [
          table,
          { p50: Math.round(median(times[table])), longest: Math.round(Math.max(...times[table])) },
        ]),
      ),
    );
    failIfGrown(sizes);
  }),
);
printLoad();

/** Events of a day that were delivered, as writes, positions and deliveries leave them. */
async function addDelivered(
  { store }: Service,
  { id: tenantId }: Tenant,
  round: number,
  day: Temporal.Instant,
): Promise<void> {
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, recorded_at)
      select ${tenantId}, uuidv7(), 'ClientGroup', md5((random() * ${entities}::integer)::integer::text)::uuid, 'UPDATE',
        ${(round - 1) * events}::integer + number, ${eventData}::jsonb, ${day.toString()}
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
        select ${tenantId}, uuidv7(), md5(subscription::text)::uuid, event_id, entity_type, operation, entity_id, 1,
          'https://example.com/hooks', 200, 'SUCCESS', 12, 'ok', recorded_at
        from (select * from event_position where tenant_id = ${tenantId}
          order by position desc limit ${assignedAtOnce}) event, generate_series(1, ${subscriptions}::integer) subscription`),
    );
  }
}

/** Runs the job of the service as if this were 30 days ago. */
async function removeUntil(
  service: Service,
  tenant: Tenant,
  until: Temporal.Instant,
  times: DeleteTimes,
): Promise<void> {
  let table: (typeof removedTables)[number] = 'recorded_event';
  const write: Tick['write'] = (work) =>
    writeAsSystem(
      service,
      tenant,
      { operation: 'clock', requestId: 'bench' },
      async (unit) => {
        const started = performance.now();
        const result = await work(unit);
        times[table].push(performance.now() - started);
        // The job removes events in whole batches until one is not full, then attempts.
        if (Array.isArray(result) && result.length < 1_000) table = 'delivery_attempt';
        return result;
      },
      async () => {},
    );
  const now = until.add({ hours: 24 * keptDays });
  await removeOldEvents.run({ tenant, now, signal: new AbortController().signal, write } as Tick);
}

async function sizesOf(databaseUrl: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const sizes: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await client.query(
      'select pg_table_size($1::regclass) as size, pg_indexes_size($1::regclass) as indexes, reltuples as rows from pg_class where oid = $1::regclass',
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
    if (size <= (early[name] ?? 0) * mostGrowth) continue;
    console.error(`${name} grew from ${early[name]} to ${size}.`);
    process.exitCode = 1;
  }
}

/** The largest of each size. */
function largest(sizes: readonly Record<string, number>[]): Record<string, number> {
  const names = Object.keys(sizes[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, Math.max(...sizes.map((one) => one[name] ?? 0))]));
}
