import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { testService } from '../../../../test/service.ts';
import { Clock, type ClockTask, type Tick } from '../../../background/clock.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { draftBySchedule } from './draft-by-schedule.ts';

const service = await testService();
const { store, tenant } = service;
const { client, preparer } = await firm(service);

const idle = 200;
const billed = 230;

async function create(type: 'Job' | 'WipEntry', rows: readonly object[]): Promise<string[]> {
  const records = rows.map((attributes) => ({ type, systemRef: newId(), attributes }));
  const { body } = await preparer.handle('upsertRecords', { body: { records } });
  return body.records.map(({ id }) => String(id));
}

/** The runs of the task, each of which is interrupted after its first transaction, or in it. */
function interrupted(crashes: readonly number[]): { readonly task: ClockTask; readonly runs: { reads: number }[] } {
  const runs: { reads: number }[] = [];
  const run = (tick: Tick) => {
    if (tick.tenant.name !== tenant.name) return Promise.resolve();
    const end = new AbortController();
    const count = { reads: 0 };
    runs.push(count);
    const crash = crashes.includes(runs.length);
    return draftBySchedule.run({
      ...tick,
      signal: end.signal,
      read: (work) => {
        count.reads += 1;
        return tick.read(work);
      },
      write: async (work) => {
        const result = await tick.write(async (unit) => {
          const done = await work(unit);
          if (crash) throw new Error('The process ends.');
          return done;
        });
        end.abort(new Error('No time is left.'));
        return result;
      },
    });
  };
  return { task: { ...draftBySchedule, run }, runs };
}

test('draft-by-schedule › a run that is interrupted continues where it was, and each job gets one draft', async () => {
  const job = { name: 'Books', clientId: client.id, billingType: 'TIME_AND_MATERIALS', billingSchedule: 'MONTHLY' };
  const jobs = await create(
    'Job',
    Array.from({ length: idle + billed }, () => job),
  );
  const work = { wipType: 'PROGRESS', clientId: client.id, workDate: '2026-01-20', amount: '10.00' };
  await create(
    'WipEntry',
    jobs.slice(idle).map((jobId) => ({ ...work, jobId })),
  );
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`
      insert into clock_day (tenant_id, task, day) values (${tenant.id}, ${draftBySchedule.name}, '2026-01-31')`),
  );
  // The clock goes through the days of then.
  await store.ownerStatements(`update clock_due set due_at = '-infinity'`);
  const turn = { id: newId(), signal: new AbortController().signal };
  await store.ownerStatements(`update clock_lease set run_id = $1, leased_until = 'infinity'`, [turn.id]);

  // The second run crashes, so the third does the same.
  const { task, runs } = interrupted([2]);
  let now = Temporal.Instant.from('2026-02-01T12:00:00Z');
  const lastDay = () =>
    store.read(tenant.id, (session) =>
      session.first<{ day: string; place: object | null }>(
        sql`select day, place from clock_day where tenant_id = ${tenant.id} and task = ${task.name}`,
      ),
    );
  const drafts: number[] = [];
  for (let minute = 0; minute < 10 && (await lastDay())?.day !== '2026-02-01'; minute += 1) {
    // Each run is by another process.
    await new Clock(service.service, [task], () => now).tick(turn);
    now = now.add({ minutes: 1 });
    const rows = await store.read(tenant.id, (session) =>
      session.all(sql`select from draft_invoice where tenant_id = ${tenant.id}`),
    );
    drafts.push(rows.length);
  }
  expect(drafts).toEqual([0, 0, 200, billed, billed]);
  // No run goes through a slice again that an earlier one has completed.
  expect(runs.map(({ reads }) => reads)).toEqual([1, 1, 1, 1, 2]);
  expect(await lastDay()).toEqual({ day: '2026-02-01', place: null });
  const counts = await store.read(tenant.id, (session) =>
    session.all<{ jobs: number; drafts: number }>(sql`
      select count(distinct job_ids)::integer as jobs, count(*)::integer as drafts from draft_invoice
      where tenant_id = ${tenant.id}`),
  );
  expect(counts).toEqual([{ jobs: billed, drafts: billed }]);
});
