import { expect, test } from 'vitest';
import { firmOf, outcomeOf, timeOf, unique } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = await firmOf(service);
const { codes, entries, time } = timeOf(service);
const [staffId, jobId] = [await firm.person(), await firm.job()];
const workDate = '2026-03-02';

test.each([
  ['TimeEntry', { staffId, jobId, workDate, hours: '1.00' }, ['staffId', 'workDate', 'hours']],
  [
    'ExpenseEntry',
    { staffId, jobId, code: 'COURIER', expenseDate: workDate, cost: '1.00', billableAmount: '1.00', description: 'x' },
    ['staffId', 'jobId', 'code', 'expenseDate', 'cost', 'billableAmount', 'description'],
  ],
])('upsertEntries › rejects a new %s without a required field', async (type, attributes, needed) => {
  for (const name of needed) {
    const rest = Object.fromEntries(Object.entries(attributes).filter(([field]) => field !== name));
    const [item] = await entries([{ type, systemRef: unique('e'), attributes: rest }]);
    expect(item && outcomeOf(item)).toBe(`VALIDATION_ERROR /records/0/attributes/${name}`);
  }
  const [empty, bare] = await entries([
    { type, systemRef: unique('e'), attributes: {} },
    { type, systemRef: unique('e') },
  ]);
  expect(empty && outcomeOf(empty)).toBe('VALIDATION_ERROR /records/0/attributes/staffId');
  expect(bare && outcomeOf(bare)).toBe('VALIDATION_ERROR /records/1/attributes/staffId');
});

test('upsertEntries › takes a code for time off if the work code with the same text is inactive', async () => {
  const code = await firm.workCode();
  const [timeOff] = await codes([
    { type: 'NonWorkCode', systemRef: code, attributes: { code, name: 'Leave', isBillable: false } },
    { type: 'WorkCode', systemRef: code, active: false },
  ]);
  expect(timeOff?.status).toBe('CREATED');
  const leave = await time(unique('e'), { staffId, workDate, hours: '1.00', code });
  expect(leave.attributes).toMatchObject({ code, isBillable: false });
  const billable = await time(unique('e'), { staffId, jobId, workDate, hours: '1.00', code, isBillable: true });
  expect(outcomeOf(billable)).toBe('VALIDATION_ERROR /records/0/attributes/isBillable');
});
