import { sql } from 'kysely';
import { defineEntity, type Entity, many } from '../../entity/entity.ts';
import type { Draft } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { invalidField } from '../../entity/violation.ts';
import { contactClient } from './contact-client.ts';

/** A person whom the firm talks to. */
export const contact: Entity = defineEntity({
  type: 'Contact',
  table: 'contact',
  computed: {
    clients: (row) => sql`(
      select coalesce(json_agg(json_build_object('clientId', link.client_id, 'clientRef', linked.client_ref,
        'active', link.active, 'roles', link.roles, 'isPrimary', link.is_primary) order by link.id), '[]')
      from contact_client link
      join client linked on linked.tenant_id = link.tenant_id and linked.id = link.client_id
      where link.tenant_id = ${sql.ref(`${row}.tenant_id`)} and link.contact_id = ${sql.ref(`${row}.id`)})`,
  },
  relations: { contactClients: many(() => contactClient, 'contactId') },
  rules: { complete },
});

async function complete(unit: UnitOfWork, draft: Draft): Promise<void> {
  const { values, given, previous } = draft;
  if (typeof values.email === 'string') values.email = values.email.toLowerCase();
  if (previous === undefined && values.lastName === null && values.displayName === undefined) {
    throw invalidField('lastName', 'A contact needs a lastName or a displayName.');
  }
  // A name that was composed follows its parts; one that was given stays.
  const composed = previous === undefined ? undefined : composedName(previous);
  if (!('displayName' in given) && (previous === undefined || previous.displayName === composed)) {
    values.displayName = composedName(values) || values.displayName;
  }
  values.pmsRef ??= await unit.freeReference('contact', 'pms_ref', (number) => `P-${String(number).padStart(5, '0')}`);
}

function composedName(values: Readonly<Record<string, unknown>>): string {
  return [values.firstName, values.middleName, values.lastName].filter((part) => typeof part === 'string').join(' ');
}
