import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { moveMachineClock } from '../../test/clock.ts';
import { agingFirm } from '../../test/modules/sandbox.ts';
import { testService } from '../../test/service.ts';
import { backgroundWork } from '../app/jobs.ts';
import { keepPartitions } from '../platform/store/partitions.ts';
import { startBackground } from './background.ts';

const service = await testService();
const { store } = service;

test.each([
  ['8 years ahead', { years: 8 }],
  ['40 days ahead', { days: 40 }],
  ['40 days behind', { days: -40 }],
])('a process whose clock is %s is not ready, and nothing is stored, expires or is removed by it', async (name, by) => {
  const real = Temporal.Now.zonedDateTimeISO('UTC');
  moveMachineClock(real.add(by).toInstant());

  expect(await service.call('GET', '/readyz')).toMatchObject({
    status: 503,
    body: {
      detail: expect.stringMatching(/^The clock of this process is [\d,]+ days (ahead of|behind) that of the data/),
    },
  });
  const firm = await agingFirm(service, `off_${name.replaceAll(' ', '_')}`, { sandbox: false });
  const { changes, tenant } = firm;
  // IDs rise within the process, in which another test may have moved the clock by days.
  const rows = () =>
    store.read(tenant.id, (session) =>
      session.first(sql`
        select (select count(*) from audit_log where tenant_id = ${tenant.id}) as audited,
          (select count(*) from recorded_event where tenant_id = ${tenant.id}) as events,
          (select count(*) from audit_log where tenant_id = ${tenant.id}
            and instant_of_id(id) not between now() - interval '1 hour' and now() + interval '30 days') as "otherIds",
          (select count(*) from audit_log where tenant_id = ${tenant.id}
            and occurred_at not between now() - interval '1 hour' and clock_timestamp()) as "otherTimes",
          (select expires_at - created_at from quick_payment_link where tenant_id = ${tenant.id})::text as link`),
    );
  const before = await rows();
  expect(before).toMatchObject({ otherIds: 0, otherTimes: 0, link: '30 days' });

  await store.ownerStatements('update clock_lease set minute = 0');
  const background = await startBackground(service.service, { jobs: [], clockTasks: backgroundWork.clockTasks });
  const ran = () =>
    store.read(tenant.id, (session) =>
      session.all<{ task: string; isToday: boolean }>(
        sql`select task, day = today() as "isToday" from clock_day where tenant_id = ${tenant.id}`,
      ),
    );
  const daily = backgroundWork.clockTasks.filter(({ every }) => every === 'day');
  await expect.poll(async () => (await ran()).length).toBe(daily.length);
  await background.stop(10_000);
  for (const table of ['audit_log', 'delivery_attempt'] as const)
    expect(await keepPartitions(store, table, '7 years')).toMatchObject({ dropped: [] });

  expect((await ran()).every(({ isToday }) => isToday)).toBe(true);
  expect(await changes()).toEqual([]);
  expect(await rows()).toEqual(before);
});
