import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { defineClockTask } from '../src/background/clock.ts';
import { defineJob } from '../src/background/job.ts';
import { count } from './rows.ts';

/** A job and a task of the clock that say what they do, and count it in the database. */
export function observedWork(say: (line: string) => void) {
  const work = defineJob({
    name: 'work',
    data: { key: 'string', milliseconds: 'number' },
    leaseSeconds: 10,
    retryDelaySeconds: 1,
    maxRetryDelaySeconds: 1,
    run: async ({ tenant, data, attempt, signal, write, finish }) => {
      await write(({ transaction }) => transaction.all(count(tenant.id, `begun ${data.key}`)));
      say(`begun ${data.key} ${attempt}`);
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
      say(`ticked ${tenant.name}`);
    },
  });
  return { work, tick };
}
