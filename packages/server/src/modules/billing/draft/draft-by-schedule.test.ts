import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { tickOf } from '../../../../test/modules/pay.ts';
import { sharedService } from '../../../../test/service.ts';
import { draftBySchedule } from './draft-by-schedule.ts';

type Draft = components['schemas']['DraftInvoice'];
type Revision = components['schemas']['DraftInvoiceHistory'];

const service = await sharedService();
const { approving, client, newClient, post, preparer, records, wip, workFor } = await firm(service);

/** Creates a job with a billing schedule. */
async function jobBy(billingSchedule: string | null, fields: object = {}): Promise<string> {
  const named = { name: 'Books 2026', clientId: client.id, billingType: 'TIME_AND_MATERIALS' };
  return (await records.make('Job', { ...named, billingSchedule, ...fields })).id;
}

/** Runs the task on a day, with the day of its last success. */
async function run(lastDay: string | undefined, today: string): Promise<void> {
  const last = lastDay === undefined ? undefined : Temporal.PlainDate.from(lastDay);
  await draftBySchedule.run({ ...tickOf(service), today: Temporal.PlainDate.from(today), lastDay: last });
}

/** Returns the first revisions of the drafts of a job. */
async function revisionsOf(jobId: string): Promise<readonly Revision[]> {
  const where = { jobIds: { _contains: jobId }, action: { _eq: 'CREATED' } };
  const body = { where, orderBy: [{ changedAt: 'asc' }] };
  const response = await preparer.call<{ data: Revision[] }>('POST', '/gql/v1/draft_invoice_histories/search', body);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return response.body.data;
}

/** Returns the drafts of a job: the last day that they bill, and their total. */
async function draftsOf(jobId: string): Promise<string[]> {
  return (await revisionsOf(jobId)).map(({ draftInvoice: draft }) => `${draft.billThroughDate} ${draft.total}`);
}

async function addWip(jobId: string, wipType: string, amount: string): Promise<string> {
  const fields = { wipType, clientId: client.id, jobId, workDate: '2026-01-20', amount };
  return (await records.make('WipEntry', fields)).id;
}

describe('a job that is billed MONTHLY', () => {
  test('gets a draft on the first day of a month for the work of the months before', async () => {
    const jobId = await jobBy('MONTHLY');
    const january = [await workFor('1.00', jobId, '2026-01-02'), await workFor('2.00', jobId, '2026-01-31')];
    const february = await workFor('4.00', jobId, '2026-02-01');
    const expense = await addWip(jobId, 'PROGRESS', '-20.00');
    await run('2026-01-30', '2026-01-31');
    expect(await draftsOf(jobId)).toEqual([]);

    await run('2026-01-31', '2026-02-01');
    const [revision] = await revisionsOf(jobId);
    expect(revision).toMatchObject({ changedById: null, changedByApiUserId: null, toStatus: 'DRAFT' });
    const { body: draft } = await preparer.call<Draft>('GET', `/gql/v1/draft_invoice/${revision?.draftInvoiceId}`);
    expect(draft).toMatchObject({
      clientId: client.id,
      jobIds: [jobId],
      billThroughDate: '2026-01-31',
      proposedInvoiceDate: '2026-02-01',
      dueDate: '2026-03-03',
      preparedById: null,
      standardAmount: '550.00',
      adjustmentAmount: '0.00',
      total: '550.00',
      lines: [
        {
          lineType: 'TIME',
          description: 'Books 2026: time through January 31, 2026',
          amount: '570.00',
          taxable: false,
          wipIds: january,
        },
        { lineType: 'PROGRESS', amount: '-20.00', wipIds: [expense] },
      ],
    });
    expect(await wip(january[0] ?? '')).toMatchObject({ status: 'IN_DRAFT', draftInvoiceId: draft.id });
    expect(await wip(february)).toMatchObject({ status: 'OPEN' });

    // No staff prepared it, so anyone with the role can approve it.
    await post(draft);
    expect(await wip(january[1] ?? '')).toMatchObject({ status: 'BILLED', outstandingAmount: '0.00' });
    await run('2026-02-28', '2026-03-01');
    expect(await draftsOf(jobId)).toEqual(['2026-01-31 550.00', '2026-02-28 760.00']);
  });

  test('gets a draft in the language of its client', async () => {
    const german = await newClient({ documentLanguage: 'de' });
    const jobId = await jobBy('MONTHLY', { clientId: german.id });
    await workFor('1.00', jobId, '2026-01-02');
    await run('2026-01-31', '2026-02-01');
    const [revision] = await revisionsOf(jobId);
    const { body: draft } = await preparer.call<Draft>('GET', `/gql/v1/draft_invoice/${revision?.draftInvoiceId}`);
    expect(draft.lines).toMatchObject([{ description: 'Books 2026: Arbeitszeit bis 31. Januar 2026' }]);
  });

  test('gets one draft per date, however often and by however many processes the task runs', async () => {
    const jobId = await jobBy('MONTHLY');
    await workFor('1.00', jobId, '2026-03-02');
    await Promise.all([run('2026-03-31', '2026-04-01'), run('2026-03-31', '2026-04-01')]);
    expect(await draftsOf(jobId)).toEqual(['2026-03-31 190.00']);
    // The first run failed for another job, and more time was approved before the second.
    await workFor('1.00', jobId, '2026-03-03');
    await run('2026-03-31', '2026-04-01');
    await run('2026-04-01', '2026-04-02');
    expect(await draftsOf(jobId)).toEqual(['2026-03-31 190.00']);
    await run('2026-04-30', '2026-05-01');
    expect(await draftsOf(jobId)).toEqual(['2026-03-31 190.00', '2026-04-30 190.00']);
  });

  test('gets no other draft for a date if the first was deleted', async () => {
    const jobId = await jobBy('MONTHLY');
    await workFor('1.00', jobId, '2026-05-04');
    await run('2026-05-31', '2026-06-01');
    const [revision] = await revisionsOf(jobId);
    await approving.remove([{ type: 'DraftInvoice', systemRef: String(revision?.draftInvoiceId) }]);
    await run('2026-05-31', '2026-06-01');
    expect(await draftsOf(jobId)).toEqual(['2026-05-31 190.00']);
  });

  test('gets one draft for all months without a clock, and none before its first run', async () => {
    const jobId = await jobBy('MONTHLY');
    await workFor('1.00', jobId, '2026-06-04');
    await run(undefined, '2026-07-01');
    expect(await draftsOf(jobId)).toEqual([]);
    await workFor('1.00', jobId, '2026-07-04');
    await run('2026-06-20', '2026-08-03');
    expect(await draftsOf(jobId)).toEqual(['2026-07-31 380.00']);
  });

  test('gets no draft if there is nothing to bill', async () => {
    const ahead = await jobBy('MONTHLY');
    await workFor('1.00', ahead, '2026-08-04');
    await addWip(ahead, 'PROGRESS', '-190.00');
    const free = await jobBy('MONTHLY', { billingType: 'NON_BILLABLE' });
    await addWip(free, 'FIXED_FEE', '10.00');
    const idle = await jobBy('MONTHLY');
    await run('2026-08-31', '2026-09-01');
    for (const jobId of [ahead, free, idle]) expect(await draftsOf(jobId)).toEqual([]);
  });

  test('is billed the agreed fee that was written as work in progress, which covers the time', async () => {
    const jobId = await jobBy('MONTHLY', { billingType: 'RECURRING', feeAmount: '500.00' });
    const time = await workFor('1.00', jobId, '2026-08-05');
    await run('2026-07-31', '2026-08-01');
    expect(await draftsOf(jobId)).toEqual([]);
    await addWip(jobId, 'FIXED_FEE', '500.00');
    await run('2026-08-31', '2026-09-01');
    expect(await draftsOf(jobId)).toEqual(['2026-08-31 500.00']);
    expect(await wip(time)).toMatchObject({ status: 'OPEN' });
  });

  test('is billed with tax if the region of the client taxes services', async () => {
    const region = { name: 'Taxed', code: 'US-XX', country: 'US', ratePercent: '8.25', appliesToServices: true };
    const { id: taxRegionId } = await records.make('TaxRegion', region);
    const { id: clientId } = await newClient({ taxRegionId, paymentTermsDays: 10 });
    const jobId = await jobBy('MONTHLY', { clientId });
    await workFor('1.00', jobId, '2026-08-06');
    await run('2026-08-31', '2026-09-01');
    const [revision] = await revisionsOf(jobId);
    expect(revision?.draftInvoice).toMatchObject({ total: '205.68', dueDate: '2026-09-11' });
  });
});

