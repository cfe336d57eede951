import { sql } from 'kysely';
import { dateText, instantAt, type Span, yearOf } from './calendar.ts';
import { countries, firstNames, industries, lastNames, stateNames, states, taxedStates } from './names.ts';
import { leaveCodes, nonWorkCodes, serviceLines, steps, taskTypes, templates, workCodes } from './practice.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader, Value } from './table-loader.ts';

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

/** The rows that clients, jobs and time refer to. */
export interface Firm {
  readonly span: Span;
  readonly orgId: string;
  readonly people: readonly Person[];
  /** Who decides, and who prepares bills. */
  readonly partnerIds: readonly [string, ...string[]];
  readonly managerId: string;
  readonly officeIds: readonly string[];
  readonly departmentIds: readonly string[];
  readonly serviceLineIds: readonly string[];
  readonly industryIds: readonly string[];
  readonly clientTypeIds: readonly string[];
  readonly businessEntityIds: readonly string[];
  /** With the tax rate on services, in thousandths of a percent. */
  readonly taxRegions: readonly { readonly id: string; readonly rate: number }[];
  readonly taskTypeIds: readonly string[];
  readonly templateIds: readonly string[];
  readonly expenseCodes: readonly string[];
}

const regionNames = new Intl.DisplayNames('en', { type: 'region' });

