/** The figures of the overview. Each is one aggregate of the API, and each of its groups links to its rows. */
import { type Decimal, formatDecimal, parseDecimal, sum, zero } from '../../platform/decimal.ts';
import type { GroupBy, Measure } from '../../query/aggregate-request.ts';
import type { RowConditions } from './filter.ts';

/** What figures are about. */
export interface Scope {
  /** `YYYY-MM-DD`: figures are those of the end of this day. */
  readonly asOf: string;
  readonly currency: string;
  readonly officeId: string | undefined;
  readonly serviceLineId: string | undefined;
}

export interface Group {
  readonly key: Readonly<Record<string, string | boolean | number | null>>;
  readonly values: Readonly<Record<string, string | null>>;
}

export interface FigureRequest {
  readonly where: RowConditions;
  readonly groupBy: readonly [GroupBy, ...GroupBy[]];
  readonly measures: Readonly<Record<string, Measure>>;
  readonly orderBy?: readonly object[];
  readonly pageSize?: number;
}

/** One figure, with exact amounts of its groups. */
export interface Point {
  readonly value: Decimal;
  readonly groups: readonly Group[];
}

/** The figures of one name: a key of the first column that is grouped by, or a month. */
export interface Series {
  readonly key: string | null;
  readonly points: readonly (Point | undefined)[];
}

export interface OverviewFigure {
  readonly id: string;
  readonly title: string;
  /** What it measures, in a sentence. */
  readonly lead: string;
  /** Type of the rows that are aggregated. */
  readonly type: string;
  readonly unit: 'MONEY' | 'PERCENT' | 'DAYS';
  readonly shape: 'COLUMNS' | 'ROWS';
  /** Names of the points of a series, if there are several. */
  readonly series?: readonly string[];
  /** Words of keys that are neither months nor references. */
  readonly keys?: Readonly<Record<string, string>>;
  request(scope: Scope): FigureRequest;
  /** By default, the first measure of each group. */
  seriesOf?(groups: readonly Group[], scope: Scope): Series[];
}

/** Weeks over which hours are added up. */
const weeks = 13;
/** Rows of a figure by name. */
const maxNames = 10;

const ages = { below: 'Not due', 1: '1–30 days', 31: '31–60 days', 61: '61–90 days', 91: 'Over 90' };
const workAges = { below: 'Later', 0: '0–30 days', 31: '31–60 days', 61: '61–90 days', 91: 'Over 90' };

