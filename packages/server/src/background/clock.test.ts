import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { backgroundService, counted, runBackground, wait } from '../../test/background.ts';
import { addTenant, testStore } from '../../test/database.ts';
import { count } from '../../test/rows.ts';
import { newId } from '../platform/store/new-id.ts';
import { Clock, type ClockTask, defineClockTask, type Tick } from './clock.ts';
import { type ClockLease, leaseClock } from './clock-lease.ts';
import { recoverFromWrongClock } from './future-times.ts';
import { JobLost } from './job.ts';

const { store, tenantId, otherTenantId } = await testStore();
const other = await testStore();
const service = backgroundService(store);
await store.system((transaction) =>
  transaction.all(sql`update tenant set time_zone = 'Pacific/Kiritimati' where id = ${otherTenantId}`),
);
const zones = { alpha: 'America/New_York', beta: 'Pacific/Kiritimati' };

/** A clock whose ticks and time the test controls. */
function clockOf(...tasks: ClockTask[]) {
  let now = Temporal.Instant.fromEpochMilliseconds(0);
  const clock = new Clock(service, tasks, () => now);
  return {
    tickAt: (instant: Temporal.Instant) => {
      now = instant;
      return clock.tick(lease);
    },
    /** All tasks have something to do for all tenants. */
    tickWhenDueAt: async (instant: Temporal.Instant) => {
      now = instant;
      await makeDue(tasks.map(({ name }) => name));
      return clock.tick(lease);
    },
  };
}

const makeDue = (names: readonly string[]) =>
  store.ownerStatements(
    `insert into clock_due (tenant_id, task, due_at) select tenant.id, task, '-infinity' from tenant, unnest($1::text[]) task`,
    [names],
  );

/** The lease of the clock, which this process has during the tests. */
const lease: ClockLease = { id: newId(), signal: new AbortController().signal };
const keepLease = (id: string) =>
  store.ownerStatements(`update clock_lease set run_id = $1, leased_until = 'infinity'`, [id]);
await keepLease(lease.id);

// Tenants have become due when they were created.
beforeEach(() => store.ownerStatements('delete from clock_due'));

const midnight = (day: string, zone: string) => Temporal.PlainDate.from(day).toZonedDateTime(zone).toInstant();

test('a tick has the day of each tenant in its own time zone, which changes at midnight there', async () => {
  const seen: string[] = [];
  const { tickWhenDueAt } = clockOf(
    defineClockTask({
      name: 'see day',
      every: 'due',
      run: async ({ tenant, today }) => void seen.push(`${tenant.name} ${today}`),
    }),
  );
  // Midnight in New York, on a day of 23 hours, is 18:00 or 19:00 in Kiritimati, one day ahead.
  for (const day of ['2026-03-08', '2026-03-09']) {
    const begins = midnight(day, zones.alpha);
    for (const instant of [begins.subtract({ milliseconds: 1 }), begins]) await tickWhenDueAt(instant);
  }
  const own = (name: string) => seen.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length + 1));
  expect(own('alpha')).toEqual(['2026-03-07', '2026-03-08', '2026-03-08', '2026-03-09']);
  expect(own('beta')).toEqual(['2026-03-08', '2026-03-08', '2026-03-09', '2026-03-09']);
});

test('a daily task runs once a day for each tenant, in the first minute of its day, in whichever process ticks', async () => {
  const ran: string[] = [];
  const days: string[] = [];
  const task = defineClockTask({
    name: 'daily',
    every: 'day',
    run: async ({ tenant, today, lastDay }) => {
      ran.push(`${tenant.name} ${today}`);
      if (tenant.name === 'alpha') days.push(`${lastDay} ${today}`);
    },
  });
  const processes = [clockOf(task), clockOf(task)];
  const begins = midnight('2026-11-01', zones.alpha);
  await makeDue(['day']);
  for (const minutes of [-2, -1, 0, 1, 2, 600, 601]) {
    for (const { tickAt } of processes) await tickAt(begins.add({ minutes }));
  }
  expect(ran.filter((line) => line.startsWith('alpha'))).toEqual(['alpha 2026-10-31', 'alpha 2026-11-01']);
  // In Kiritimati the day starts ten hours earlier; at this time of the year it is 18:00 there.
  expect(ran.filter((line) => line.startsWith('beta'))).toEqual(['beta 2026-11-01', 'beta 2026-11-02']);
  // After days without a clock, a run receives the last day of its predecessor.
  await clockOf(task).tickAt(begins.add({ hours: 24 * 5 }));
  expect(days).toEqual(['undefined 2026-10-31', '2026-10-31 2026-11-01', '2026-11-01 2026-11-05']);
});

test('a daily task that failed runs again in the next minute', async () => {
  let failures = 2;
  const ran: string[] = [];
  const task = defineClockTask({
    name: 'failing daily',
    every: 'day',
    run: async ({ tenant, write }) => {
      if (tenant.name !== 'alpha') return;
      await write(({ transaction }) => transaction.all(count(tenantId, 'daily attempts')));
      if (failures-- > 0) throw new Error('Not yet.');
      ran.push(tenant.name);
    },
  });
  const { tickAt } = clockOf(task);
  await makeDue(['day']);
  for (const minutes of [0, 1, 2, 3, 4]) await tickAt(midnight('2026-06-01', zones.alpha).add({ minutes }));
  expect(ran).toEqual(['alpha']);
  expect(await counted(store, tenantId, 'daily ')).toEqual({ attempts: 3 });
});

