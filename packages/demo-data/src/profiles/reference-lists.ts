import { instantAt, type Span } from './calendar.ts';
import { countries, industries, stateNames, states, taxedStates } from './names.ts';
import { otherTypes, ranks } from './people.ts';
import { leaveCodes, nonWorkCodes, serviceLines, steps, taskTypes, templates, workCodes } from './practice.ts';
import { rowId } from './row-id.ts';
import type { Loader, Row } from './table-loader.ts';

/** The IDs of the rows of reference lists. */
export interface ReferenceLists {
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
  readonly staffTypeIds: readonly string[];
  readonly expenseCodes: readonly string[];
}

/** Loads a reference list, whose kind is that of the IDs of its rows. @returns the IDs */
type LoadList = (kind: number, table: string, rows: readonly Row[]) => Promise<string[]>;

const cities = ['Boise', 'Denver', 'Eugene', 'Fresno', 'Helena', 'Tacoma', 'Reno', 'Spokane', 'Medford'];
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
const clientKinds = [
  'Household',
  'Sole owner',
  'Small business',
  'Mid-size business',
  'Family office',
  'Trust and estate',
  'Charity',
  'Public body',
];
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
const expenseCodes = ['MILEAGE', 'FILING', 'POSTAGE', 'TRAVEL', 'SOFTWARE', 'LODGING'];
const regionNames = new Intl.DisplayNames('en', { type: 'region' });

/** States of the USA and countries, with the tax rate on services in percent. */
const regions = [
  ...states.map((state, index) => ({
    name: stateNames[index] ?? state,
    code: `US-${state}`,
    country: 'US',
    state,
    rate_percent: taxedStates[state] ?? '0',
  })),
  ...countries.map((country) => ({
    name: regionNames.of(country) ?? country,
    code: country,
    country,
    state: null,
    rate_percent: country === 'GB' ? '20' : '0',
  })),
];

/** Loads the reference lists of the firm. */
export async function loadReferenceLists(loader: Loader, orgId: string, span: Span): Promise<ReferenceLists> {
  const foundedAt = instantAt(span.firstDay - 30, 17);
  const list: LoadList = async (kind, table, rows) => {
    const entities = rows.map((row, index) => {
      const createdAt = foundedAt + index;
      return { id: rowId(kind, index, createdAt), createdAt, ...row };
    });
    await loader.entities(table, entities);
    return entities.map(({ id }) => id);
  };
  const parts = await loadParts(list, orgId);
  const kinds = await loadClientKinds(list);
  const taxRegions = await loadTaxRegions(list);
  await loadCodes(list, parts.serviceLineIds);
  const templates = await loadJobTemplates(loader, list, parts.serviceLineIds);
  return { ...parts, ...kinds, taxRegions, ...templates, expenseCodes };
}

/** Loads the parts of the firm. */
async function loadParts(list: LoadList, orgId: string) {
  const officeIds = await list(
    1,
    'office',
    cities.map((city, index) => ({
      name: `${city} office`,
      code: `OF${index}`,
      org_id: orgId,
      city,
      country: 'US',
      time_zone: 'America/Denver',
    })),
  );
  const departmentIds = await list(
    2,
    'department',
    areas.map((name, index) => ({ name, code: `DEP${index}` })),
  );
  const serviceLineIds = await list(
    3,
    'service_line',
    serviceLines.map((name, index) => ({
      name,
      code: `SL${index}`,
      department_id: departmentIds[index] ?? null,
      revenue_account_code: String(4100 + index),
    })),
  );
  return { officeIds, departmentIds, serviceLineIds };
}