export const figures: readonly OverviewFigure[] = [
  {
    id: 'receivables',
    title: 'Receivables by age',
    lead: 'What clients owe, by days past due.',
    type: 'LedgerEntry',
    unit: 'MONEY',
    shape: 'COLUMNS',
    keys: ages,
    request: (scope) => ({
      where: { account: { _eq: 'RECEIVABLE' }, ...booked(scope), ...within(scope, 'client', 'client') },
      groupBy: [{ column: 'dueDate', daysBefore: scope.asOf, boundaries: [1, 31, 61, 91] }],
      measures: { open: { function: 'SUM', column: 'amount' } },
    }),
  },
  {
    id: 'work',
    title: 'Unbilled work by age',
    lead: 'Work at standard rates that is not billed, by days since it was done.',
    type: 'LedgerEntry',
    unit: 'MONEY',
    shape: 'COLUMNS',
    keys: workAges,
    request: (scope) => ({
      where: { account: { _eq: 'WIP' }, ...booked(scope), ...within(scope, 'client', 'job') },
      groupBy: [{ column: 'workDate', daysBefore: scope.asOf, boundaries: [0, 31, 61, 91] }],
      measures: { unbilled: { function: 'SUM', column: 'amount' } },
    }),
  },
  {
    id: 'revenue',
    title: 'Revenue by month',
    lead: 'Invoices less credit notes and voids, without tax, by the day for which they count, beside the same months a year before.',
    type: 'JournalEntry',
    unit: 'MONEY',
    shape: 'COLUMNS',
    series: ['This year', 'A year before'],
    request: (scope) => ({
      where: {
        purpose: { _eq: 'REVENUE' },
        currency: { _eq: scope.currency },
        businessDate: { _gte: monthsBefore(scope.asOf, 23), _lte: scope.asOf },
        ...within(scope),
      },
      groupBy: [{ column: 'businessDate', by: 'MONTH' }],
      measures: { credit: { function: 'SUM', column: 'credit' }, debit: { function: 'SUM', column: 'debit' } },
    }),
    seriesOf: (groups, { asOf }) => {
      const pointAt = (months: number) => groups.filter(({ key }) => key.businessDate === monthsBefore(asOf, months));
      const last = Array.from({ length: 12 }, (_unused, index) => 11 - index);
      return last.map((months) => ({
        key: monthsBefore(asOf, months),
        points: [pointAt(months), pointAt(months + 12)].map((of) => ({
          value: total(of, 'credit').minus(total(of, 'debit')),
          groups: of,
        })),
      }));
    },
  },
  {
    id: 'days-to-pay',
    title: 'Days to pay',
    lead: 'Average days from the date of an invoice to its full payment, by the month of the payment.',
    type: 'Invoice',
    unit: 'DAYS',
    shape: 'COLUMNS',
    request: (scope) => ({
      where: {
        documentType: { _eq: 'INVOICE' },
        currency: { _eq: scope.currency },
        paidDate: { _gte: monthsBefore(scope.asOf, 11), _lte: scope.asOf },
        ...within(scope, 'client', 'client'),
      },
      groupBy: [{ column: 'paidDate', by: 'MONTH' }],
      measures: { days: { function: 'AVERAGE', column: 'daysToPay' } },
    }),
  },
  {
    id: 'debtors',
    title: 'Largest debtors',
    lead: 'The clients that owe most.',
    type: 'LedgerEntry',
    unit: 'MONEY',
    shape: 'ROWS',
    request: (scope) => ({
      where: { account: { _eq: 'RECEIVABLE' }, ...booked(scope), ...within(scope, 'client', 'client') },
      groupBy: [{ column: 'clientId' }],
      measures: { open: { function: 'SUM', column: 'amount' } },
      orderBy: [{ measure: 'open', direction: 'desc' }],
      pageSize: maxNames,
    }),
    seriesOf: (groups) =>
      oneEach(groups, 'clientId', (of) => total(of, 'open')).filter(({ points: [point] }) => point?.value.gt(zero)),
  },
  {
    id: 'utilization',
    title: 'Utilization by staff',
    lead: `Billable hours of the last ${weeks} weeks in percent of all approved hours, of those with most hours.`,
    type: 'TimeEntry',
    unit: 'PERCENT',
    shape: 'ROWS',
    request: (scope) => ({
      where: {
        status: { _eq: 'APPROVED' },
        active: { _eq: true },
        workDate: { _gt: Temporal.PlainDate.from(scope.asOf).subtract({ weeks }).toString(), _lte: scope.asOf },
        ...within(scope, 'staff', 'job'),
      },
      groupBy: [{ column: 'staffId' }, { column: 'isBillable' }],
      measures: { hours: { function: 'SUM', column: 'hours' } },
      orderBy: [{ measure: 'hours', direction: 'desc' }],
      pageSize: 1000,
    }),
    seriesOf: (groups) =>
      oneEach(groups, 'staffId', (of) => {
        const billable = of.filter(({ key }) => key.isBillable === true);
        return percent(total(billable, 'hours'), total(of, 'hours'));
      }).slice(0, maxNames),
  },
  {
    id: 'realization',
    title: 'Realization by service line',
    lead: 'What was billed in the last 12 months, in percent of its value at standard rates and of what was written off.',
    type: 'JournalEntry',
    unit: 'PERCENT',
    shape: 'ROWS',
    request: (scope) => ({
      where: {
        purpose: { _eq: 'WIP' },
        kind: { _in: ['BILLED', 'UNBILLED', 'WRITE_UP', 'WRITE_DOWN', 'WRITE_OFF', 'RECOVERY'] },
        currency: { _eq: scope.currency },
        businessDate: { _gte: monthsBefore(scope.asOf, 11), _lte: scope.asOf },
        ...within(scope),
      },
      groupBy: [{ column: 'serviceLineId' }, { column: 'kind' }],
      measures: { amount: { function: 'SUM', column: 'amount' } },
    }),
    // Billing reduces the work in progress by its standard value: what is billed, less write-ups, and with write-downs.
    seriesOf: (groups) =>
      oneEach(groups, 'serviceLineId', (of) => {
        const billed = of.filter(({ key }) => key.kind === 'BILLED' || key.kind === 'UNBILLED');
        return percent(total(billed, 'amount'), total(of, 'amount'));
      }),
  },
];

