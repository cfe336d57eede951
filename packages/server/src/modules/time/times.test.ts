/** When work began and ended, and the steps of hours of an org. The tenant is in New York, its increment is 0.10. */
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { approver, jobId, preparer, records, staffId } = await firm(service);
const { time } = timeOf(preparer);
const approve = (systemRef: string) => timeOf(approver).time(systemRef, { status: 'APPROVED' });
const { body: orgs } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const stepIs = (timeStep: string | null) =>
  records.update([{ type: 'Org', systemRef: orgs.data[0]?.systemRef ?? null, attributes: { timeStep } }]);
let written = 0;
const write = (attributes: object, systemRef = `clock-${++written}`) =>
  time(systemRef, { staffId, jobId, workDate: '2026-01-07', isBillable: true, ...attributes });
const over = (startedAt: string, endedAt: string, hours: string) => ({ startedAt, endedAt, hours });

test('hours on jobs of an org are in its timeStep, and earlier ones stay', async () => {
  expect(await write({ hours: '0.37' }, 'fine')).toMatchObject({
    error: { detail: 'hours must be a multiple of 0.10.' },
  });
  await stepIs('0.01');
  expect(await write({ hours: '0.37' }, 'fine')).toMatchObject({ status: 'CREATED' });
  await stepIs('0.25');
  expect(await write({ hours: '0.40' })).toMatchObject({ error: { detail: 'hours must be a multiple of 0.25.' } });
  expect(await write({ hours: '0.37', description: 'Call' }, 'fine')).toMatchObject({ status: 'UPDATED' });
  expect(await write({ status: 'SUBMITTED' }, 'fine')).toMatchObject({ status: 'UPDATED' });
  expect(await approve('fine')).toMatchObject({ status: 'UPDATED' });
  // What was recorded in another step can be reversed.
  expect(await write({ hours: '-0.37', reversesSystemRef: 'fine' })).toMatchObject({ status: 'CREATED' });
  // Time off belongs to no org.
  expect(await write({ hours: '0.40', jobId: null, isBillable: false })).toMatchObject({ status: 'CREATED' });
  await stepIs(null);
});

test('startedAt and endedAt agree with hours to the step, also over midnight', async () => {
  const night = over('2026-01-08T04:20:00.000Z', '2026-01-08T06:05:00.000Z', '1.70');
  const entry = await write(night, 'night');
  expect(entry).toMatchObject({ status: 'CREATED', attributes: night });
  expect(await write(night, 'night')).toMatchObject({ status: 'UNCHANGED' });
  expect(await write({ ...night, hours: '1.80' }, 'night')).toMatchObject({ status: 'UPDATED' });
  expect(await write({ ...night, hours: '1.90' }, 'night')).toMatchObject({
    error: { detail: 'hours must be the 1.75 from startedAt to endedAt, within one step.' },
  });
  // Without them, hours are free again.
  expect(await write({ startedAt: null, endedAt: null, hours: '3.00' }, 'night')).toMatchObject({ status: 'UPDATED' });
});

test.each<[object, string]>([
  [{ startedAt: '2026-01-07T15:00:00.000Z', hours: '1.00' }, 'endedAt'],
  [{ endedAt: '2026-01-07T15:00:00.000Z', hours: '1.00' }, 'startedAt'],
  [over('2026-01-07T15:00:00.000Z', '2026-01-07T15:00:00.000Z', '0.10'), 'endedAt'],
  [over('2026-01-07T15:00:00.000Z', '2026-01-07T14:00:00.000Z', '1.00'), 'endedAt'],
  [over('2026-01-08T15:00:00.000Z', '2026-01-08T16:00:00.000Z', '1.00'), 'workDate'],
  [over('2026-01-07T04:00:00.000Z', '2026-01-07T05:00:00.000Z', '1.00'), 'workDate'],
])('TimeEntry › rejects %j', async (attributes, field) => {
  expect(await write(attributes)).toMatchObject({ error: { pointer: `/records/0/attributes/${field}` } });
});

test('splitAtMidnight writes an entry for each day, and the same entry again changes nothing', async () => {
  // From 22:20 to 01:05, of which 1.67 hours are on the first day.
  const night = { ...over('2026-01-08T03:20:00.000Z', '2026-01-08T06:05:00.000Z', '2.80'), splitAtMidnight: true };
  const midnight = '2026-01-08T05:00:00.000Z';
  const both = async () => {
    const where = { systemRef: { _in: ['split', 'split+1'] } };
    const request = { where, orderBy: [{ workDate: 'asc' }] };
    const { body } = await service.call<{ data: object[] }>('POST', '/gql/v1/time_entries/search', request);
    return body.data;
  };
  expect(await write({ ...night, description: 'Closing' }, 'split')).toMatchObject({
    status: 'CREATED',
    attributes: { endedAt: midnight, hours: '1.70' },
  });
  const shared = { jobId, staffId, isBillable: true, description: 'Closing', status: 'DRAFT' };
  expect(await both()).toMatchObject([
    {
      ...shared,
      systemRef: 'split',
      workDate: '2026-01-07',
      startedAt: night.startedAt,
      endedAt: midnight,
      hours: '1.70',
    },
    {
      ...shared,
      systemRef: 'split+1',
      workDate: '2026-01-08',
      startedAt: midnight,
      endedAt: night.endedAt,
      hours: '1.10',
    },
  ]);
  const before = await both();
  expect(await write({ ...night, description: 'Closing' }, 'split')).toMatchObject({ status: 'UNCHANGED' });
  expect(await both()).toEqual(before);
  await write({ ...night, ...over(night.startedAt, '2026-01-08T07:05:00.000Z', '3.80') }, 'split');
  expect(await both()).toMatchObject([{ version: 1 }, { endedAt: '2026-01-08T07:05:00.000Z', hours: '2.10' }]);
});

test('splitAtMidnight leaves an entry of one day as it is, and rejects both parts if one is not possible', async () => {
  const day = { ...over('2026-01-07T15:00:00.000Z', '2026-01-08T05:00:00.000Z', '14.00'), splitAtMidnight: true };
  expect(await write(day, 'until-midnight')).toMatchObject({ attributes: { hours: '14.00', endedAt: day.endedAt } });
  expect(await write({ hours: '1.00', splitAtMidnight: true }, 'untimed')).toMatchObject({ status: 'CREATED' });
  await write({ workDate: '2026-01-09', hours: '24.00' }, 'full-day');
  const night = { workDate: '2026-01-08', ...over('2026-01-09T03:00:00.000Z', '2026-01-09T07:00:00.000Z', '4.00') };
  expect(await write({ ...night, splitAtMidnight: true }, 'late')).toMatchObject({
    error: { pointer: '/records/0/attributes/hours' },
  });
  const { body } = await service.call<{ data: object[] }>('POST', '/gql/v1/time_entries/search', {
    where: { systemRef: { _in: ['late', 'late+1'] } },
  });
  expect(body.data).toEqual([]);
  expect(await write({ ...night, splitAtMidnight: true }, 'r'.repeat(254))).toMatchObject({
    error: { pointer: '/records/0/attributes/splitAtMidnight' },
  });
});