/** Rank, number of people among 300, hourly rate in dollars, share of the hours for clients. Small firms have the first ones. */
const ranks = [
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

/** Staff types that nobody has at the moment. */
const otherTypes = [
  ['Senior manager', 300],
  ['Controller', 210],
  ['Contractor', 160],
  ['Paralegal', 120],
  ['Intern', 75],
] as const;

/** Loads the reference lists of the firm and its staff. */
export async function loadFirm(loader: Loader, profile: Profile, span: Span): Promise<Firm> {
  const random = new Random(1);
  const foundedAt = instantAt(span.firstDay - 30, 17);
  const [org] = await loader.all<{ id: string }>(
    sql`select id from org where tenant_id = ${loader.tenantId} order by id limit 1`,
  );
  if (org === undefined) throw new Error('The tenant has no org.');
  /** Loads a reference list of names and codes, and returns the IDs. */
  const list = async (kind: number, table: string, columns: readonly string[], rows: readonly (readonly Value[])[]) => {
    const ids = rows.map((_row, index) => rowId(kind, index, foundedAt + index));
    const entities = rows.map((row, index): EntityRow => [ids[index] ?? '', foundedAt + index, ...row]);
    await loader.entities(table, columns, entities);
    return ids;
  };
  const cities = ['Boise', 'Denver', 'Eugene', 'Fresno', 'Helena', 'Tacoma', 'Reno', 'Spokane', 'Medford'];
  const officeIds = await list(
    1,
    'office',
    ['name', 'code', 'org_id', 'city', 'country', 'time_zone'],
    cities.map((city, index) => [`${city} office`, `OF${index}`, org.id, city, 'US', 'America/Denver']),
  );
  const areas = [
    'Personal tax',
    'Business tax',
    'State and local tax',
    'International tax',
    'Estates and trusts',
    'Attest',
    'Review and compilation',
    'Nonprofit audit',
    'Bookkeeping',
    'Payroll',
    'Advisory',
    'Valuation',
    'Technology',
    'Administration',
  ];
  const departmentIds = await list(
    2,
    'department',
    ['name', 'code'],
    areas.map((name, index) => [name, `DEP${index}`]),
  );
  const serviceLineIds = await list(
    3,
    'service_line',
    ['name', 'code', 'department_id', 'revenue_account_code'],
    serviceLines.map((name, index) => [name, `SL${index}`, departmentIds[index] ?? null, String(4100 + index)]),
  );
  const industryIds = await list(4, 'industry', ['name', 'code'], industries);
  const kinds = [
    'Household',
    'Sole owner',
    'Small business',
    'Mid-size business',
    'Family office',
    'Trust and estate',
    'Charity',
    'Public body',
  ];
  const clientTypeIds = await list(
    5,
    'client_type',
    ['name', 'code', 'display_order', 'default_payment_terms_days'],
    kinds.map((name, index) => [name, `CT${index}`, 100 + index, index === 0 ? 15 : 30]),
  );
  const classes = [
    ['Individual filer', 'FORM_1040'],
    ['Partnership filer', 'FORM_1065'],
    ['Corporation', 'FORM_1120'],
    ['Small business corporation', 'FORM_1120S'],
    ['Exempt organization', 'FORM_990'],
    ['Estate or trust', 'FORM_1041'],
    ['Nonresident filer', 'OTHER'],
    ['Household employer', 'FORM_1040'],
    ['Disregarded entity', 'FORM_1040'],
    ['Foreign corporation', 'FORM_1120'],
    ['Public body', 'OTHER'],
  ] as const;
  const businessEntityIds = await list(
    6,
    'client_business_entity',
    ['name', 'code', 'tax_form'],
    classes.map(([name, form], index) => [name, `BE${index}`, form]),
  );
  const regions = [
    ...states.map(
      (state, index) => [stateNames[index] ?? state, `US-${state}`, 'US', state, taxedStates[state] ?? '0'] as const,
    ),
    ...countries.map(
      (country) => [regionNames.of(country) ?? country, country, country, null, country === 'GB' ? '20' : '0'] as const,
    ),
  ];
  const regionIds = await list(
    7,
    'tax_region',
    ['name', 'code', 'country', 'state', 'rate_percent', 'applies_to_services'],
    regions.map((region) => [...region, region[4] !== '0']),
  );
  await list(
    8,
    'work_code',
    ['code', 'name', 'is_billable', 'category', 'service_line_id'],
    workCodes.map(({ code, name }, index) => [code, name, true, 'Client work', serviceLineIds[index % 7] ?? null]),
  );
  await list(
    9,
    'non_work_code',
    ['code', 'name', 'category'],
    nonWorkCodes.map((name, index) => [`N${100 + index}`, name, index < leaveCodes ? 'Leave' : 'Firm']),
  );
  const expenseCodes = ['MILEAGE', 'FILING', 'POSTAGE', 'TRAVEL', 'SOFTWARE', 'LODGING'];
  await list(
    14,
    'expense_code',
    ['code', 'name', 'is_billable', 'category'],
    expenseCodes.map((code) => [code, `${code[0]}${code.slice(1).toLowerCase()}`, true, 'Expenses']),
  );
  const taskTypeIds = await list(
    10,
    'task_type',
    ['display_name', 'code', 'is_billable', 'billing_method', 'default_rate', 'default_work_code', 'service_line_id'],
    taskTypes.map(({ name, code }, index) => [
      name,
      code,
      true,
      'HOURLY',
      '150.00',
      workCodes[index]?.code ?? null,
      serviceLineIds[index % 7] ?? null,
    ]),
  );
  const templateIds = await list(
    11,
    'job_template',
    ['name', 'code', 'billing_type', 'default_fee', 'budget_hours', 'duration_days', 'recurrence', 'service_line_id'],
    templates.map(({ name, of }, index) => [
      name,
      `JT${index}`,
      of.schedule === undefined ? 'TIME_AND_MATERIALS' : 'RECURRING',
      of.schedule === undefined ? null : (of.hours * 12).toFixed(2),
      of.hours.toFixed(2),
      of.schedule === undefined ? 75 : 365,
      of.schedule === undefined ? (of.isAfterYearEnd ? 'ANNUAL' : 'NONE') : of.schedule,
      serviceLineIds[of.line] ?? null,
    ]),
  );
  const staffTypeIds = await list(
    12,
    'staff_type',
    ['name', 'code', 'rank', 'is_billable', 'default_billing_rate', 'default_average_rate'],
    [...ranks.map(([name, , rate]) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, rate] as const), ...otherTypes].map(
      ([name, rate], index) => [
        `${name} grade`,
        `ST${index}`,
        index + 1,
        rate > 0,
        rate === 0 ? null : rate.toFixed(2),
        rate === 0 ? null : (rate * 0.82).toFixed(2),
      ],
    ),
  );
  await loader.rows(
    'job_template_task',
    ['job_template_id', 'position', 'name', 'task_type_id', 'offset_days', 'budget_hours', 'default_staff_type_id'],
    templateIds.flatMap((id, index) =>
      steps.map(({ name }, position) => [
        id,
        position,
        name,
        taskTypeIds[(templates[index]?.of.area ?? 0) * steps.length + position] ?? '',
        position * 10,
        '6.00',
        // The first step goes to the most junior staff type.
        staffTypeIds[Math.max(0, 4 - position)] ?? '',
      ]),
    ),
  );
  const places = { orgId: org.id, officeIds, departmentIds, staffTypeIds };
  const people = await loadPeople(loader, profile, random, span, places);
  const present = people.filter(({ lastDay }) => lastDay === Infinity);
  const [partnerId = '', ...otherPartnerIds] = present.flatMap(({ id, rank }) => (rank === 'partner' ? [id] : []));
  const taxRegions = regionIds.map((id, index) => ({
    id,
    rate: Math.round(Number(regions[index]?.[4] ?? '0') * 1000),
  }));
  return {
    span,
    orgId: org.id,
    people,
    partnerIds: [partnerId, ...otherPartnerIds],
    managerId: present.find(({ rank }) => rank === 'manager')?.id ?? partnerId,
    officeIds,
    departmentIds,
    serviceLineIds,
    industryIds,
    clientTypeIds,
    businessEntityIds,
    taxRegions,
    taskTypeIds,
    templateIds,
    expenseCodes,
  };
}

