/** The figures of the overview. Each is one aggregate of the API, and each of its groups links to its rows. */
import { type Decimal, formatDecimal, parseDecimal, sum, zero } from '../../platform/decimal.ts';
import type { GroupBy, Measure } from '../../query/aggregate-request.ts';
import type { RowConditions } from './filter.ts';

/** What figures are about. */
export interface Scope {
  /** `YYYY-MM-DD`: figures are those of the end of this day. */
  readonly asOf: string;
  readonly currency: string;
  readonly orgId: string | undefined;
  readonly officeId: string | undefined;
  readonly serviceLineId: string | undefined;
}

export interface OverviewFigure {
  readonly id: string;
  readonly title: string;
  readonly lead: string;
  readonly type: string;
  readonly unit: 'MONEY' | 'PERCENT' | 'DAYS';
  /** What rows are grouped by: a reference, the months of their day, or a day whose ages are shown. */
  readonly column: string;
  /** Words of ages, by the first day of each. */
  readonly ages?: Readonly<Record<string, string>>;
  readonly where: RowConditions;
  /** The day that a row counts for. */
  readonly day: string;
  /** How much before the end it can be; without it, any. */
  readonly since?: { readonly months: number } | { readonly weeks: number };
  readonly measure: Measure;
  /** Whether what reduces the measure adds to the figure. */
  readonly isCredit?: true;
  /** Whether months have those of the year before beside them. */
  readonly hasYearBefore?: true;
  /** The groups that are shown in percent of all. */
  readonly share?: { readonly column: string; readonly values: readonly (string | boolean)[] };
  /** Related rows that have the org and the office, and the service line; without them, the row itself has all. */
  readonly of?: readonly [office: string, serviceLine: string];
}

export interface Group {
  readonly key: Readonly<Record<string, string | boolean | null>>;
  readonly values: Readonly<Record<string, string | null>>;
}

export interface Point {
  readonly value: Decimal;
  readonly key: string | null;
}

/** The figures of one name: a reference, an age or a month. */
export interface Series {
  readonly key: string | null;
  readonly points: readonly (Point | undefined)[];
}

/** Rows of a figure by name. */
const maxNames = 10;
const amount = { function: 'SUM', column: 'amount' } as const;
const olderAges = { 31: '31–60 days', 61: '61–90 days', 91: 'Over 90' };
/** What clients owe, as the ledger has it. */
const receivable = {
  type: 'LedgerEntry',
  unit: 'MONEY',
  where: { account: { _eq: 'RECEIVABLE' } },
  day: 'businessDate',
  measure: amount,
  of: ['client', 'client'],
} as const;

export const figures: readonly OverviewFigure[] = [
  {
    id: 'receivables',
    title: 'Receivables by age',
    lead: 'What clients owe, by days past due.',
    ...receivable,
    column: 'dueDate',
    ages: { below: 'Not due', 1: '1–30 days', ...olderAges },
  },
  {
    id: 'work',
    title: 'Unbilled work by age',
    lead: 'Work at standard rates that is not billed, by days since it was done.',
    ...receivable,
    column: 'workDate',
    ages: { below: 'Later', 0: '0–30 days', ...olderAges },
    where: { account: { _eq: 'WIP' } },
    of: ['client', 'job'],
  },
  {
    id: 'revenue',
    title: 'Revenue by month',
    lead: 'Invoices less credit notes and voids, without tax, by the day for which they count, beside the same months a year before.',
    type: 'JournalEntry',
    unit: 'MONEY',
    column: 'businessDate',
    where: { purpose: { _eq: 'REVENUE' } },
    day: 'businessDate',
    since: { months: 23 },
    measure: amount,
    isCredit: true,
    hasYearBefore: true,
  },
  {
    id: 'days-to-pay',
    title: 'Days to pay',
    lead: 'Average days from the date of an invoice to its full payment, by the month of the payment.',
    type: 'Invoice',
    unit: 'DAYS',
    column: 'paidDate',
    where: { documentType: { _eq: 'INVOICE' } },
    day: 'paidDate',
    since: { months: 11 },
    measure: { function: 'AVERAGE', column: 'daysToPay' },
    of: ['client', 'client'],
  },
  {
    id: 'debtors',
    title: 'Largest debtors',
    lead: 'The clients that owe most.',
    ...receivable,
    column: 'clientId',
  },
  {
    id: 'utilization',
    title: 'Utilization by staff',
    lead: 'Billable hours of the last 13 weeks in percent of all approved hours, of those with most hours.',
    type: 'TimeEntry',
    unit: 'PERCENT',
    column: 'staffId',
    where: { status: { _eq: 'APPROVED' }, active: { _eq: true } },
    day: 'workDate',
    since: { weeks: 13 },
    measure: { function: 'SUM', column: 'hours' },
    share: { column: 'isBillable', values: [true] },
    of: ['staff', 'job'],
  },
  {
    id: 'realization',
    title: 'Realization by service line',
    lead: 'What was billed in the last 12 months, in percent of its value at standard rates and of what was written off.',
    type: 'JournalEntry',
    unit: 'PERCENT',
    column: 'serviceLineId',
    where: {
      purpose: { _eq: 'WIP' },
      kind: { _in: ['BILLED', 'UNBILLED', 'WRITE_UP', 'WRITE_DOWN', 'WRITE_OFF', 'RECOVERY'] },
    },
    day: 'businessDate',
    since: { months: 11 },
    measure: amount,
    // Billing reduces the work in progress by its standard value: what is billed, less write-ups, and with write-downs.
    share: { column: 'kind', values: ['BILLED', 'UNBILLED'] },
  },
];

