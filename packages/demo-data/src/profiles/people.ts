import { entityNamed } from '@financial-automation/server/service';
import { dateText, type Span, yearOf } from './calendar.ts';
import { personName } from './names.ts';
import { idOf, rowSteps, type Step, stepsFor } from './step.ts';

/** A staff member. */
export interface Person {
  readonly id: string;
  readonly index: number;
  /** Dollars an hour in the first year. */
  readonly rate: number;
  /** The last day of work; infinite for those who are still there. */
  readonly lastDay: number;
  /** The share of the hours that are worked for clients. */
  readonly chargeable: number;
}

interface Staffing {
  readonly people: readonly Person[];
  readonly span: Span;
}

/** The name of each rank, and its hourly rate in dollars. */
export const ranks = [
  ['Partner', 425],
  ['Director', 350],
  ['Manager', 260],
  ['Senior', 190],
  ['Associate', 145],
  ['Bookkeeper', 110],
] as const;

/** The rank of each person, the share of the hours for clients, and when they left: one was followed by another. */
const places = [
  [0, 0.58, undefined],
  [3, 0.73, undefined],
  [4, 0.73, 500],
  [4, 0.73, undefined],
] as const;

export function createPeople({ firstDay }: Span): Person[] {
  return places.map(([rank, chargeable, left], index) => ({
    id: idOf('staff', index),
    index,
    rate: ranks[rank][1],
    lastDay: left === undefined ? Number.POSITIVE_INFINITY : firstDay + left,
    chargeable,
  }));
}

/** Steps that write the staff, each with a rate that rises by five percent each January. */
export function* peopleSteps({ people, span }: Staffing): Generator<Step> {
  yield* rowSteps('Staff', 'staff', people, ({ lastDay, chargeable }, index) => {
    const [firstName, lastName] = personName(index);
    return {
      staffRef: `E-${1000 + index}`,
      firstName,
      lastName,
      email: `${firstName}.${lastName}@hartwell.example.com`.toLowerCase(),
      staffTypeId: idOf('staffType', places[index]?.[0] ?? 0),
      departmentId: idOf('department', index),
      officeId: idOf('office', 0),
      managerId: index === 0 ? null : idOf('staff', 0),
      hireDate: dateText(span.firstDay - 400 + 60 * index),
      terminationDate: lastDay === Number.POSITIVE_INFINITY ? null : dateText(lastDay),
      isBillable: true,
      targetUtilizationPercent: String(Math.round(100 * chargeable)),
    };
  });
  for (let year = span.firstYear; year <= yearOf(span.today); year++)
    yield* stepsFor('upsertRecords', people, (plan, { id, rate, lastDay }) => {
      if (yearOf(Math.min(lastDay, span.today)) < year) return;
      const billingRate = Math.round(rate * 1.05 ** (year - span.firstYear));
      const rates = { billingRate: `${billingRate}.00`, averageRate: `${Math.round(0.82 * billingRate)}.00` };
      const rateCardAssignment = { ...rates, currency: 'USD', effectiveFromDate: `${year}-01-01` };
      plan.update(entityNamed('Staff'), id, { rateCardAssignment });
    });
}