test('a failing or hanging tenant or task does not delay others', async () => {
  const ran: string[] = [];
  const record = async ({ tenant }: Tick) => void ran.push(tenant.name);
  const hang = Promise.withResolvers<void>();
  const late: unknown[] = [];
  let hanging = 0;
  const { tickWhenDueAt } = clockOf(
    defineClockTask({
      name: 'first',
      every: 'due',
      run: async (tick) => {
        if (tick.tenant.name === 'alpha') {
          hanging += 1;
          await hang.promise;
          await tick
            .write(({ transaction }) => transaction.all(count(tenantId, 'late')))
            .catch((error) => late.push(error));
        }
        if (tick.tenant.name === 'beta') throw new Error('Broken.');
        await record(tick);
      },
    }),
    defineClockTask({ name: 'second', every: 'due', run: record }),
  );
  await addTenant(store, 'gamma');
  await store.ownerStatements('delete from clock_due');
  const ticking = tickWhenDueAt(Temporal.Now.instant());
  await expect.poll(() => ran.toSorted()).toEqual(['alpha', 'beta', 'gamma', 'gamma']);
  expect(await service.metrics.registry.metrics()).toContain('clock_tasks_total{task="first",outcome="failed"} 1');

  // The next tick does not start runs that still hang, and runs everything else.
  await tickWhenDueAt(Temporal.Now.instant());
  expect(ran.toSorted()).toEqual(['alpha', 'alpha', 'beta', 'beta', 'gamma', 'gamma', 'gamma', 'gamma']);
  expect(hanging).toBe(1);

  // Another process has taken over the clock.
  await keepLease(newId());
  hang.resolve();
  await expect.poll(() => late).toEqual([expect.any(JobLost)]);
  expect(await counted(store, tenantId, 'late')).toEqual({});
  await keepLease(lease.id);
  await ticking;
});

test('a closed tenant is skipped', async () => {
  const ran: string[] = [];
  const { tickWhenDueAt } = clockOf(
    defineClockTask({ name: 'closed', every: 'due', run: async ({ tenant }) => void ran.push(tenant.name) }),
  );
  await addTenant(store, 'delta');
  await store.system((transaction) => transaction.all(sql`update tenant set active = false where name = 'delta'`));
  await tickWhenDueAt(Temporal.Now.instant());
  expect(ran).toContain('alpha');
  expect(ran).not.toContain('delta');
});

test('what is due for a tenant that arrives from another database stays as it was copied', async () => {
  const arriving = `insert into tenant_move (tenant, phase, cell, move_id, mover, mover_until)
    values ($1, 'ARRIVING', 1, gen_random_uuid(), gen_random_uuid(), now())`;
  await store.ownerStatements(arriving, [otherTenantId]);
  await store.ownerStatements('update tenant set active = false where id = $1', [otherTenantId]);
  const ran: string[] = [];
  const dueRows = () =>
    store.ownerStatements('select task, due_at::text, run_id from clock_due where tenant_id = $1', [otherTenantId]);
  await makeDue(['note']);
  const before = (await dueRows()).rows;
  expect(before).not.toEqual([]);
  const clock = clockOf(
    defineClockTask({ name: 'note', every: 'due', run: async ({ tenant }) => void ran.push(tenant.name) }),
  );
  await clock.tickAt(Temporal.Now.instant());
  expect(ran).toContain('alpha');
  expect(ran).not.toContain('beta');
  expect((await dueRows()).rows).toEqual(before);
  await store.ownerStatements('delete from tenant_move where tenant = $1', [otherTenantId]);
  await store.ownerStatements('update tenant set active = true where id = $1', [otherTenantId]);
});

test('the clock does what is due in its order, continues where the last tick ended, and visits no tenant without a reason', async () => {
  const ran: string[] = [];
  const now = Temporal.Now.instant();
  const { tickAt } = clockOf(
    defineClockTask({
      name: 'ordered',
      every: 'due',
      nextDue: (_tenantId, after) => sql`select ${after}::timestamptz + interval '1 hour' as at`,
      run: async ({ tenant, signal }) => {
        ran.push(tenant.name);
        if (tenant.name === 'beta' && ran.length < 3) throw new Error('Broken.');
        signal.throwIfAborted();
      },
    }),
  );
  const add = (id: number, seconds: number) =>
    store.ownerStatements(`insert into clock_due (tenant_id, task, due_at) values ($1, 'ordered', $2)`, [
      id,
      now.subtract({ seconds }).toString(),
    ]);
  await add(tenantId, 1);
  await add(otherTenantId, 3);
  await tickAt(now);
  expect(ran).toEqual(['beta', 'alpha']);
  // What failed comes after what waits longer by now.
  await add(tenantId, 2);
  await tickAt(now.add({ minutes: 1 }));
  expect(ran).toEqual(['beta', 'alpha', 'alpha', 'beta']);
  await tickAt(now.add({ minutes: 2 }));
  expect(ran).toHaveLength(4);
  // As the task says.
  await tickAt(now.add({ minutes: 62 }));
  expect(ran.slice(4).toSorted()).toEqual(['alpha', 'beta']);
});

