import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { agingFirm } from '../../../test/modules/sandbox.ts';
import { testService } from '../../../test/service.ts';
import { backgroundWork } from '../../app/jobs.ts';
import { Clock } from '../../background/clock.ts';
import { newId } from '../../platform/store/new-id.ts';

const service = await testService();
const { store } = service;
let now = Temporal.Now.instant();
const clock = new Clock(service.service, backgroundWork.clockTasks, () => now);
const lease = { id: newId(), signal: new AbortController().signal };
await store.ownerStatements(`update clock_lease set run_id = $1, leased_until = 'infinity'`, [lease.id]);
const tickAt = async (instant: Temporal.Instant) => {
  now = instant;
  await clock.tick(lease);
};

test('the clock finds by triggers what falls due for a tenant, and runs nothing else', async () => {
  const firm = await agingFirm(service, 'aging', { sandbox: false });
  const expiresAt = Temporal.Instant.from(firm.link.body.expiresAt);
  const linkStatus = async () => {
    const [row] = await store.read(firm.tenant.id, (session) =>
      session.all<{ status: string }>(sql`select status from quick_payment_link where tenant_id = ${firm.tenant.id}`),
    );
    return row?.status;
  };
  const due = async () => {
    const { rows } = await store.ownerStatements(
      'select task, due_at from clock_due where tenant_id = $1 order by task, due_at',
      [firm.tenant.id],
    );
    return rows.map(({ task }) => task);
  };
  // The first tick of a tenant goes through all tasks, and leaves what is due later.
  await tickAt(Temporal.Now.instant().add({ seconds: 1 }));
  expect(await due()).toEqual(['day', 'expire-links']);
  await tickAt(expiresAt.subtract({ seconds: 1 }));
  expect(await linkStatus()).toBe('ACTIVE');
  await tickAt(expiresAt);
  expect(await linkStatus()).toBe('EXPIRED');
  // Nothing but the next day is left.
  expect(await due()).toEqual(['day']);
  expect(await firm.changes()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Invoice clock mark-overdue POSTED/)]),
  );

  // A tenant with another time zone has another day.
  await store.ownerStatements(`update tenant set time_zone = 'Pacific/Kiritimati' where id = $1`, [firm.tenant.id]);
  expect(await due()).toEqual(['day', 'day']);
  await tickAt(expiresAt.add({ minutes: 1 }));
  await store.ownerStatements('update tenant set active = false where id = $1', [firm.tenant.id]);
  await tickAt(expiresAt.add({ hours: 72 }));
  expect(await due()).toEqual([]);
  await store.ownerStatements('update tenant set active = true where id = $1', [firm.tenant.id]);
  expect(await due()).toEqual(['day']);
});
