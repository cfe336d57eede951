import { sql } from 'kysely';
import { defineEntity, type Entity } from '../../entity/entity.ts';
import type { Draft } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { invalidField } from '../../entity/violation.ts';
import { derive } from '../../entity/write.ts';
import { client } from '../clients/client.ts';
import { contact } from './contact.ts';

/** The roles that one contact of a client has at most, and the field of the client that names who has it. */
const exclusiveRoles = {
  PREFERRED: 'preferredContactId',
  BILLING: 'billingContactId',
  SECONDARY: 'secondaryContactId',
} as const;

/** The link between a contact and a client. There is one row for a pair; linking again reopens it. */
export const contactClient: Entity = defineEntity({
  type: 'ContactClient',
  table: 'contact_client',
  searched: {
    clientRef: (row) => sql`(select linked.client_ref from client linked
      where linked.tenant_id = ${sql.ref(`${row}.tenant_id`)} and linked.id = ${sql.ref(`${row}.client_id`)})`,
  },
  rules: {
    complete,
    beforeRemoval: (unit, { hidden }) => {
      hidden.unlinked_at = unit.now;
    },
    shownIn: ({ values }) => [{ entity: contact, id: String(values.contactId) }],
    follow: nameContactsOfClient,
    constraints: Object.fromEntries(
      Object.keys(exclusiveRoles).map((role) => [
        `contact_client_client_id_${role.toLowerCase()}_unique`,
        {
          code: 'DUPLICATE_REF',
          field: 'roles',
          detail: `Another contact of the client has the role ${role}. Take it from that one first.`,
        },
      ]),
    ),
  },
});

async function complete(unit: UnitOfWork, draft: Draft): Promise<void> {
  const { values, previous, hidden } = draft;
  const roles = values.roles as string[];
  if (previous !== undefined && (values.contactId !== previous.contactId || values.clientId !== previous.clientId)) {
    throw invalidField('contactId', 'A link keeps its contact and its client. Unlink it, and make another.');
  }
  values.receivesInvoices ??= roles.includes('BILLING');
  values.canSign ??= roles.includes('SIGNER');
  values.isPrimary ??= await hasNoOtherLink(unit, values.contactId);
  if (previous?.active !== true) {
    hidden.linked_at = unit.now;
    hidden.unlinked_at = null;
  }
}

async function hasNoOtherLink(unit: UnitOfWork, contactId: unknown): Promise<boolean> {
  const other = await unit.transaction.first(sql`
    select 1 from contact_client where tenant_id = ${unit.tenantId} and contact_id = ${contactId} and active limit 1`);
  return other === undefined;
}

/** The contact ids of a client agree with the roles of its links. */
async function nameContactsOfClient(unit: UnitOfWork, draft: Draft, active: boolean): Promise<void> {
  const { contactId, clientId, roles } = draft.values;
  const before = draft.previous?.active === true ? (draft.previous.roles as string[]) : [];
  const after = active ? (roles as string[]) : [];
  const derived: Record<string, unknown> = {};
  for (const [role, field] of Object.entries(exclusiveRoles)) {
    if (after.includes(role)) derived[field] = contactId;
    else if (before.includes(role)) derived[field] = null;
  }
  if (Object.keys(derived).length > 0) await derive(unit, client, String(clientId), derived);
}
