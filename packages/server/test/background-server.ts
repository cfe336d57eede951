import '../src/app/handlers.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { defineClockTask } from '../src/background/clock.ts';
import { defineJob, enqueue } from '../src/background/job.ts';
import { serve } from '../src/main/main.ts';
import { count } from './rows.ts';

/**
 * A server with jobs that tests observe from outside. With arguments it also adds jobs at the start:
 * `background-server.ts <tenant> <job> <count> <milliseconds of each>`.
 */
const work = defineJob({
  name: 'work',
  data: { key: 'string', milliseconds: 'number' },
  leaseSeconds: 10,
  retryDelaySeconds: 1,
  maxRetryDelaySeconds: 1,
  run: async ({ tenant, data, attempt, signal, write, finish }) => {
    await write(({ transaction }) => transaction.all(count(tenant.id, `begun ${data.key}`)));
    console.log(`begun ${data.key} ${attempt}`);
    // The first run is the one to interrupt.
    if (attempt === 1) await pause(data.milliseconds, undefined, { signal });
    await finish(({ transaction }) => transaction.all(count(tenant.id, `finished ${data.key}`)));
  },
});
const tick = defineClockTask({
  name: 'tick',
  every: 'due',
  nextDue: (_tenantId, after) => sql`select date_trunc('minute', ${after}::timestamptz) + interval '1 minute' as at`,
  run: async ({ tenant, now, write }) => {
    await write(({ transaction }) => transaction.all(count(tenant.id, `tick ${now.toString().slice(0, 16)}`)));
    console.log(`ticked ${tenant.name}`);
  },
});

const { service } = await serve(process.env, { jobs: [work], clockTasks: [tick] });
const [tenantName, jobs, milliseconds] = process.argv.slice(2);
if (tenantName !== undefined) {
  const { store } = service;
  const tenant = await service.directory.tenant(tenantName);
  if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist.`);
  await store.write(tenant.id, async (transaction) => {
    for (let key = 1; key <= Number(jobs); key++) {
      await enqueue(transaction, work, { key: String(key), milliseconds: Number(milliseconds) });
    }
  });
  console.log('added');
}
