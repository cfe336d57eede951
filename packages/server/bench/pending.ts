/** Measures the memory of a process that has many deliveries to make; see README.md beside this file. `--seconds` shortens it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import type { Tenant } from '../src/auth/caller.ts';
import type { Service } from '../src/service.ts';
import type { MemorySample } from './deliverer.ts';
import { onPostgres, printLoad, recordEvents, startReceiver, subscribedTenant, withService } from './delivering.ts';

const { values } = parseArgs({
  options: {
    delivery: { type: 'boolean' },
    pending: { type: 'boolean' },
    seconds: { type: 'string', default: '30' },
  },
});
const pending = 100_000;
/** Connections, caches and compiled code fill up in this part of the time. */
const warmUp = 1 / 3;
/** More growth than this after it is a leak, in MB. */
const mostGrowth = 50;

const receiver = await startReceiver();
printLoad();
const table: Record<string, object> = {};
try {
  for (const subscriptions of [100, 1]) {
    for (const path of ['slow', 'dead']) {
      const urls = Array.from({ length: subscriptions }, () => `${receiver.origin}/${path}`);
      await onPostgres('pending', (databaseUrl) =>
        withService({ databaseUrl }, async (service) => {
          const tenant = await subscribedTenant(service, 'pending', urls);
          await recordEvents(service, tenant, pending / subscriptions);
          // Nothing but deliveries is measured.
          await service.store.write(tenant.id, (transaction) => transaction.all(sql`select relay_events(${pending})`));
          const memory = await measureMemory(databaseUrl);
          table[`${subscriptions} to a ${path} receiver`] = { ...memory, attempts: await attemptsOf(service, tenant) };
        }),
      );
    }
  }
} finally {
  receiver.stop();
}
console.log(`MB of the delivering process with ${pending} deliveries pending, in ${values.seconds} seconds`);
console.table(table);
printLoad();

async function measureMemory(databaseUrl: string) {
  const child = fork(new URL('deliverer.ts', import.meta.url), [databaseUrl, receiver.cert, values.seconds], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [samples] = (await once(child, 'message')) as [MemorySample[]];
  const [rss, heap] = [sizesOf(samples, 'rss'), sizesOf(samples, 'heapUsed')];
  if (!(rss.end - rss.warm <= mostGrowth)) {
    console.error(`The memory grew from ${rss.warm} MB to ${rss.end} MB.`);
    process.exitCode = 1;
  }
  return {
    'RSS: start': rss.start,
    'after a third': rss.warm,
    max: rss.max,
    end: rss.end,
    'heap: start': heap.start,
    'heap: max': heap.max,
    'heap: end': heap.end,
  };
}

function sizesOf(samples: readonly MemorySample[], name: keyof MemorySample) {
  const sizes = samples.map((sample) => Math.round(sample[name] / 1e6));
  const at = (index: number) => sizes.at(index) ?? Number.NaN;
  return { start: at(0), warm: at(Math.floor(sizes.length * warmUp)), max: Math.max(...sizes), end: at(-1) };
}

async function attemptsOf({ store }: Service, { id: tenantId }: Tenant): Promise<number | undefined> {
  const found = await store.read(tenantId, (session) =>
    session.first<{ attempts: number }>(
      sql`select count(*)::integer as attempts from delivery_attempt where tenant_id = ${tenantId}`,
    ),
  );
  return found?.attempts;
}
