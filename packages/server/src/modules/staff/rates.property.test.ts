import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { moveClock, startClock } from '../../../test/clock.ts';
import { firmOf } from '../../../test/modules/staff.ts';
import { isNightly } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';

// The service gets the day of a write from this clock. Reads use the clock of the database: PGlite, in this process, uses
// this clock, and PostgreSQL the real one.
startClock(Temporal.Now.instant());
const service = await sharedService();
const firm = firmOf(service);

/** Days around the real today, as offsets from the first one. */
const length = 24;
const firstDay = Temporal.Now.plainDateISO(service.tenant.timeZone).subtract({ days: length / 2 });
const dayOf = (index: number) => firstDay.add({ days: index }).toString();

/** Sets the clock to a day, early in the afternoon of the tenant. */
function setDay(index: number): void {
  moveClock(Temporal.Instant.from(`${dayOf(index)}T17:00:00Z`));
}

interface Write {
  /** The day of the write. */
  readonly on: number;
  /** The day on which the rates start; undefined if the service determines it, null if the rates end. */
  readonly from: number | null | undefined;
}

const day = fc.integer({ min: 0, max: length - 1 });
const write: fc.Arbitrary<Write> = fc.record({
  on: day,
  from: fc.oneof({ weight: 5, arbitrary: day }, fc.constant(undefined), fc.constant(null)),
});

/** The model: the billing rate of each day. The last day represents all later ones. */
type Rates = readonly (string | undefined)[];

function startsOf(rates: Rates): number[] {
  return rates.flatMap((rate, index) => (rate !== undefined && rate !== rates[index - 1] ? [index] : []));
}

/** Returns the rates after a write: new ones apply until others start. */
function expectedAfter(rates: Rates, { on, from }: Write, rate: string): Rates {
  const start = from ?? on;
  const next = from === null ? length : (startsOf(rates).find((one) => one > start) ?? length);
  return rates.map((before, index) => (index < start || index >= next ? before : from === null ? undefined : rate));
}

/** Returns the stored rate of each day. A day with two is an overlap. */
async function storedRates(staffId: string): Promise<{ readonly rates: Rates; readonly periods: number }> {
  const rows = await firm.rows<{ from: string; to: string | null; billing: string; average: string }>(sql`
    select effective_from_date as "from", effective_to_date as "to", billing_rate as billing, average_rate as average
    from staff_rate where staff_id = ${staffId}`);
  for (const row of rows) expect(row.average).toBe(`${row.billing}.5`);
  const rates = Array.from({ length }, (_, index) => {
    const there = rows.filter(({ from, to }) => from <= dayOf(index) && (to === null || to >= dayOf(index)));
    expect(there.length).toBeLessThanOrEqual(1);
    return there[0]?.billing;
  });
  return { rates, periods: rows.length };
}

async function changeRates(staffId: string, { on, from }: Write, rate: string): Promise<void> {
  setDay(on);
  const start = from === undefined ? {} : { effectiveFromDate: dayOf(from ?? 0) };
  const pair = { billingRate: rate, averageRate: `${rate}.5`, currency: 'USD', ...start };
  const body = { rateCardAssignment: from === null ? null : pair };
  await service.handle('updateStaff', { path: { staffId }, body });
}

test('updateStaff › results in the rates of a simple model on each day', async () => {
  const staffTypeId = await firm.staffType();
  let people = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
      setDay(0);
      const number = ++people;
      const name = { firstName: 'A', lastName: 'B', email: `model-${number}@example.com` };
      const fields = { staffRef: `M-${number}`, ...name, staffTypeId, isBillable: true };
      const { body } = await service.handle('createStaff', { body: fields });
      const { id } = body;
      let model: Rates = Array.from({ length }, () => undefined);
      for (const [index, one] of writes.entries()) {
        const rate = `${index + 1}`;
        await changeRates(id, one, rate);
        model = expectedAfter(model, one, rate);
        const stored = await storedRates(id);
        expect(stored.rates).toEqual(model);
        // No period was split in two.
        expect(stored.periods).toBe(startsOf(model).length);
        setDay(length / 2);
        const shown = await service.handle('getStaff', { path: { id } });
        const current = model[length / 2];
        expect(shown.body.rateCardAssignment?.billingRate).toBe(current);
        expect(shown.body.rateCardAssignment?.averageRate).toBe(current && `${current}.5`);
      }
    }),
    { numRuns: isNightly ? 60 : 6 },
  );
});
