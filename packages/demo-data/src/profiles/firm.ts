import { sql } from 'kysely';
import { firstDay, instantAt } from './calendar.ts';
import { countries, firstNames, lastNames, states, taxedStates } from './names.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader, Value } from './table-loader.ts';

/** A staff member, and their hourly rate in each of the firm's three years, in cents. */
export interface Person {
  readonly id: string;
  readonly rank: 'partner' | 'director' | 'manager' | 'senior' | 'associate' | 'bookkeeper' | 'admin';
  readonly rates: readonly number[];
  readonly hasLeft: boolean;
}

/** The rows that clients, jobs and time refer to. */
export interface Firm {
  readonly orgId: string;
  readonly people: readonly Person[];
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
  readonly workCodes: readonly string[];
  readonly otherCodes: readonly string[];
  readonly expenseCodes: readonly string[];
}

const foundedAt = instantAt(firstDay - 30, 17);

/** Rank, number of people among 345, hourly rate in dollars. One in seven has left. */
const ranks = [
  ['partner', 30, 425],
  ['director', 15, 350],
  ['manager', 45, 260],
  ['senior', 70, 190],
  ['associate', 75, 145],
  ['bookkeeper', 25, 110],
  ['admin', 40, 0],
] as const;

/** Loads the reference lists of the firm and its staff. */
export async function loadFirm(loader: Loader, profile: Profile): Promise<Firm> {
  const random = new Random(1);
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
  const lines = [
    'Individual returns',
    'Business returns',
    'Attest services',
    'Outsourced accounting',
    'Business advisory',
    'Payroll services',
    'Other services',
  ];
  const serviceLineIds = await list(
    3,
    'service_line',
    ['name', 'code', 'department_id', 'revenue_account_code'],
    lines.map((name, index) => [name, `SL${index}`, departmentIds[index] ?? null, String(4100 + index)]),
  );
  const industryIds = await list(
    4,
    'industry',
    ['name', 'code'],
    Array.from({ length: 60 }, (_, index) => [`Industry ${index + 1}`, String(111_000 + index * 137)]),
  );
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
    kinds.map((name, index) => [name, `CT${index}`, 100 + index, 30]),
  );
  const forms = ['FORM_1040', 'FORM_1065', 'FORM_1120', 'FORM_1120S', 'FORM_990', 'FORM_1041', 'OTHER'];
  const businessEntityIds = await list(
    6,
    'client_business_entity',
    ['name', 'code', 'tax_form'],
    Array.from({ length: 11 }, (_, index) => [
      `Filing class ${index + 1}`,
      `BE${index}`,
      forms[index % forms.length] ?? null,
    ]),
  );
  const regions = [
    ...states.map((state) => [`State of ${state}`, `US-${state}`, 'US', state, taxedStates[state] ?? '0'] as const),
    ...countries.map(
      (country) => [`Country ${country}`, country, country, null, country === 'GB' ? '20' : '0'] as const,
    ),
  ];
  const regionIds = await list(
    7,
    'tax_region',
    ['name', 'code', 'country', 'state', 'rate_percent', 'applies_to_services'],
    regions.map((region) => [...region, region[4] !== '0']),
  );
  const workCodes = Array.from({ length: 109 }, (_, index) => `W${1000 + index}`);
  await list(
    8,
    'work_code',
    ['code', 'name', 'is_billable', 'category', 'service_line_id'],
    workCodes.map((code, index) => [code, `Work ${code}`, true, 'Client work', serviceLineIds[index % 7] ?? null]),
  );
  const otherCodes = Array.from({ length: 31 }, (_, index) => `N${100 + index}`);
  await list(
    9,
    'non_work_code',
    ['code', 'name', 'category'],
    otherCodes.map((code, index) => [code, `Internal ${code}`, index % 3 === 0 ? 'Leave' : 'Firm']),
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
    Array.from({ length: 48 }, (_, index) => {
      const code = workCodes[index] ?? null;
      return [
        `Task kind ${index + 1}`,
        `TT${index}`,
        true,
        'HOURLY',
        '150.00',
        code,
        serviceLineIds[index % 7] ?? null,
      ];
    }),
  );
  const templateIds = await list(
    11,
    'job_template',
    ['name', 'code', 'billing_type', 'budget_hours', 'duration_days', 'recurrence', 'service_line_id'],
    Array.from({ length: 85 }, (_, index) => {
      const recurrence = ['ANNUAL', 'QUARTERLY', 'MONTHLY', 'NONE'][index % 4] ?? null;
      const lineId = serviceLineIds[index % 7] ?? null;
      return [`Template ${index + 1}`, `JT${index}`, 'TIME_AND_MATERIALS', '24.00', 45, recurrence, lineId];
    }),
  );
  const staffTypeIds = await list(
    12,
    'staff_type',
    ['name', 'code', 'rank', 'is_billable', 'default_billing_rate', 'default_average_rate'],
    ranks.map(([name, , rate], index) => [
      `${name[0]?.toUpperCase()}${name.slice(1)} grade`,
      `ST${index}`,
      index + 1,
      rate > 0,
      rate === 0 ? null : rate.toFixed(2),
      rate === 0 ? null : (rate * 0.82).toFixed(2),
    ]),
  );
  const steps = ['Collect documents', 'Prepare', 'Review', 'Deliver'];
  await loader.rows(
    'job_template_task',
    ['job_template_id', 'position', 'name', 'task_type_id', 'offset_days', 'budget_hours', 'default_staff_type_id'],
    templateIds.flatMap((id, index) =>
      steps.map((name, position) => [
        id,
        position,
        name,
        taskTypeIds[(index + position) % 48] ?? '',
        position * 10,
        '6.00',
        // The first step goes to the most junior staff type.
        staffTypeIds.at(-1 - position) ?? '',
      ]),
    ),
  );
  const people = await loadPeople(loader, profile, random, { orgId: org.id, officeIds, departmentIds, staffTypeIds });
  const taxRegions = regionIds.map((id, index) => ({
    id,
    rate: Math.round(Number(regions[index]?.[4] ?? '0') * 1000),
  }));
  return {
    orgId: org.id,
    people,
    officeIds,
    departmentIds,
    serviceLineIds,
    industryIds,
    clientTypeIds,
    businessEntityIds,
    taxRegions,
    taskTypeIds,
    templateIds,
    workCodes,
    otherCodes,
    expenseCodes,
  };
}

