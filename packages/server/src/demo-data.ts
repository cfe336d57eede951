import { sql } from 'kysely';
import type { UnitOfWork } from './entity/unit-of-work.ts';
import { create } from './entity/write.ts';
import { asOperator, type Operator, tenantNamed } from './operator/tenants.ts';
import { client } from './resources/clients/client.ts';
import { contactInfo } from './resources/clients/contact-info.ts';
import { clientType, industry, office, serviceLine, taxRegion } from './resources/clients/reference-data.ts';
import { contact } from './resources/contacts/contact.ts';
import { contactClient } from './resources/contacts/contact-client.ts';

/**
 * A small firm to look around in: the lists that classify clients, three clients and their contacts. The people and firms
 * are invented. The large, seeded generator of demo data is a script of its own.
 */
export async function seedDemoData(operator: Operator, tenantName: string): Promise<void> {
  const tenant = await tenantNamed(operator, tenantName);
  await asOperator(operator.service, tenant, 'demo data', async (unit) => {
    const business = await create(
      unit,
      clientType,
      { name: 'Business', code: 'BUS', displayOrder: 10, defaultPaymentTermsDays: 30 },
      'BUS',
    );
    const individual = await create(unit, clientType, { name: 'Individual', code: 'IND', displayOrder: 20 }, 'IND');
    const oregon = {
      name: 'Oregon',
      code: 'US-OR',
      country: 'US',
      state: 'OR',
      ratePercent: '0',
      appliesToServices: false,
    };
    const hawaii = {
      name: 'Hawaii',
      code: 'US-HI',
      country: 'US',
      state: 'HI',
      ratePercent: '4.5',
      appliesToServices: true,
    };
    const region = await create(unit, taxRegion, oregon, 'US-OR');
    await create(unit, taxRegion, hawaii, 'US-HI');
    const boats = await create(unit, industry, { name: 'Boat building', code: '336612' }, '336612');
    await create(unit, serviceLine, { name: 'Tax compliance', code: 'TAX' }, 'TAX');
    await create(unit, serviceLine, { name: 'Audit and assurance', code: 'AUD' }, 'AUD');
    const timeZone = 'America/Los_Angeles';
    const orgId = { systemRef: await systemRefOfOrg(unit) };
    await create(
      unit,
      office,
      { name: 'Portland', code: 'PDX', orgId, timeZone, address: { city: 'Portland', state: 'OR', country: 'US' } },
      'PDX',
    );

    const shared = { taxRegionId: region.id, status: 'ACTIVE' };
    await addClient(
      unit,
      { ...shared, name: 'Harbor & Pine LLC', entityType: 'LLC', clientTypeId: business.id, industryId: boats.id },
      ['Ines', 'Calder'],
    );
    await addClient(
      unit,
      { ...shared, name: 'Larkspur Foundation', entityType: 'NONPROFIT', clientTypeId: business.id },
      ['Noor', 'Haddad'],
    );
    await addClient(unit, { ...shared, name: 'Maren Solvik', entityType: 'INDIVIDUAL', clientTypeId: individual.id }, [
      'Maren',
      'Solvik',
    ]);
  });
}

async function addClient(
  unit: UnitOfWork,
  fields: Record<string, unknown>,
  [firstName, lastName]: [string, string],
): Promise<void> {
  const { id: clientId } = await create(unit, client, { ...fields, onboardedAt: unit.now });
  const address = { line1: '1180 NW Dockside Ave', city: 'Portland', state: 'OR', postalCode: '97209', country: 'US' };
  await create(unit, contactInfo, { ownerType: 'CLIENT', ownerId: clientId, kind: 'PRIMARY', address });
  const email = `${firstName}.${lastName}@example.com`;
  const { id: contactId } = await create(unit, contact, { firstName, lastName, email, phone: '+15035550143' });
  await create(unit, contactClient, { contactId, clientId, roles: ['PREFERRED', 'BILLING', 'SIGNER'] });
}

/** The org that the tenant was made with. */
async function systemRefOfOrg(unit: UnitOfWork): Promise<string> {
  const row = await unit.transaction.first<{ ref: string }>(
    sql`select system_ref as ref from org where tenant_id = ${unit.tenantId}`,
  );
  if (row === undefined) throw new Error('The tenant has no org.');
  return row.ref;
}
