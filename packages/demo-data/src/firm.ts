import { glMapping } from '@financial-automation/server/modules/billing';
import { org } from '@financial-automation/server/modules/reference';
import { contract, type EntityType, entityNamed, type Plan, type RowInput } from '@financial-automation/server/service';
import { type StoryType, storyId } from './story-id.ts';

/** The examples of the contract with the rows of the firm, those that others refer to first. */
const examples: readonly (readonly [StoryEntity, ...names: string[]])[] = [
  ['Office', 'offices_page'],
  ['Department', 'departments_page'],
  ['ServiceLine', 'service_lines_page'],
  ['Industry', 'industries_page'],
  ['ClientType', 'client_types_page'],
  ['ClientBusinessEntity', 'client_business_entities_page'],
  ['TaxRegion', 'tax_regions_page'],
  ['StaffType', 'staff_types_page'],
  ['Staff', 'staff_dana', 'staff_priya', 'staff_owen'],
  ['ClientGroup', 'client_groups_page'],
  ['Client', 'clients_page'],
  ['ContactInfo', 'contact_infos_page'],
  ['Contact', 'contacts_page'],
  ['ContactClient', 'contact_clients_page'],
  ['WorkCode', 'codes_work_page'],
  ['ExpenseCode', 'codes_upsert_first_result'],
  ['NonWorkCode', 'codes_upsert_first_result'],
  ['TaskType', 'task_types_page'],
  ['JobTemplate', 'job_templates_page'],
  ['Job', 'job_partnership_return', 'job_bookkeeping'],
  ['StaffJobAssignment', 'projects_assign_staff_result'],
  ['Task', 'tasks_page'],
];
type StoryEntity = Extract<EntityType, StoryType>;

/** Fields that refer to a later row, and states that rows reach by what is done. */
const without: Readonly<Partial<Record<StoryEntity, readonly string[]>>> = {
  Department: ['headId'],
  ClientGroup: ['primaryClientId'],
  WorkCode: ['taskTypeId'],
  Job: ['engagementId', 'status'],
  Task: ['status'],
};

/** Plans the firm of the contract's examples: its accounts and lists, its staff, its clients with their contacts, and two jobs. */
export function planFirm(plan: Plan): void {
  const [firm] = plan.all(org, 'active', 'true');
  if (firm === undefined) throw new Error('The tenant has no org.');
  planOrg(plan, firm.id);
  for (const [type, ...names] of examples) planExamples(plan, firm.id, type, names);
  const {
    taxRegionId = '',
    officeId = null,
    departmentId = null,
    serviceLineId = null,
    partnerId = null,
  } = plan.get(entityNamed('Client'), storyId('Client', 1)) ?? {};
  const shared = { taxRegionId, officeId, departmentId, serviceLineId, partnerId };
  const larkspur = { name: 'Larkspur Foundation', status: 'ACTIVE', entityType: 'NONPROFIT' } as const;
  plan.create(entityNamed('Client'), { ...shared, ...larkspur });
  // Maren signs the letter of the season.
  plan.update(entityNamed('ContactClient'), storyId('ContactClient', 3), { roles: ['PREFERRED', 'SIGNER'] });
  const books = { name: 'Quarterly bookkeeping', code: 'BOOKS-Q', billingType: 'RECURRING', durationDays: 20 } as const;
  const key = { id: storyId('JobTemplate', 2), systemRef: books.code };
  plan.create(entityNamed('JobTemplate'), { ...books, defaultFee: '1250.00' }, key);
}

function planOrg(plan: Plan, orgId: string): void {
  const account = { iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' };
  const german = { vatId: 'DE136695976', electronicAddress: { scheme: '9930', id: 'DE136695976' } } as const;
  const reminderSchedule = [7, 21].map((daysAfterDue) => ({ daysAfterDue, template: 'REMINDER' }));
  plan.update(org, orgId, { ...german, bankAccounts: [account], reminderSchedule });
  const accounts = [
    ['RECEIVABLE', '1200', 'Accounts receivable'],
    ['WIP', '1300', 'Unbilled work'],
    ['CREDIT', '2100', 'Client deposits'],
    ['SUSPENSE', '2190', 'Unidentified payments'],
    ['TAX', '2200', 'Sales tax'],
    ['REVENUE', '4000', 'Fees'],
    ['WIP_CHANGE', '4900', 'Change in unbilled work'],
    ['PAYMENT', '1010', 'Undeposited funds'],
    ['WRITE_OFF', '6100', 'Bad debts'],
  ] as const;
  for (const [purpose, accountCode, accountName] of accounts)
    plan.create(glMapping, { orgId, purpose, accountCode, accountName }, { systemRef: `GL-${accountCode}` });
}

interface Example {
  readonly id: string;
  readonly systemRef: string;
  readonly attributes?: object;
}

/** Plans the rows of a type in some examples, with the fields that callers write. */
function planExamples<Type extends StoryEntity>(plan: Plan, orgId: string, type: Type, names: readonly string[]): void {
  const entity = entityNamed(type);
  for (const { id, systemRef, attributes, ...row } of names.flatMap((name) => rowsIn(exampleOf(name), type))) {
    // The service sets the rates of a person, but for those that a new one comes with.
    const isWritten = (field: string) => field === 'rateCardAssignment' || entity.fields.get(field)?.readOnly === false;
    const input = Object.entries({ ...row, ...attributes, ...('orgId' in row && { orgId }) }).filter(
      ([field, value]) => value !== null && isWritten(field) && without[type]?.includes(field) !== true,
    );
    const key = systemRef === id ? { id } : { id, systemRef };
    plan.create(entity, Object.fromEntries(input) as RowInput<Type>, key);
  }
}

/** Returns the value of an example of the contract. */
export function exampleOf<Value>(name: string): Value {
  return (contract.components.examples[name] as { readonly value: Value }).value;
}

/** Finds the rows of a type at any depth. */
function rowsIn(value: unknown, type: StoryEntity): Example[] {
  if (typeof value !== 'object' || value === null) return [];
  const isRow = 'systemRef' in value && 'id' in value && String(value.id).startsWith(storyId(type, 0).slice(0, 14));
  return isRow ? [value as Example] : Object.values(value).flatMap((inner) => rowsIn(inner, type));
}
