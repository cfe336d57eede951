import fc from 'fast-check';
import { expect, test } from 'vitest';
import { divideHalfUp, money, scaled, unscaled } from '../../../test/books/cents.ts';
import { startClock } from '../../../test/clock.ts';
import { firmOf, timeOf, unique } from '../../../test/modules/time.ts';
import { isNightly } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';

/** Days around today, as offsets from the first one. */
const length = 30;
const today = length / 2;
const firstDay = Temporal.Now.plainDateISO('America/New_York').subtract({ days: today });
const dayOf = (index: number) => firstDay.add({ days: index }).toString();

// Far from midnight, so that the day does not change.
startClock(Temporal.Instant.from(`${dayOf(today)}T17:00:00Z`));

const service = await sharedService();
const firm = await firmOf(service);
const approver = await service.signIn({ roles: ['API_ADMIN', 'TIME_APRV'] });

interface Assignment {
  readonly role: string;
  readonly rate: string | null;
  readonly start: number;
  readonly end: number;
  readonly isRemoved: boolean;
}

interface Period {
  readonly from: number;
  readonly rate: string;
  readonly currency: 'USD' | 'EUR';
}

/** All rates that determine the price of an hour. */
interface Rates {
  readonly assignments: readonly Assignment[];
  readonly periods: readonly Period[];
  readonly ofTaskType: string | null;
  readonly ofStaffType: string | null;
}

const day = fc.integer({ min: 0, max: length - 1 });
const rate = fc.integer({ min: 1, max: 5_000_000 }).map((value) => unscaled(BigInt(value), 4));
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.oneof(arbitrary, fc.constant(null));

const rates: fc.Arbitrary<Rates> = fc.record({
  assignments: fc.uniqueArray(
    fc.record({
      role: fc.constantFrom('PARTNER', 'MANAGER', 'IN_CHARGE', 'REVIEWER', 'PREPARER'),
      rate: fc.oneof({ weight: 3, arbitrary: rate }, fc.constant(null)),
      start: day,
      end: day,
      isRemoved: fc.boolean(),
    }),
    { selector: ({ role }) => role, maxLength: 4 },
  ),
  periods: fc
    .array(fc.record({ from: day, rate, currency: fc.constantFrom('USD', 'USD', 'EUR') }), { maxLength: 5 })
    .map((periods) => periods.toSorted((one, other) => one.from - other.from)),
  ofTaskType: optional(rate),
  ofStaffType: optional(rate),
});

const work = fc.record({ day, isOnTask: fc.boolean(), hours: fc.integer({ min: 1, max: 20 }) });

/** The rate of each day: lower precedence is written first, and overwritten by higher precedence. */
function ratesByDay({ assignments, periods, ofTaskType, ofStaffType }: Rates, isOnTask: boolean): (string | null)[] {
  const days = Array.from({ length }, () => (isOnTask ? (ofTaskType ?? ofStaffType) : ofStaffType));
  const write = (value: string | null, from: number, to: number) => {
    for (let index = from; index <= to; index++) days[index] = value ?? days[index] ?? null;
  };
  for (const [index, { from, rate: own, currency }] of periods.entries())
    write(currency === 'USD' ? own : null, from, (periods[index + 1]?.from ?? length) - 1);
  for (const one of assignments.filter(({ isRemoved }) => isRemoved))
    write(one.rate, one.start, Math.min(one.end, today));
  for (const one of assignments.filter(({ isRemoved }) => !isRemoved)) write(one.rate, one.start, one.end);
  return days;
}

