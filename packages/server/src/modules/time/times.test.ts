/** When work began and ended, and the steps of hours of an org. The tenant is in New York, its increment is 0.10. */
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { testService } from '../../../test/service.ts';

const service = await testService();
const { jobId, preparer, records, staffId } = await firm(service);
const { time } = timeOf(preparer);
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
