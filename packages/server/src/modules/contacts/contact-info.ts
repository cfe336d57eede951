import { type AnyEntity, defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { RowInput } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { client } from '../clients/index.ts';
import { completeAddress, office } from '../reference/index.ts';
import { contact } from './contact.ts';

/** The fields of a client that refer to its contact info of a kind. */
const namedByClient = { PRIMARY: 'clientContactInfoId', BILLING: 'billingAddressId' } as const;

/** The contact details of a client, a contact or an office; one per kind. */
export const contactInfo = defineEntity('ContactInfo', {
  table: 'contact_info',
  spread: ['address'],
  rules: {
    complete(change, plan) {
      const { values, previous } = change;
      values.address = plan.at('/address', () => completeAddress(values.address, previous?.address));
      // Also one that is written again after it was deleted: its owner can be merged into another one since.
      if (values.active && previous?.active !== true) plan.checkActive(ownerEntity(change), values.ownerId, '/ownerId');
    },
    afterWrite: nameInfoOfClient,
    constraints: {
      contact_info_owner_id_kind_unique: {
        code: 'DUPLICATE_REF',
        field: 'kind',
        detail: 'The owner already has an active contact info of this kind. Update that one.',
      },
    },
  },
});

const owners = { CLIENT: client, CONTACT: contact, OFFICE: office } as const;

function ownerEntity({ values }: PendingChange<'ContactInfo'>): AnyEntity {
  return owners[values.ownerType];
}

/** Sets the client's references to its contact info and billing address. */
function nameInfoOfClient({ id, values, previous }: PendingChange<'ContactInfo'>, plan: Plan): void {
  if (values.ownerType !== 'CLIENT') return;
  const names: Record<string, string | null> = {};
  const before = previous?.active === true ? nameOf(previous.kind) : undefined;
  const after = values.active ? nameOf(values.kind) : undefined;
  if (before !== undefined) names[before] = null;
  if (after !== undefined) names[after] = id;
  if (Object.keys(names).length > 0) plan.set(client, values.ownerId, names as RowInput<'Client'>);
}

function nameOf(kind: string): string | undefined {
  return kind === 'PRIMARY' || kind === 'BILLING' ? namedByClient[kind] : undefined;
}
