import { glMapping } from '@financial-automation/server/modules/billing';
import { client, clientGroup } from '@financial-automation/server/modules/clients';
import { contact, contactClient, contactInfo } from '@financial-automation/server/modules/contacts';
import {
  clientBusinessEntity,
  clientType,
  department,
  industry,
  office,
  org,
  serviceLine,
  taxRegion,
} from '@financial-automation/server/modules/reference';
import { staff, staffType } from '@financial-automation/server/modules/staff';
import type { Plan, RowInput } from '@financial-automation/server/service';
import { storyId } from './story-id.ts';
import { planJobs, type Work } from './work.ts';

/** Plans the firm of the contract's examples: its lists, its staff, its clients with their contacts, and two jobs. */
export function planFirm(plan: Plan): Work {
  planLists(plan);
  planStaff(plan);
  planClients(plan);
  return planJobs(plan);
}

const [portland, tax] = [storyId('Office', 1), storyId('Department', 1)];

function planLists(plan: Plan): void {
  const [firm] = plan.all(org, 'active', 'true');
  if (firm === undefined) throw new Error('The tenant has no org.');
  const account = { iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' };
  const german = { vatId: 'DE136695976', electronicAddress: { scheme: '9930', id: 'DE136695976' } } as const;
  const reminderSchedule = [7, 21].map((daysAfterDue) => ({ daysAfterDue, template: 'REMINDER' }));
  plan.update(org, firm.id, { ...german, bankAccounts: [account], reminderSchedule });
  const west = { orgId: firm.id, timeZone: 'America/Los_Angeles' };
  const fernhill = { line1: '2215 Fernhill Avenue', city: 'Seattle', state: 'WA', postalCode: '98121', country: 'US' };
  const larch = { line1: '640 SW Larch Street', line2: 'Floor 9', city: 'Portland', state: 'OR', postalCode: '97205' };
  const seattle = { ...west, name: 'Seattle', code: 'SEA', address: fernhill, phone: '+12065550117' };
  const address = { ...larch, country: 'US' };
  const oregon = { ...west, name: 'Portland', code: 'PDX', address, phone: '+15035550100' };
  plan.create(office, oregon, { id: portland, systemRef: 'PDX' });
  plan.create(office, seattle, { id: storyId('Office', 2), systemRef: 'SEA' });
  plan.create(department, { name: 'Tax', code: 'TAX', officeId: portland }, { id: tax, systemRef: 'TAX' });
  plan.create(department, { name: 'Audit', code: 'AUD' }, { id: storyId('Department', 2), systemRef: 'AUD' });
  const lines = [
    { name: 'Tax compliance', code: 'TAX-COMP', departmentId: tax, revenueAccountCode: '4010' },
    { name: 'Audit and assurance', code: 'AUDIT', departmentId: storyId('Department', 2), revenueAccountCode: '4020' },
    { name: 'Client accounting', code: 'CAS' },
  ];
  for (const [index, fields] of lines.entries())
    plan.create(serviceLine, fields, { id: storyId('ServiceLine', index + 1), systemRef: fields.code });
  const boats = { name: 'Boat building', code: '336612' };
  plan.create(industry, boats, { id: storyId('Industry', 1), systemRef: boats.code });
  const types = [
    { name: 'Business', code: 'BUS', displayOrder: 10, defaultPaymentTermsDays: 30 },
    { name: 'Individual', code: 'IND', displayOrder: 20 },
  ];
  for (const [index, fields] of types.entries())
    plan.create(clientType, fields, { id: storyId('ClientType', index + 1), systemRef: fields.code });
  const returns = [
    { name: 'Partnership return', code: 'PARTNERSHIP', taxForm: 'FORM_1065' },
    { name: 'Individual return', code: 'INDIVIDUAL', taxForm: 'FORM_1040' },
  ] as const;
  for (const [index, fields] of returns.entries())
    plan.create(clientBusinessEntity, fields, {
      id: storyId('ClientBusinessEntity', index + 1),
      systemRef: fields.code,
    });
  const regions = [
    { name: 'Oregon', code: 'US-OR', country: 'US', state: 'OR', ratePercent: '0', appliesToServices: false },
    { name: 'Hawaii', code: 'US-HI', country: 'US', state: 'HI', ratePercent: '4.5', appliesToServices: true },
  ];
  for (const [index, fields] of regions.entries())
    plan.create(taxRegion, fields, { id: storyId('TaxRegion', index + 1), systemRef: fields.code });
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
    plan.create(glMapping, { orgId: firm.id, purpose, accountCode, accountName }, { systemRef: `GL-${accountCode}` });
}

function planStaff(plan: Plan): void {
  const types = [
    ['Partner', 1, '425.00', '348.50'],
    ['Manager', 3, '260.00', '213.20'],
    ['Senior', 4, '190.00', '155.80'],
  ] as const;
  for (const [index, [name, rank, defaultBillingRate, defaultAverageRate]] of types.entries()) {
    const fields = { name, code: name.toUpperCase(), rank, isBillable: true, defaultBillingRate, defaultAverageRate };
    plan.create(staffType, fields, { id: storyId('StaffType', index + 1), systemRef: fields.code });
  }
  const people = [
    ['Dana', 'Whitfield', 'S-001', 'HR-1', '425.00', '348.50'],
    ['Priya', 'Nair', 'S-014', 'HR-14', '260.00', '213.20'],
    ['Owen', 'Castell', 'S-027', 'HR-27', '190.00', '155.80'],
  ] as const;
  for (const [index, [firstName, lastName, staffRef, systemRef, billingRate, averageRate]] of people.entries()) {
    const rates = { rateCardId: storyId('RateCard', 1), rateCardName: 'Standard 2026', billingRate, averageRate };
    const fields: RowInput<'Staff'> = {
      staffRef,
      firstName,
      lastName,
      email: `${firstName}.${lastName}@hartwell.example.com`,
      staffTypeId: storyId('StaffType', index + 1),
      departmentId: tax,
      officeId: portland,
      managerId: index === 0 ? null : storyId('Staff', index),
      hireDate: '2021-02-01',
      isBillable: true,
      rateCardAssignment: { ...rates, currency: 'USD', effectiveFromDate: '2026-01-01' },
    };
    plan.create(staff, fields, { id: storyId('Staff', index + 1), systemRef });
  }
}

function planClients(plan: Plan): void {
  const family = { name: 'Calder family', description: 'The Calders and what they own' };
  plan.create(clientGroup, family, { id: storyId('ClientGroup', 1) });
  const shared = {
    taxRegionId: storyId('TaxRegion', 1),
    officeId: portland,
    departmentId: tax,
    serviceLineId: storyId('ServiceLine', 1),
    partnerId: storyId('Staff', 1),
  };
  const harbor: RowInput<'Client'> = {
    ...shared,
    name: 'Harbor & Pine LLC',
    legalName: 'Harbor and Pine Boatworks LLC',
    clientRef: 'C-01042',
    status: 'ACTIVE',
    entityType: 'LLC',
    clientTypeId: storyId('ClientType', 1),
    clientGroupId: storyId('ClientGroup', 1),
    clientBusinessEntityId: storyId('ClientBusinessEntity', 1),
    industryId: storyId('Industry', 1),
    managerId: storyId('Staff', 2),
    email: 'office@harborpine.example.com',
    phone: '+15035550142',
    onboardedAt: plan.now,
  };
  plan.create(client, harbor, { id: storyId('Client', 1), systemRef: 'crm-88213' });
  const solvik: RowInput<'Client'> = {
    ...shared,
    name: 'Maren Solvik',
    clientRef: 'C-01043',
    status: 'PROSPECT',
    entityType: 'INDIVIDUAL',
    clientTypeId: storyId('ClientType', 2),
    clientBusinessEntityId: storyId('ClientBusinessEntity', 2),
    email: 'maren.solvik@example.org',
    phone: '+15035550168',
    onboardedAt: plan.now,
  };
  plan.create(client, solvik, { id: storyId('Client', 2) });
  plan.create(client, { ...shared, name: 'Larkspur Foundation', status: 'ACTIVE', entityType: 'NONPROFIT' });
  planAddresses(plan);
  planContacts(plan);
}

function planAddresses(plan: Plan): void {
  const portlandOf = { city: 'Portland', state: 'OR', country: 'US' };
  const dock = { ...portlandOf, line1: '1180 NW Dockside Ave', postalCode: '97209' };
  const box = { ...portlandOf, line1: 'PO Box 4410', postalCode: '97208' };
  const alder = { ...portlandOf, line1: '27 Alder Court', line2: 'Apt 5', postalCode: '97214' };
  const places = [
    ['PRIMARY', dock, 1],
    ['BILLING', box, 1],
    ['PRIMARY', alder, 2],
  ] as const;
  for (const [index, [kind, address, number]] of places.entries()) {
    const fields = { ownerType: 'CLIENT', ownerId: storyId('Client', number), kind, address } as const;
    plan.create(contactInfo, fields, { id: storyId('ContactInfo', index + 1) });
  }
}

function planContacts(plan: Plan): void {
  const people = [
    ['Ines', 'Calder', 'P-00071', 'harborpine.example.com', 1, ['PREFERRED', 'BILLING', 'SIGNER']],
    ['Tomas', 'Reyes', 'P-00072', 'harborpine.example.com', 1, ['SECONDARY']],
    ['Maren', 'Solvik', 'P-00073', 'example.org', 2, ['PREFERRED', 'SIGNER']],
  ] as const;
  for (const [index, [firstName, lastName, pmsRef, host, number, roles]] of people.entries()) {
    const contactId = storyId('Contact', index + 1);
    const email = `${firstName}.${lastName}@${host}`;
    plan.create(contact, { pmsRef, firstName, lastName, email, phone: '+15035550143' }, { id: contactId });
    const link = { contactId, clientId: storyId('Client', number), roles: [...roles] };
    plan.create(contactClient, link, { id: storyId('ContactClient', index + 1) });
  }
}