function total(groups: readonly Group[], measure: string): Decimal {
  return sum(groups.map(({ values }) => parseDecimal(values[measure] ?? '0')));
}

/** With one place, as people compare it; 0 of nothing. */
function percent(part: Decimal, whole: Decimal): Decimal {
  return whole.eq(zero) ? zero : parseDecimal(formatDecimal(part.times('100').div(whole), 1));
}

function oneEach(groups: readonly Group[], column: string, value: (groups: readonly Group[]) => Decimal): Series[] {
  return [...Map.groupBy(groups, ({ key }) => key[column] ?? null)].map(([key, of]) => ({
    key: key === null ? null : String(key),
    points: [{ value: value(of), groups: of }],
  }));
}

export function seriesOf({ seriesOf: own, request }: OverviewFigure, groups: readonly Group[], scope: Scope): Series[] {
  if (own !== undefined) return own(groups, scope);
  const { groupBy, measures } = request(scope);
  const [measure = ''] = Object.keys(measures);
  return oneEach(groups, groupBy[0].column, (of) => total(of, measure));
}

/** The first day of a month: that of the day, or so many before it. */
function monthsBefore(asOf: string, months: number): string {
  return Temporal.PlainDate.from(asOf).with({ day: 1 }).subtract({ months }).toString();
}

function booked({ asOf, currency }: Scope): RowConditions {
  return { currency: { _eq: currency }, businessDate: { _lte: asOf } };
}

/** Conditions on the office and the service line of a scope: those of a row, or of a related one. */
function within({ officeId, serviceLineId }: Scope, office = '', line = ''): RowConditions {
  const found: Record<string, object> = {};
  const add = (relation: string, condition: object) =>
    Object.assign(found, relation === '' ? condition : { [relation]: { ...found[relation], ...condition } });
  if (officeId !== undefined) add(office, { officeId: { _eq: officeId } });
  if (serviceLineId !== undefined) add(line, { serviceLineId: { _eq: serviceLineId } });
  return found;
}

/** The conditions of the rows in a group. Of a row that is grouped by, its own columns add nothing. */
export function whereOfGroup({ where, groupBy: [first] }: FigureRequest, { key }: Group): RowConditions {
  const condition = conditionOf(first, key[first.column] ?? null);
  const [relation = '', name] = first.column.split('.');
  if (name === undefined) return { ...where, [first.column]: narrowed(Object(where[first.column]), condition) };
  return { ...where, [relation]: { ...Object(where[relation]), [name]: condition } };
}

function conditionOf(
  { by, boundaries = [], daysBefore }: GroupBy,
  key: string | boolean | number | null,
): RowConditions {
  if (key === null) return { _is_null: true };
  if (by === 'MONTH') {
    const start = Temporal.PlainDate.from(String(key));
    return { _gte: start.toString(), _lte: start.add({ months: 1 }).subtract({ days: 1 }).toString() };
  }
  if (daysBefore === undefined) return { _eq: key };
  const dayAt = (days: string | number = 0) =>
    Temporal.PlainDate.from(daysBefore)
      .subtract({ days: Number(days) })
      .toString();
  const index = boundaries.findIndex((boundary) => String(boundary) === key);
  const next = boundaries[index + 1];
  return { ...(index >= 0 && { _lte: dayAt(boundaries[index]) }), ...(next !== undefined && { _gt: dayAt(next) }) };
}

/** Both conditions on a day: the later start and the earlier end. */
function narrowed(one: Readonly<Record<string, string>>, other: RowConditions): RowConditions {
  const { _lte: end } = one;
  return { ...one, ...other, ...(end !== undefined && String(other._lte ?? end) > end && { _lte: end }) };
}