interface Places {
  readonly orgId: string;
  readonly officeIds: readonly string[];
  readonly departmentIds: readonly string[];
  readonly staffTypeIds: readonly string[];
}

/** Loads the staff, each with a rate for every year, which rises by five percent each January. One in eight has left. */
async function loadPeople(
  loader: Loader,
  { staff }: Profile,
  random: Random,
  { firstDay, today, firstYear }: Span,
  { orgId, officeIds, departmentIds, staffTypeIds }: Places,
): Promise<Person[]> {
  const people: Person[] = [];
  const rows: EntityRow[] = [];
  const rates: Value[][] = [];
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
    rows.push([
      id,
      createdAt,
      `E-${1000 + index}`,
      `E-${1000 + index}`,
      first,
      last,
      `${first} ${last}`,
      `${first}.${last}.${index}@example.com`.toLowerCase(),
      staffTypeIds[type] ?? '',
      random.pick([departmentIds[0] ?? null, ...departmentIds]),
      random.pick([officeIds[0] ?? null, ...officeIds]),
      orgId,
      index === 0 ? null : (people[random.below(Math.min(index, 7))]?.id ?? null),
      index % 97 === 5 ? '2020-02-29' : dateText(firstDay - random.between(40, 4_000)),
      dollars > 0,
      String(Math.round(chargeable * 100)),
      leaves ? 'TERMINATED' : index % 40 === 39 ? 'ON_LEAVE' : 'ACTIVE',
      leaves ? dateText(lastDay) : null,
    ]);
    if (dollars === 0) continue;
    for (const [place, rate] of years.entries()) {
      const year = firstYear + place;
      if (leaves && year > yearOf(lastDay)) break;
      const ends = place === years.length - 1 ? null : `${year}-12-31`;
      rates.push([id, `${year}-01-01`, ends, (rate / 100).toFixed(2), ((rate / 100) * 0.82).toFixed(4), 'USD']);
    }
  }
  const columns = [
    'staff_ref',
    'pms_ref',
    'first_name',
    'last_name',
    'display_name',
    'email',
    'staff_type_id',
    'department_id',
    'office_id',
    'org_id',
    'manager_id',
    'hire_date',
    'is_billable',
    'target_utilization_percent',
    'status',
    'termination_date',
  ];
  await loader.entities('staff', columns, rows);
  const rateColumns = [
    'staff_id',
    'effective_from_date',
    'effective_to_date',
    'billing_rate',
    'average_rate',
    'currency',
  ];
  await loader.rows('staff_rate', rateColumns, rates);
  return people;
}
