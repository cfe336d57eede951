import { type EntityType, entityNamed, type RowInput } from '@financial-automation/server/service';
import { industries, regions } from './names.ts';
import { ranks } from './people.ts';
import { leaveCodes, nonWorkCodes, serviceLines, steps, taskTypes, templates, workCodes } from './practice.ts';
import { idOf, type Step, stepsFor } from './step.ts';

const cities = ['Boise', 'Denver', 'Eugene'];
const departments = [
  'Individual tax',
  'Business tax',
  'State and local tax',
  'Attest',
  'Bookkeeping',
  'Payroll',
  'Advisory',
];
const clientKinds = ['Household', 'Small business', 'Mid-size business', 'Trust and estate'];
export const expenseCodes = ['MILEAGE', 'FILING', 'POSTAGE', 'LODGING'] as const;

/** Steps that write the reference lists of the firm, whose names differ from those of the firm of the examples. */
export function* listSteps(): Generator<Step> {
  yield* list('Office', 'office', cities, (city, index) => ({ name: `${city} office`, code: `OF${index}` }), true);
  yield* list('Department', 'department', departments, (name, index) => ({ name, code: `DEP${index}` }));
  yield* list('ServiceLine', 'serviceLine', serviceLines, (name, index) => ({
    name,
    code: `SL${index}`,
    departmentId: idOf('department', index),
    revenueAccountCode: String(4100 + index),
  }));
  yield* list('Industry', 'industry', industries, ([name, code]) => ({ name, code }));
  yield* list('ClientType', 'clientType', clientKinds, (name, index) => ({
    name,
    code: `CT${index}`,
    displayOrder: 100 + index,
    defaultPaymentTermsDays: index === 0 ? 15 : 30,
  }));
  yield* list('TaxRegion', 'taxRegion', regions, ([country, state, name, ratePercent]) => ({
    name: `${name} (services)`,
    code: `${state === null ? country : `${country}-${state}`}-SVC`,
    country,
    state,
    ratePercent,
    appliesToServices: ratePercent !== '0',
  }));
  yield* list('WorkCode', undefined, workCodes, ({ code, name }, index) => ({
    code,
    name,
    isBillable: true,
    category: 'Client work',
    serviceLineId: idOf('serviceLine', index % serviceLines.length),
  }));
  yield* list('NonWorkCode', undefined, nonWorkCodes, (name, index) => ({
    code: `N${100 + index}`,
    name,
    category: index < leaveCodes ? 'Leave' : 'Firm',
  }));
  yield* list('ExpenseCode', undefined, expenseCodes, (code) => ({
    code,
    name: `${code[0]}${code.slice(1).toLowerCase()}`,
    isBillable: true,
    category: 'Expenses',
  }));
  yield* list('TaskType', 'taskType', taskTypes, ({ name, code }, index) => ({
    displayName: name,
    code,
    isBillable: true,
    billingMethod: 'HOURLY' as const,
    defaultWorkCode: workCodes[index]?.code ?? null,
    serviceLineId: idOf('serviceLine', index % serviceLines.length),
  }));
  yield* list('StaffType', 'staffType', ranks, ([name, rate], index) => ({
    name: `${name} grade`,
    code: `ST${index}`,
    rank: index + 1,
    isBillable: true,
    defaultBillingRate: `${rate}.00`,
    defaultAverageRate: `${Math.round(0.82 * rate)}.00`,
  }));
  yield* list('JobTemplate', 'jobTemplate', templates, ({ name, of }, index) => ({
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

function list<Type extends EntityType, Item>(
  type: Type,
  kind: Parameters<typeof idOf>[0] | undefined,
  items: readonly Item[],
  fieldsOf: (item: Item, index: number) => RowInput<Type>,
  hasOrg = false,
): Iterable<Step> {
  const numbered = items.map((item, index) => ({ item, index }));
  return stepsFor('upsertRecords', numbered, (plan, { item, index }) => {
    const [org] = hasOrg ? plan.all(entityNamed('Org'), 'active', 'true') : [];
    const place = org === undefined ? {} : { orgId: org.id, timeZone: org.timeZone };
    const key = kind === undefined ? {} : { id: idOf(kind, index) };
    return plan.create(entityNamed(type), { ...place, ...fieldsOf(item, index) }, key);
  });
}