/** Whether a figure is about rows that have names, such as clients. */
export function isNamed({ column, day, ages }: OverviewFigure): boolean {
  return column !== day && ages === undefined;
}

export function isByMonth({ column, day }: OverviewFigure): boolean {
  return column === day;
}

/** The request of the aggregate. */
export function requestOf(figure: OverviewFigure, scope: Scope) {
  const { column, ages, where, day, since, measure, share } = figure;
  const { asOf, currency } = scope;
  const first: GroupBy = {
    column,
    ...(ages !== undefined && { daysBefore: asOf, boundaries: startsOf(ages).map(Number) }),
    ...(isByMonth(figure) && { by: 'MONTH' }),
  };
  const period = { ...(since !== undefined && { _gte: startOf(since, asOf) }), _lte: asOf };
  // Hours have no currency.
  const inCurrency = measure.column !== 'hours' && { currency: { _eq: currency } };
  return {
    where: { ...where, ...inCurrency, [day]: period, ...within(figure, scope) },
    groupBy: [first, ...(share === undefined ? [] : [{ column: share.column }])],
    measures: { figure: measure },
    ...(isNamed(figure) && { orderBy: [{ measure: 'figure', direction: 'desc' }] }),
    pageSize: isNamed(figure) && share === undefined ? maxNames : 1000,
  };
}

function startsOf(ages: Readonly<Record<string, string>>): string[] {
  return Object.keys(ages).filter((start) => start !== 'below');
}

/** The first day of the month so many before a day, or the day after so many weeks before it. */
function startOf(since: { readonly months: number } | { readonly weeks: number }, asOf: string): string {
  const end = Temporal.PlainDate.from(asOf);
  return ('months' in since ? end.with({ day: 1 }).subtract(since) : end.subtract(since).add({ days: 1 })).toString();
}

/** The conditions on the org, the office and the service line, of the row or of rows that it refers to. */
function within({ of: [office, serviceLine] = ['', ''] }: OverviewFigure, { orgId, officeId, serviceLineId }: Scope) {
  const found: Record<string, object> = {};
  const add = (relation: string, condition: object) =>
    Object.assign(found, relation === '' ? condition : { [relation]: { ...found[relation], ...condition } });
  if (orgId !== undefined) add(office, { orgId: { _eq: orgId } });
  if (officeId !== undefined) add(office, { officeId: { _eq: officeId } });
  if (serviceLineId !== undefined) add(serviceLine, { serviceLineId: { _eq: serviceLineId } });
  return found;
}

/** What is shown of the groups. */
export function seriesOf(figure: OverviewFigure, groups: readonly Group[], { asOf }: Scope): Series[] {
  const byKey = Map.groupBy(groups, ({ key }) => String(key[figure.column] ?? ''));
  const pointAt = (key: string): Point | undefined => {
    const of = byKey.get(key);
    return of && { value: figureOf(figure, of), key: key === '' ? null : key };
  };
  if (isByMonth(figure)) {
    const monthAt = (months: number) => startOf({ months }, asOf);
    return Array.from({ length: 12 }, (_unused, index) => 11 - index).map((months) => ({
      key: monthAt(months),
      points: [months, ...(figure.hasYearBefore ? [months + 12] : [])].map(monthAt).map(pointAt),
    }));
  }
  const all = [...byKey.keys()].map((key) => ({ key: key === '' ? null : key, points: [pointAt(key)] }));
  if (!isNamed(figure)) return all;
  return all.filter(({ points: [point] }) => figure.unit !== 'MONEY' || point?.value.gt(zero)).slice(0, maxNames);
}

function figureOf({ share, isCredit }: OverviewFigure, groups: readonly Group[]): Decimal {
  const total = (of: readonly Group[]) => sum(of.map(({ values }) => parseDecimal(values.figure ?? '0')));
  const whole = total(groups);
  if (share === undefined) return isCredit ? zero.minus(whole) : whole;
  const part = total(groups.filter(({ key }) => share.values.includes(key[share.column] ?? '')));
  // With one place, as people compare it; 0 of nothing.
  return whole.eq(zero) ? zero : parseDecimal(formatDecimal(part.times('100').div(whole), 1));
}

/** The conditions of the rows with a key. */
export function whereOf(figure: OverviewFigure, scope: Scope, key: string | null): RowConditions {
  const { column, ages = {} } = figure;
  const { where } = requestOf(figure, scope);
  if (key === null) return { ...where, [column]: { _is_null: true } };
  if (isNamed(figure)) return { ...where, [column]: { _eq: key } };
  if (isByMonth(figure)) {
    const end = Temporal.PlainDate.from(key).add({ months: 1 }).subtract({ days: 1 }).toString();
    return { ...where, [column]: { _gte: key, _lte: [end, scope.asOf].toSorted()[0] } };
  }
  const asOf = Temporal.PlainDate.from(scope.asOf);
  const [day, next] = [key, startsOf(ages)[startsOf(ages).indexOf(key) + 1]].map(
    (days) => Number(days) >= 0 && asOf.subtract({ days: Number(days) }).toString(),
  );
  return { ...where, [column]: { ...(day && { _lte: day }), ...(next && { _gt: next }) } };
}