test('the clock ticks in one of two processes, once per minute', async () => {
  await store.ownerStatements('update clock_lease set minute = 0, run_id = null, leased_until = null');
  const task = defineClockTask({
    name: 'shared',
    every: 'due',
    run: async ({ tenant, write, signal }) => {
      await wait(20, signal);
      await write(({ transaction }) => transaction.all(count(tenant.id, 'shared tick')));
    },
  });
  await makeDue(['shared']);
  const processes = await Promise.all([1, 2, 3].map(() => runBackground(store, { clockTasks: [task] })));
  await expect.poll(() => counted(store, tenantId, 'shared ')).toMatchObject({ tick: expect.any(Number) });
  await Promise.all(processes.map((background) => background.stop(10_000)));
  // A minute may have started meanwhile.
  const { tick } = await counted(store, tenantId, 'shared ');
  expect(tick).toBeLessThanOrEqual(2);
});

test('leaseClock › gives each minute to one process, never two at the same time, and not an earlier minute', async () => {
  await store.ownerStatements('update clock_lease set minute = 0, run_id = null, leased_until = null');
  const stopping = new AbortController().signal;
  const ticks: string[] = [];
  const held = Promise.withResolvers<void>();
  const take = (process: string, minute: number, until?: Promise<void>) =>
    leaseClock(store, minute, stopping, async () => {
      ticks.push(`${process} ${minute}`);
      await until;
    });
  const first = take('a', 100, held.promise);
  await expect.poll(() => ticks).toEqual(['a 100']);
  await take('b', 100);
  await take('b', 101);
  expect(ticks).toEqual(['a 100']);
  held.resolve();
  await first;
  await take('b', 100);
  await take('b', 101);
  // Its process died.
  await store.ownerStatements(`update clock_lease set run_id = gen_random_uuid(), leased_until = '-infinity'`);
  await take('c', 102);
  expect(ticks).toEqual(['a 100', 'b 101', 'c 102']);
});

test('the clock does not tick without tasks', async () => {
  const background = await runBackground(other.store, {});
  const { rows } = await other.store.ownerStatements('select minute from clock_lease');
  expect(rows.map(({ minute }) => Number(minute))).toEqual([0]);
  await background.stop(0);
});

test('a clock that was ahead recovers: daily tasks run again, and what leases and due times of the future kept back', async () => {
  const days: string[] = [];
  const task = defineClockTask({
    name: 'recovering',
    every: 'day',
    run: async ({ tenant, today, lastDay }) => {
      if (tenant.name === 'alpha') days.push(`${lastDay} ${today}`);
    },
  });
  const now = Temporal.Now.instant();
  const today = now.toZonedDateTimeISO(zones.alpha).toPlainDate();
  await keepLease(lease.id);
  await store.ownerStatements(`insert into clock_due (tenant_id, task, due_at) values ($1, 'day', '-infinity')`, [
    tenantId,
  ]);
  const { tickAt } = clockOf(task);
  await tickAt(now.add({ hours: 24 * 40 }));
  await tickAt(now);
  expect(days).toHaveLength(1);
  await store.ownerStatements(
    `insert into background_job (tenant_id, id, name, data, status, due_at, run_id, leased_until) values
       ($1, gen_random_uuid(), 'future', '{}', 'WAITING', now() + interval '40 days', null, null),
       ($1, gen_random_uuid(), 'future', '{}', 'RUNNING', now(), gen_random_uuid(), now() + interval '40 days'),
       ($1, gen_random_uuid(), 'future', '{}', 'WAITING', now() + interval '1 day', null, null)`,
    [tenantId],
  );
  await store.ownerStatements(
    `update clock_lease set minute = minute + 60000000, leased_until = now() + interval '40 days'`,
  );

  await recoverFromWrongClock(store);
  const { rows } = await store.ownerStatements(`
    select (select minute from clock_lease) as minute, (select leased_until from clock_lease) as "leasedUntil",
      (select count(*)::integer from background_job where name = 'future' and least(due_at, leased_until) <= now()) as "readyJobs",
      (select count(*)::integer from background_job where name = 'future' and leased_until > now()) as "leasedJobs"`);
  expect(rows).toEqual([{ minute: 0, leasedUntil: null, readyJobs: 2, leasedJobs: 0 }]);
  await keepLease(lease.id);
  // As tenants, tasks and due times were left by the tick that was ahead.
  await tickAt(now.add({ seconds: 1 }));
  await tickAt(now.add({ minutes: 1 }));
  expect(days).toEqual([`undefined ${today.add({ days: 40 })}`, `${today.subtract({ days: 92 })} ${today}`]);
  await tickAt(midnight(today.add({ days: 1 }).toString(), zones.alpha));
  expect(days.at(-1)).toBe(`${today} ${today.add({ days: 1 })}`);
});
