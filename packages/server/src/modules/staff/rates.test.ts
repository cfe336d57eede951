import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { atOnce, failureOf, firmOf, operationsOf } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { createStaff, updateStaff, getStaff } = operationsOf(service);
const writer = operationsOf(await service.signIn({ roles: ['STAFF_W', 'STAFF_R'] }));

/** Returns a day in the tenant's time zone, relative to today. */
const day = (days: number) => Temporal.Now.plainDateISO(service.tenant.timeZone).add({ days }).toString();
const pair = (billingRate: string, fields: object = {}) => ({
  billingRate,
  averageRate: '100',
  currency: 'USD',
  ...fields,
});
const from = (days: number, billingRate: string) => pair(billingRate, { effectiveFromDate: day(days) });

/** Returns the periods of a person, the earliest first: first day, last day, billing rate. */
async function periods(staffId: string): Promise<readonly (readonly unknown[])[]> {
  const rows = await firm.rows<Readonly<Record<string, unknown>>>(sql`
    select effective_from_date, effective_to_date, billing_rate from staff_rate where staff_id = ${staffId}
    order by effective_from_date`);
  return rows.map((row) => Object.values(row));
}

const setRates = (id: string, rates: object | null) => updateStaff(id, { rateCardAssignment: rates });

describe('updateStaff › rates', () => {
  test('end the current pair on the day before the new one starts', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-400, '180') });
    const { body } = await setRates(id, from(-30, '190.50'));
    expect(body.rateCardAssignment).toMatchObject({ billingRate: '190.50', effectiveFromDate: day(-30) });
    expect(body.version).toBe(2);
    expect(await periods(id)).toEqual([
      [day(-400), day(-31), '180'],
      [day(-30), null, '190.50'],
    ]);
  });

  test('start today if no day is provided', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-1, '180') });
    await setRates(id, pair('190'));
    expect(await periods(id)).toEqual([
      [day(-1), day(-1), '180'],
      [day(0), null, '190'],
    ]);
  });

  test('replace a pair that starts on the same day', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-5, '180') });
    const { body } = await setRates(id, { ...from(-5, '181'), rateCardName: 'Corrected' });
    expect(body.rateCardAssignment).toMatchObject({ billingRate: '181', rateCardName: 'Corrected' });
    expect(await periods(id)).toEqual([[day(-5), null, '181']]);
  });

  test('apply until the next pair starts, if they are older', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-5, '180') });
    await setRates(id, from(20, '200'));
    const { body } = await setRates(id, from(-9, '170'));
    expect(body.rateCardAssignment).toMatchObject({ billingRate: '180' });
    // Today is before the latest pair, which has not started yet.
    await setRates(id, pair('190'));
    await setRates(id, from(-9, '171'));
    expect(await periods(id)).toEqual([
      [day(-9), day(-6), '171'],
      [day(-5), day(-1), '180'],
      [day(0), day(19), '190'],
      [day(20), null, '200'],
    ]);
    const { version } = (await getStaff(id)).body;
    expect((await setRates(id, from(-5, '180'))).body.version).toBe(version);
    expect((await getStaff(id)).body.rateCardAssignment).toMatchObject({
      billingRate: '190',
      effectiveToDate: day(19),
    });
  });

  test('keep the current pair until a future one starts', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-5, '180') });
    const { body } = await setRates(id, from(10, '200'));
    expect(body.rateCardAssignment).toMatchObject({ billingRate: '180', effectiveToDate: day(9) });
    expect(body.version).toBe(2);
    expect((await firm.trace(id)).events).toHaveLength(2);
  });

  test('are null until the first pair starts', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(1, '180') });
    expect((await getStaff(id)).body.rateCardAssignment).toBeNull();
  });

  test('end with null, and future pairs are deleted', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-5, '180') });
    await setRates(id, from(10, '200'));
    const { body } = await setRates(id, null);
    expect(body.rateCardAssignment).toBeNull();
    expect(await periods(id)).toEqual([[day(-5), day(-1), '180']]);
    expect((await setRates(id, null)).body.version).toBe(body.version);
    // A pair can start on a day without rates, or on the start day of the last one.
    await setRates(id, from(5, '210'));
    expect(await periods(id)).toEqual([
      [day(-5), day(-1), '180'],
      [day(5), null, '210'],
    ]);
  });

  test('are deleted if null ends a pair that started today', async () => {
    const { id } = await firm.person({ rateCardAssignment: pair('180') });
    await setRates(id, null);
    expect(await periods(id)).toEqual([]);
  });

  test('can start within an ended period, which then ends earlier', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-9, '180') });
    await setRates(id, null);
    await setRates(id, from(-4, '190'));
    expect(await periods(id)).toEqual([
      [day(-9), day(-5), '180'],
      [day(-4), null, '190'],
    ]);
  });

  test('cannot be changed without RATE_W, by new ones or by null', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-5, '180') });
    for (const rates of [pair('1'), null])
      expect(await failureOf(writer.updateStaff(id, { title: 'X', rateCardAssignment: rates }))).toEqual([
        403,
        'FORBIDDEN',
        '/rateCardAssignment',
      ]);
    expect((await getStaff(id)).body).toMatchObject({ version: 1, title: null });
    // Null would also delete a future pair, although it is not visible.
    const future = await firm.person({ rateCardAssignment: from(5, '180') });
    const clears = writer.updateStaff(future.id, { rateCardAssignment: null });
    expect(await failureOf(clears)).toEqual([403, 'FORBIDDEN', '/rateCardAssignment']);
    // Null where there are none, or none any more, is what a caller has read.
    const former = await firm.person({ rateCardAssignment: from(-5, '180') });
    await setRates(former.id, null);
    for (const one of [await firm.person(), former])
      expect((await writer.updateStaff(one.id, { title: 'X', rateCardAssignment: null })).status).toBe(200);
  });

  test('are written one after the other for two concurrent changes', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-9, '180') });
    const responses = await atOnce(6, (index) => setRates(id, from(-3, `19${index}`)));
    expect(responses.map((response) => response.status)).toEqual([200, 200, 200, 200, 200, 200]);
    const [first, second, ...others] = await periods(id);
    expect(first).toEqual([day(-9), day(-4), '180']);
    expect(second?.slice(0, 2)).toEqual([day(-3), null]);
    expect(others).toEqual([]);
    expect((await getStaff(id)).body.version).toBe(7);

    const mixed = await atOnce(6, (index) => setRates(id, from(index - 3, `20${index}`)));
    expect(mixed.map((response) => response.status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect((await periods(id)).slice(-6).map(([start, , rate]) => [start, rate])).toEqual(
      Array.from({ length: 6 }, (_, index) => [day(index - 3), `20${index}`]),
    );
  });

  test('are rejected by the database if they would overlap', async () => {
    const { id } = await firm.person({ rateCardAssignment: from(-9, '180') });
    const overlapping = firm.change(sql`
      insert into staff_rate (tenant_id, staff_id, effective_from_date, billing_rate, average_rate, currency)
      values (${service.tenant.id}, ${id}, ${day(-20)}, 1, 1, 'USD')`);
    await expect(overlapping).rejects.toThrow(/staff_rate_period_unique/);
  });
});

test('createStaff › stores a future pair', async () => {
  const { status, body } = await createStaff(await firm.newPerson({ rateCardAssignment: from(30, '180') }));
  expect(status).toBe(201);
  expect(body.rateCardAssignment).toBeNull();
  expect(await periods(body.id)).toEqual([[day(30), null, '180']]);
});