/** Loads what clients are classified by. */
async function loadClientKinds(list: LoadList) {
  const industryIds = await list(
    4,
    'industry',
    industries.map(([name, code]) => ({ name, code })),
  );
  const clientTypeIds = await list(
    5,
    'client_type',
    clientKinds.map((name, index) => ({
      name,
      code: `CT${index}`,
      display_order: 100 + index,
      default_payment_terms_days: index === 0 ? 15 : 30,
    })),
  );
  const businessEntityIds = await list(
    6,
    'client_business_entity',
    classes.map(([name, form], index) => ({ name, code: `BE${index}`, tax_form: form })),
  );
  return { industryIds, clientTypeIds, businessEntityIds };
}

async function loadTaxRegions(list: LoadList): Promise<ReferenceLists['taxRegions']> {
  const ids = await list(
    7,
    'tax_region',
    regions.map((region) => ({ ...region, applies_to_services: region.rate_percent !== '0' })),
  );
  return ids.map((id, index) => ({ id, rate: Math.round(Number(regions[index]?.rate_percent ?? '0') * 1000) }));
}

/** Loads the codes of work and expenses. */
async function loadCodes(list: LoadList, serviceLineIds: readonly string[]): Promise<void> {
  await list(
    8,
    'work_code',
    workCodes.map(({ code, name }, index) => ({
      code,
      name,
      is_billable: true,
      category: 'Client work',
      service_line_id: serviceLineIds[index % 7] ?? null,
    })),
  );
  await list(
    9,
    'non_work_code',
    nonWorkCodes.map((name, index) => ({
      code: `N${100 + index}`,
      name,
      category: index < leaveCodes ? 'Leave' : 'Firm',
    })),
  );
  await list(
    14,
    'expense_code',
    expenseCodes.map((code) => ({
      code,
      name: `${code[0]}${code.slice(1).toLowerCase()}`,
      is_billable: true,
      category: 'Expenses',
    })),
  );
}

/** Loads templates of jobs, with the types of tasks and staff that they refer to. */
async function loadJobTemplates(loader: Loader, list: LoadList, serviceLineIds: readonly string[]) {
  const taskTypeIds = await list(
    10,
    'task_type',
    taskTypes.map(({ name, code }, index) => ({
      display_name: name,
      code,
      is_billable: true,
      billing_method: 'HOURLY',
      default_rate: '150.00',
      default_work_code: workCodes[index]?.code ?? null,
      service_line_id: serviceLineIds[index % 7] ?? null,
    })),
  );
  const templateIds = await list(
    11,
    'job_template',
    templates.map(({ name, of }, index) => ({
      name,
      code: `JT${index}`,
      billing_type: of.schedule === undefined ? 'TIME_AND_MATERIALS' : 'RECURRING',
      default_fee: of.schedule === undefined ? null : (of.hours * 12).toFixed(2),
      budget_hours: of.hours.toFixed(2),
      duration_days: of.schedule === undefined ? 75 : 365,
      recurrence: of.schedule === undefined ? (of.isAfterYearEnd ? 'ANNUAL' : 'NONE') : of.schedule,
      service_line_id: serviceLineIds[of.line] ?? null,
    })),
  );
  const staffTypeIds = await list(
    12,
    'staff_type',
    [...ranks.map(([name, , rate]) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, rate] as const), ...otherTypes].map(
      ([name, rate], index) => ({
        name: `${name} grade`,
        code: `ST${index}`,
        rank: index + 1,
        is_billable: rate > 0,
        default_billing_rate: rate === 0 ? null : rate.toFixed(2),
        default_average_rate: rate === 0 ? null : (rate * 0.82).toFixed(2),
      }),
    ),
  );
  await loader.rows(
    'job_template_task',
    templateIds.flatMap((id, index) =>
      steps.map(({ name }, position) => ({
        job_template_id: id,
        position,
        name,
        task_type_id: taskTypeIds[(templates[index]?.of.area ?? 0) * steps.length + position] ?? '',
        offset_days: position * 10,
        budget_hours: '6.00',
        // The first step goes to the most junior staff type.
        default_staff_type_id: staffTypeIds[Math.max(0, 4 - position)] ?? '',
      })),
    ),
  );
  return { taskTypeIds, templateIds, staffTypeIds };
}