test('a job that is billed QUARTERLY only gets drafts on the first days of quarters', async () => {
  const jobId = await jobBy('QUARTERLY');
  await workFor('1.00', jobId, '2026-01-06');
  await run('2026-01-31', '2026-02-01');
  await run('2026-02-28', '2026-03-01');
  expect(await draftsOf(jobId)).toEqual([]);
  await run('2026-03-31', '2026-04-01');
  expect(await draftsOf(jobId)).toEqual(['2026-03-31 190.00']);
});

test('a job that is billed ON_COMPLETION gets a draft on the following day, in the time zone of the tenant', async () => {
  const jobId = await jobBy('ON_COMPLETION');
  await workFor('1.00', jobId, '2026-01-07');
  const { zone, today } = { zone: service.tenant.timeZone, today: Temporal.Now.plainDateISO(service.tenant.timeZone) };
  const on = (days: number) => today.add({ days }).toString();
  await run(on(-1), on(0));
  await run(on(0), on(1));
  expect(await draftsOf(jobId)).toEqual([]);
  for (const status of ['IN_REVIEW', 'COMPLETED'])
    await records.update([{ type: 'Job', systemRef: jobId, attributes: { status } }]);
  await run(on(-1), on(0));
  expect(await draftsOf(jobId)).toEqual([]);
  // On the day of completion here, UTC is on another day for some hours.
  const completedAt = today.toZonedDateTime({ timeZone: zone, plainTime: '23:59:59' }).toInstant().toString();
  await service.store.write(service.tenant.id, (transaction) =>
    transaction.all(sql`update job set completed_at = ${completedAt}::timestamptz where id = ${jobId}`),
  );
  await run(on(-1), on(0));
  expect(await draftsOf(jobId)).toEqual([]);
  await run(on(0), on(1));
  await run(on(1), on(2));
  expect(await draftsOf(jobId)).toEqual([`${on(0)} 190.00`]);
});

test('jobs that are billed by MILESTONE or without a schedule get no drafts from the clock', async () => {
  const jobs = [await jobBy('MILESTONE'), await jobBy(null)];
  for (const jobId of jobs) await workFor('1.00', jobId, '2026-01-08');
  await run('2026-03-31', '2026-04-01');
  for (const jobId of jobs) expect(await draftsOf(jobId)).toEqual([]);
});
