import { defineEntity, fieldOfOne } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row, RowInput } from '../../entity/row.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { client } from '../clients/index.ts';
import { contact } from './contact.ts';

/** The roles that only one contact of a client can have, and the field of the client that refers to the contact. */
const exclusiveRoles = {
  PREFERRED: 'preferredContactId',
  BILLING: 'billingContactId',
  SECONDARY: 'secondaryContactId',
} as const;

export function isExclusiveRole(role: string): boolean {
  return Object.hasOwn(exclusiveRoles, role);
}

/** The link between a contact and a client. There is one row per pair; linking again reactivates it. */
export const contactClient = defineEntity('ContactClient', {
  table: 'contact_client',
  searched: { clientRef: fieldOfOne('Client', 'clientId', 'clientRef') },
  rules: {
    complete,
    beforeRemoval({ values }, plan) {
      values.unlinkedAt = plan.now;
    },
    afterWrite(change, plan) {
      nameContactsOfClient(change, plan);
      replacePrimary(change, plan);
    },
    constraints: Object.fromEntries(
      Object.keys(exclusiveRoles).map((role) => [
        `contact_client_client_id_${role.toLowerCase()}_unique`,
        {
          code: 'DUPLICATE_REF',
          field: 'roles',
          detail: `Another contact of the client has the role ${role}. Remove it from that contact first.`,
        },
      ]),
    ),
  },
});

// A deleted contact would keep its roles at clients, which nobody else could then have.
addRules(contact, {
  beforeRemoval({ id }, plan) {
    const links = plan.allForUpdate(contactClient, 'contactId', id).filter(({ active }) => active);
    plan.each(links, (link) => plan.remove(contactClient, link.id));
  },
});

function complete({ id, values, input, previous }: PendingChange<'ContactClient'>, plan: Plan): void {
  values.receivesInvoices ??= values.roles.includes('BILLING');
  values.canSign ??= values.roles.includes('SIGNER');
  const others = otherLinks(id, values, plan);
  values.isPrimary ??= others.length === 0;
  if (previous?.active === true) return;
  if (values.active) plan.checkActive(client, values.clientId, '/clientId');
  // A link that is active again gives way to the one that has become primary since.
  if (input.isPrimary === undefined && others.some(({ isPrimary }) => isPrimary)) values.isPrimary = false;
  values.linkedAt = plan.now;
  values.unlinkedAt = null;
}

/** The other active links of the contact. Its row is locked, so that no concurrent transaction makes another one primary. */
function otherLinks(id: string, { contactId }: Pick<Row<'ContactClient'>, 'contactId'>, plan: Plan) {
  plan.getForUpdate(contact, contactId);
  return plan.all(contactClient, 'contactId', contactId).filter((link) => link.active && link.id !== id);
}

/** A contact has one main client: another one replaces it. */
function replacePrimary({ id, values }: PendingChange<'ContactClient'>, plan: Plan): void {
  if (!values.active || !values.isPrimary) return;
  for (const link of otherLinks(id, values, plan))
    if (link.isPrimary) plan.set(contactClient, link.id, { isPrimary: false });
}

/** Sets the client's contact IDs from the roles of its links. */
function nameContactsOfClient({ values, previous }: PendingChange<'ContactClient'>, plan: Plan): void {
  const before = previous?.active === true ? previous.roles : [];
  const after = values.active ? values.roles : [];
  const names: Record<string, string | null> = {};
  for (const role of ['PREFERRED', 'BILLING', 'SECONDARY'] as const) {
    if (after.includes(role)) names[exclusiveRoles[role]] = values.contactId;
    else if (before.includes(role)) names[exclusiveRoles[role]] = null;
  }
  if (Object.keys(names).length > 0) plan.set(client, values.clientId, names as RowInput<'Client'>);
}
