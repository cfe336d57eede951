import { entityNamed } from '@financial-automation/server/service';
import { industries, regions } from './names.ts';
import { ranks } from './people.ts';
import { leaveCodes, nonWorkCodes, serviceLines, steps, taskTypes, templates, workCodes } from './practice.ts';
import { idOf, rowSteps, type Step, stepsFor } from './step.ts';

const cities = ['Boise', 'Denver', 'Eugene'];
const departments = 'Individual tax,Business tax,State and local tax,Attest,Bookkeeping,Payroll,Advisory'.split(',');
const clientKinds = ['Household', 'Small business', 'Mid-size business', 'Trust and estate'];
export const expenseCodes = ['MILEAGE', 'FILING', 'POSTAGE', 'LODGING'] as const;

/** Steps that write the reference lists of the firm, whose names differ from those of the firm of the examples. */
export function* listSteps(): Generator<Step> {
  yield* stepsFor('upsertRecords', [...cities.entries()], (plan, [index, city]) => {
    const [org] = plan.all(entityNamed('Org'), 'active', 'true');
    if (org === undefined) throw new Error('The tenant has no org.');
    const fields = { name: `${city} office`, code: `OF${index}`, orgId: org.id, timeZone: org.timeZone };
    return plan.create(entityNamed('Office'), fields, { id: idOf('office', index) });
  });
  yield* rowSteps('Department', 'department', departments, (name, index) => ({ name, code: `DEP${index}` }));
  yield* rowSteps('ServiceLine', 'serviceLine', serviceLines, (name, index) => ({
    name,
    code: `SL${index}`,
    departmentId: idOf('department', index),
    revenueAccountCode: String(4100 + index),
  }));
  yield* rowSteps('Industry', 'industry', industries, (name, index) => ({ name, code: String(111110 + 10 * index) }));
  yield* rowSteps('ClientType', 'clientType', clientKinds, (name, index) => ({
    name,
    code: `CT${index}`,
    displayOrder: 100 + index,
    defaultPaymentTermsDays: index === 0 ? 15 : 30,
  }));
  yield* rowSteps('TaxRegion', 'taxRegion', regions, ([country, state, name, ratePercent]) => ({
    name: `${name} (services)`,
    code: `${state === null ? country : `${country}-${state}`}-SVC`,
    country,
    state,
    ratePercent,
    appliesToServices: ratePercent !== '0',
  }));
  yield* rowSteps('WorkCode', undefined, workCodes, ({ code, name }, index) => ({
    code,
    name,
    isBillable: true,
    category: 'Client work',
    serviceLineId: idOf('serviceLine', index % serviceLines.length),
  }));
  yield* rowSteps('NonWorkCode', undefined, nonWorkCodes, (name, index) => ({
    code: `N${100 + index}`,
    name,
    category: index < leaveCodes ? 'Leave' : 'Firm',
  }));
  yield* rowSteps('ExpenseCode', undefined, expenseCodes, (code) => ({
    code,
    name: `${code[0]}${code.slice(1).toLowerCase()}`,
    isBillable: true,
    category: 'Expenses',
  }));
  yield* rowSteps('TaskType', 'taskType', taskTypes, ({ name, code }, index) => ({
    displayName: name,
    code,
    isBillable: true,
    billingMethod: 'HOURLY' as const,
    defaultWorkCode: workCodes[index]?.code ?? null,
    serviceLineId: idOf('serviceLine', index % serviceLines.length),
  }));
  yield* rowSteps('StaffType', 'staffType', ranks, ([name, rate], index) => ({
    name: `${name} grade`,
    code: `ST${index}`,
    rank: index + 1,
    isBillable: true,
    defaultBillingRate: `${rate}.00`,
    defaultAverageRate: `${Math.round(0.82 * rate)}.00`,
  }));
  yield* rowSteps('JobTemplate', 'jobTemplate', templates, ({ name, of }, index) => ({
    name,
    code: `JT${index}`,
    billingType: of.schedule === undefined ? ('TIME_AND_MATERIALS' as const) : ('RECURRING' as const),
    budgetHours: of.hours.toFixed(2),
    durationDays: of.schedule === undefined ? 75 : 365,
    recurrence: of.schedule ?? (of.isAfterYearEnd ? ('ANNUAL' as const) : ('NONE' as const)),
    serviceLineId: idOf('serviceLine', of.line),
    tasks: steps.map((step, position) => ({
      name: step.name,
      taskTypeId: idOf('taskType', of.area * steps.length + position),
      offsetDays: 10 * position,
      budgetHours: '6.00',
      defaultStaffTypeId: idOf('staffType', Math.max(0, 4 - position)),
    })),
  }));
}