interface Places {
  readonly orgId: string;
  readonly officeIds: readonly string[];
  readonly departmentIds: readonly string[];
  readonly staffTypeIds: readonly string[];
}

/** Loads the staff, each with a rate for every year, which rises by five percent each January. */
async function loadPeople(
  loader: Loader,
  { staff }: Profile,
  random: Random,
  { orgId, officeIds, departmentIds, staffTypeIds }: Places,
): Promise<Person[]> {
  const people: Person[] = [];
  const rows: EntityRow[] = [];
  const rates: Value[][] = [];
  for (let index = 0; index < staff; index++) {
    // In rotation, so that a small firm has staff of each rank.
    const [rank, , dollars] =
      index < ranks.length ? (ranks[index] ?? ranks[0]) : random.weighted(ranks.map((one) => [one, one[1]] as const));
    const type = ranks.findIndex(([name]) => name === rank);
    const id = rowId(13, index, foundedAt + index);
    const hasLeft = index >= ranks.length && random.chance(45 / 345);
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
    const start = dollars * 100 * (0.88 + random.next() * 0.24);
    const years = [0, 1, 2, 3].map((year) => Math.round((start * 1.05 ** year) / 100) * 100);
    people.push({ id, rank, rates: years, hasLeft });
    rows.push([
      id,
      foundedAt + index,
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
      index % 97 === 5 ? '2020-02-29' : '2019-06-03',
      dollars > 0,
      '70',
      hasLeft ? 'TERMINATED' : index % 40 === 39 ? 'ON_LEAVE' : 'ACTIVE',
      hasLeft ? '2026-08-31' : null,
    ]);
    if (dollars === 0) continue;
    for (const [year, rate] of years.entries()) {
      const ends = year === 3 ? null : `${2023 + year}-12-31`;
      rates.push([id, `${2023 + year}-01-01`, ends, (rate / 100).toFixed(2), ((rate / 100) * 0.82).toFixed(4), 'USD']);
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
