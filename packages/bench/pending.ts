/** Measures the memory of a process with many pending deliveries; see README.md beside this file. `--seconds` shortens it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Service } from '@financial-automation/server/entity/service';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import type { MemorySample, MemoryUse } from './deliverer.ts';
import { recordEvents, startReceiver, subscribedTenant, withService } from './delivering.ts';
import { printLoad } from './figures.ts';
import { createDatabase } from './postgres.ts';

const { values } = readOptions({
  options: {
    delivery: { type: 'boolean' },
    pending: { type: 'boolean' },
    seconds: { type: 'string', default: '30' },
  },
});
const pending = 100_000;
/** Time in which connections, caches, compiled code and the heap reach their size, in seconds. */
const warmUp = 20;
/** More growth than this after the warm-up is a leak, in MB. RSS also depends on when garbage is collected. */
const maxGrowth = { rss: 50, live: 10 };

const receiver = await startReceiver();
printLoad();
const table: Record<string, object> = {};
try {
  for (const subscriptions of [100, 1]) {
    for (const path of ['slow', 'dead']) {
      const urls = Array.from({ length: subscriptions }, () => `${receiver.origin}/${path}`);
      await using database = await createDatabase('pending');
      const databaseUrl = database.url;
      await withService({ databaseUrl }, async (service) => {
        const tenant = await subscribedTenant(service, 'pending', urls);
        await recordEvents(service, tenant, pending / subscriptions);
        // Nothing but deliveries is measured.
        await service.store.write(tenant.id, (transaction) =>
          transaction.all(sql`select assign_event_positions(${pending})`),
        );
        const memory = await measureMemory(databaseUrl);
        table[`${subscriptions} to a ${path} receiver`] = { ...memory, attempts: await attemptsOf(service, tenant) };
      });
    }
  }
} finally {
  receiver.stop();
}
console.log(
  `MB of the delivering process with ${pending} deliveries pending, ${values.seconds} seconds after ${warmUp} of warm-up`,
);
console.table(table);
printLoad();

async function measureMemory(databaseUrl: string) {
  const settings = [databaseUrl, receiver.cert, String(warmUp), values.seconds];
  const child = fork(new URL('deliverer.ts', import.meta.url), settings, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  const [use] = (await once(child, 'message')) as [MemoryUse];
  const [rss, heap] = [sizesOf(use, 'rss'), sizesOf(use, 'heapUsed')];
  const [before, after] = [inMegabytes(use.live.before), inMegabytes(use.live.after)];
  if (rss.end - rss.warm > maxGrowth.rss || after - before > maxGrowth.live) {
    console.error(
      `The memory grew: RSS from ${rss.warm} to ${rss.end} MB, the live heap from ${before} to ${after} MB.`,
    );
    process.exitCode = 1;
  }
  return {
    'RSS: start': rss.start,
    [`after ${warmUp} s`]: rss.warm,
    max: rss.max,
    end: rss.end,
    'heap: start': heap.start,
    'heap: max': heap.max,
    'heap: end': heap.end,
    [`live heap: after ${warmUp} s`]: before,
    'live heap: end': after,
  };
}

function sizesOf({ start, samples }: MemoryUse, name: keyof MemorySample) {
  const sizes = samples.map((sample) => inMegabytes(sample[name]));
  const at = (index: number) => sizes.at(index) ?? Number.NaN;
  return { start: inMegabytes(start[name]), warm: at(0), max: Math.max(...sizes), end: at(-1) };
}

function inMegabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

async function attemptsOf({ store }: Service, { id: tenantId }: Tenant): Promise<number | undefined> {
  const found = await store.read(tenantId, (session) =>
    session.first<{ attempts: number }>(
      sql`select count(*)::integer as attempts from delivery_attempt where tenant_id = ${tenantId}`,
    ),
  );
  return found?.attempts;
}