/** Creates a staff member with these rates, and work to record time on. */
async function staffWith({ assignments, periods, ofTaskType, ofStaffType }: Rates) {
  const staffTypeId = await firm.staffType(ofStaffType === null ? {} : { defaultBillingRate: ofStaffType });
  const taskTypeId = await firm.taskType(ofTaskType === null ? {} : { defaultRate: ofTaskType });
  const staffId = await firm.person({ staffTypeId, rateCardAssignment: undefined });
  for (const { from, rate: billingRate, currency } of periods) {
    const pair = { billingRate, averageRate: '1.00', currency, effectiveFromDate: dayOf(from) };
    await service.handle('updateStaff', { path: { staffId }, body: { rateCardAssignment: pair } });
  }
  const jobId = await firm.job();
  const taskId = await firm.task(jobId, { taskTypeId });
  const onJob = (rows: readonly Assignment[], isWhole: boolean) =>
    rows.map(({ role, rate: billingRateOverride, start, end }) => {
      const period = { billingRateOverride, startDate: dayOf(start), endDate: dayOf(end) };
      return { staffId, jobId, role, ...(isWhole ? period : {}) };
    });
  const send = async (path: string, staffJobAssignments: readonly object[]) => {
    if (staffJobAssignments.length === 0) return;
    const { status, body } = await service.call('POST', `/api/v1/projects/${path}`, { staffJobAssignments });
    if (status !== 200) throw new Error(JSON.stringify(body));
  };
  await send('assign_staff', onJob(assignments, true));
  const removed = assignments.filter(({ isRemoved }) => isRemoved);
  await send('remove_staff', onJob(removed, false));
  return { staffId, jobId, taskId };
}

test('upsertEntries › uses the rate of a simple calculation on each day, and approves nothing without one', async () => {
  const ordered = rates.map((one) => ({
    ...one,
    assignments: one.assignments.map((each) => ({
      ...each,
      start: Math.min(each.start, each.end),
      end: Math.max(each.start, each.end),
    })),
  }));
  const seen = { priced: 0, unpriced: 0 };
  await fc.assert(
    fc.asyncProperty(ordered, fc.array(work, { minLength: 12, maxLength: 24 }), async (scene, items) => {
      const { staffId, jobId, taskId } = await staffWith(scene);
      const expected = items.map(({ day: on, isOnTask, hours }) => {
        const found = ratesByDay(scene, isOnTask)[on] ?? null;
        const amount = divideHalfUp(BigInt(hours) * 10n * scaled(found ?? '0', 4), 10_000n);
        return { found, amount: money(amount) };
      });
      const refs = items.map(() => unique('priced'));
      const entries = items.map(({ day: on, isOnTask, hours }, index) => ({
        type: 'TimeEntry',
        systemRef: refs[index] ?? '',
        attributes: {
          staffId,
          jobId,
          taskId: isOnTask ? taskId : null,
          workDate: dayOf(on),
          hours: money(BigInt(hours) * 10n),
          isBillable: true,
          status: 'SUBMITTED',
        },
      }));
      const recorded = await timeOf(service).entries(entries);
      expect(recorded.map(({ attributes }) => scaled(String(attributes?.billingRate), 4))).toEqual(
        expected.map(({ found }) => scaled(found ?? '0', 4)),
      );
      const approvals = refs.map((systemRef) => ({ type: 'TimeEntry', systemRef, attributes: { status: 'APPROVED' } }));
      const approved = await timeOf(approver).entries(approvals);
      expect(approved.map((one) => [one.error?.code ?? one.status, one.attributes?.amount])).toEqual(
        expected.map(({ found, amount }, index) => {
          // Work is priced in advance, and approved on its day or later.
          if ((items[index]?.day ?? 0) > today) return ['VALIDATION_ERROR', undefined];
          return found === null ? ['NO_RATE', undefined] : ['UPDATED', amount];
        }),
      );
      for (const { found } of expected) seen[found === null ? 'unpriced' : 'priced'] += 1;
    }),
    // Cases are small enough to read, and shrinking takes long. By day the same few, which have work with a rate and without.
    { ...(isNightly ? { numRuns: 12 } : { numRuns: 4, seed: 1 }), endOnFailure: true },
  );
  expect(Math.min(seen.priced, seen.unpriced)).toBeGreaterThan(0);
});
