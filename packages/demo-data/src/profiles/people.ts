import { dateText, instantAt, type Span, yearOf } from './calendar.ts';
import { firstNames, lastNames } from './names.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader, Row } from './table-loader.ts';

/** A staff member. */
export interface Person {
  readonly id: string;
  readonly rank: Rank;
  /** Hourly rates in cents, for each calendar year from that of the first day. */
  readonly rates: readonly number[];
  /** The last day of work; infinite for those who are still there. */
  readonly lastDay: number;
  /** The share of the hours that are worked for clients. */
  readonly chargeable: number;
}

type Rank = 'partner' | 'director' | 'manager' | 'senior' | 'associate' | 'bookkeeper' | 'admin';

/** Rank, number of people among 300, hourly rate in dollars, share of the hours for clients. Small firms have the first ones. */
export const ranks = [
  ['partner', 30, 425, 0.58],
  ['manager', 45, 260, 0.66],
  ['senior', 70, 190, 0.73],
  ['associate', 75, 145, 0.73],
  ['bookkeeper', 25, 110, 0.72],
  ['director', 15, 350, 0.6],
  ['admin', 40, 0, 0],
] as const;
const rankedPeople = ranks.reduce((sum, [, count]) => sum + count, 0);

/** Returns the rank that most people are missing of, so that each has its share in firms of any size. */
function rarest(people: readonly Person[]): (typeof ranks)[number] {
  const missing = ([name, count]: (typeof ranks)[number]) =>
    (count * (people.length + 1)) / rankedPeople - people.filter(({ rank }) => rank === name).length;
  return ranks.reduce((found, one) => (missing(one) > missing(found) ? one : found));
}

/** Staff types without staff. */
export const otherTypes = [
  ['Senior manager', 300],
  ['Controller', 210],
  ['Contractor', 160],
  ['Paralegal', 120],
  ['Intern', 75],
] as const;

interface Places {
  readonly orgId: string;
  readonly officeIds: readonly string[];
  readonly departmentIds: readonly string[];
  readonly staffTypeIds: readonly string[];
}

/** Loads the staff, each with a rate for every year, which rises by five percent each January. One in eight has left. */
export async function loadPeople(
  loader: Loader,
  { staff }: Profile,
  { firstDay, today, firstYear }: Span,
  { orgId, officeIds, departmentIds, staffTypeIds }: Places,
): Promise<Person[]> {
  const random = new Random(1);
  const people: Person[] = [];
  const rows: EntityRow[] = [];
  const rates: Row[] = [];
  for (let index = 0; index < staff; index++) {
    // In rotation, so that a small firm has staff of each rank.
    const [rank, , dollars, chargeable] = index < ranks.length ? (ranks[index] ?? ranks[0]) : rarest(people);
    const type = ranks.findIndex(([name]) => name === rank);
    const createdAt = instantAt(firstDay - 30, 17) + index;
    const id = rowId(13, index, createdAt);
    const leaves = index % 8 === 3;
    const lastDay = leaves ? random.between(firstDay + 200, today - 60) : Infinity;
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
    const start = dollars * 100 * (0.88 + random.next() * 0.24);
    const years = Array.from(
      { length: yearOf(today) - firstYear + 1 },
      (_, year) => Math.round((start * 1.05 ** year) / 100) * 100,
    );
    people.push({ id, rank, rates: years, lastDay, chargeable });
    rows.push({
      id,
      createdAt,
      staff_ref: `E-${1000 + index}`,
      pms_ref: `E-${1000 + index}`,
      first_name: first,
      last_name: last,
      display_name: `${first} ${last}`,
      email: `${first}.${last}.${index}@example.com`.toLowerCase(),
      staff_type_id: staffTypeIds[type] ?? '',
      department_id: random.pick([departmentIds[0] ?? null, ...departmentIds]),
      office_id: random.pick([officeIds[0] ?? null, ...officeIds]),
      org_id: orgId,
      manager_id: index === 0 ? null : (people[random.below(Math.min(index, 7))]?.id ?? null),
      hire_date: index % 97 === 5 ? '2020-02-29' : dateText(firstDay - random.between(40, 4_000)),
      is_billable: dollars > 0,
      target_utilization_percent: String(Math.round(chargeable * 100)),
      status: leaves ? 'TERMINATED' : index % 40 === 39 ? 'ON_LEAVE' : 'ACTIVE',
      termination_date: leaves ? dateText(lastDay) : null,
    });
    if (dollars > 0) rates.push(...rateRows({ id, rates: years, lastDay }, firstYear));
  }
  await loader.entities('staff', rows);
  await loader.rows('staff_rate', rates);
  return people;
}

/** The rates of a person, one row a year until the last day. */
function* rateRows(
  { id, rates, lastDay }: Pick<Person, 'id' | 'rates' | 'lastDay'>,
  firstYear: number,
): Generator<Row> {
  for (const [place, rate] of rates.entries()) {
    const year = firstYear + place;
    if (lastDay !== Infinity && year > yearOf(lastDay)) return;
    yield {
      staff_id: id,
      effective_from_date: `${year}-01-01`,
      effective_to_date: place === rates.length - 1 ? null : `${year}-12-31`,
      billing_rate: (rate / 100).toFixed(2),
      average_rate: ((rate / 100) * 0.82).toFixed(4),
      currency: 'USD',
    };
  }
}
