import { sql } from 'kysely';
import { defineEntity, type Entity } from '../../entity/entity.ts';
import type { Draft } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { invalidField, Violation } from '../../entity/violation.ts';
import { derive } from '../../entity/write.ts';
import { address, spreadAddress } from './address.ts';
import { client } from './client.ts';

/** The tables of those who can own a contact info. */
const owners: Readonly<Record<string, string>> = { CLIENT: 'client', CONTACT: 'contact', OFFICE: 'office' };

/** The kinds that a client names as its own, and the field that names them. */
const namedByClient: Readonly<Record<string, string>> = { PRIMARY: 'clientContactInfoId', BILLING: 'billingAddressId' };

/** How a client, a contact or an office is reached; one of a kind for each. */
export const contactInfo: Entity = defineEntity({
  type: 'ContactInfo',
  table: 'contact_info',
  computed: { address },
  rules: {
    complete,
    follow: nameInfoOfClient,
    constraints: {
      contact_info_owner_id_kind_unique: {
        code: 'DUPLICATE_REF',
        field: 'kind',
        detail: 'The owner has an active contact info of this kind already. Change that one.',
      },
    },
  },
});

async function complete(unit: UnitOfWork, draft: Draft): Promise<void> {
  spreadAddress(draft);
  const { values, previous } = draft;
  if (previous !== undefined && values.ownerType === previous.ownerType && values.ownerId === previous.ownerId) return;
  if (previous !== undefined)
    throw invalidField('ownerId', 'A contact info keeps its owner. Make another for the new one.');
  const table = owners[String(values.ownerType)];
  if (table === undefined || values.ownerId === undefined) return;
  const owner = await unit.transaction.first<{ active: boolean }>(sql`
    select active from ${sql.table(table)} where tenant_id = ${unit.tenantId} and id = ${values.ownerId}`);
  if (owner?.active !== true)
    throw new Violation('REFERENCE_NOT_FOUND', 'There is no such owner, or it is inactive.', '/ownerId');
}

/** A client names its own contact info and its billing address. */
async function nameInfoOfClient(unit: UnitOfWork, { id, values, previous }: Draft, active: boolean): Promise<void> {
  if (values.ownerType !== 'CLIENT') return;
  const derived: Record<string, unknown> = {};
  const before = previous?.active === true ? namedByClient[String(previous.kind)] : undefined;
  const after = active ? namedByClient[String(values.kind)] : undefined;
  if (before !== undefined) derived[before] = null;
  if (after !== undefined) derived[after] = id;
  if (Object.keys(derived).length > 0) await derive(unit, client, String(values.ownerId), derived);
}
