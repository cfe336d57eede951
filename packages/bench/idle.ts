/** Measures what processes cost that have nothing to do, on one PostgreSQL with many tenants; see README.md beside this file. */
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { usedBy, usedByDatabase } from './processor-time.ts';
import { createDatabase, openService, startServer } from './service.ts';

const { values } = readOptions({
  options: {
    tenants: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '60' },
  },
});
const [tenants, processes, seconds] = [Number(values.tenants), Number(values.processes), Number(values.seconds)];
/** Subscriptions of each tenant. */
const subscriptions = 4;
/** A process is idle when all have used less than this share of a core for five seconds. */
const idleShare = 0.02;

await using database = await createDatabase('idle');
const { url } = database;
await createTenants();
const servers = await Promise.all(Array.from({ length: processes }, () => startServer({ DATABASE_URL: url })));
try {
  const usedNow = () => [...servers.map(({ pid }) => usedBy(pid)), usedByDatabase(url)];
  const shares = async (forSeconds: number) => {
    const before = usedNow();
    await pause(forSeconds * 1_000);
    return usedNow().map((used, index) => (used - (before[index] ?? 0)) / forSeconds);
  };
  // What is due at their start takes up to 100 seconds.
  for (let look = 0; look < 20; look += 1) if ((await shares(5)).reduce((sum, share) => sum + share) < idleShare) break;
  const measured = await shares(seconds);
  const ofDatabase = (measured.pop() ?? 0) / processes;
  const percent = (share: number) => ({ 'share of a core': `${(share * 100).toFixed(2)} %` });
  console.table({
    ...Object.fromEntries(measured.map((share, index) => [`process ${index + 1}`, percent(share)])),
    'database, for each process': percent(ofDatabase),
  });
  console.log(`${tenants} tenants with ${subscriptions} subscriptions each, ${seconds} s.`);
} finally {
  for (const server of servers) await server.stop();
}

async function createTenants(): Promise<void> {
  const { store } = await openService({ databaseUrl: url });
  await store.system((transaction) =>
    transaction.all(sql`
      insert into tenant (name, display_name, time_zone)
      select 'tenant_' || n, 'Tenant ' || n, (array['America/New_York', 'America/Los_Angeles', 'Europe/London'])[1 + n % 3]
      from generate_series(1, ${tenants}::integer) n`),
  );
  for (let tenantId = 1; tenantId <= tenants; tenantId++)
    await store.write(tenantId, (transaction) =>
      transaction.all(sql`
        with caller as (insert into api_user (tenant_id, id, name, roles) values (${tenantId}, gen_random_uuid(), 'bench', '{}') returning id)
        insert into event_subscription (tenant_id, id, system_ref, entity_type, operations, delivery_url, created_by_api_user_id)
        select ${tenantId}, gen_random_uuid(), 'bench-' || n, 'Client', '{CREATE}', 'https://example.com', caller.id
        from caller, generate_series(1, ${subscriptions}::integer) n`),
    );
  await store.ownerStatements('vacuum analyze').catch(() => undefined);
  await store.close();
}
