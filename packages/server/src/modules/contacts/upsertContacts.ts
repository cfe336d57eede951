import type { components } from '@financial-automation/spec';
import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import type { Plan } from '../../entity/plan.ts';
import { itemErrorOf, readItems } from '../bulk/index.ts';
import { client } from '../clients/index.ts';
import { contact } from './contact.ts';
import { contactClient } from './contact-client.ts';

type Entry = Input<'upsertContacts'>['body']['contacts'][number];
type Link = NonNullable<Entry['clients']>[number];

/**
 * Creates and updates contacts. Each entry is processed independently: one that fails changes nothing and does not affect
 * others.
 */
export const upsertContacts: Handler<'upsertContacts'> = (context, { body }) =>
  context.write(async (unit) => {
    const succeeded: components['schemas']['UpsertedContact'][] = [];
    const failed: components['schemas']['ContactFailure'][] = [];
    const entries = readItems('ContactUpsertEntry', body.contacts);
    const outcomes = await unit.items(entries, (plan, entry, index) =>
      plan.at(`/contacts/${index}`, () => {
        if ('rejection' in entry) throw entry.rejection;
        return upsertContact(plan, entry.item);
      }),
    );
    for (const [index, outcome] of outcomes.entries()) {
      if ('result' in outcome) succeeded.push({ index, ...outcome.result });
      else failed.push({ index, ...itemErrorOf(outcome.rejection) });
    }
    return { status: 200, body: { succeeded, failed } };
  });

function upsertContact(plan: Plan, { pmsRef, systemRef, clients = [], ...fields }: Entry) {
  const previous = findContact(plan, pmsRef, systemRef);
  const { row } =
    previous === undefined
      ? plan.create(contact, fields, { systemRef })
      : plan.update(contact, previous.id, fields, { system: { active: true } });
  const named = new Set<string>();
  plan.each(clients, (link, index) => plan.at(`/clients/${index}`, () => applyLink(plan, row.id, link, named)));
  return { id: row.id, systemRef: row.systemRef, pmsRef: row.pmsRef, created: previous === undefined };
}

/** Returns the contact to update, locked; undefined to create one. */
function findContact(plan: Plan, pmsRef: string | undefined, systemRef: string | undefined) {
  if (pmsRef === undefined)
    return systemRef === undefined ? undefined : plan.findForUpdate(contact, 'systemRef', systemRef);
  const found = plan.findForUpdate(contact, 'pmsRef', pmsRef);
  if (found?.active !== true) {
    const detail = 'No active contact with this pmsRef exists. Omit pmsRef to create a contact.';
    throw new Rejection('RECORD_NOT_FOUND', detail, '/pmsRef');
  }
  if (systemRef !== undefined && systemRef !== found.systemRef) {
    const detail = 'The contact with this pmsRef has another systemRef, which cannot change. Send only one of them.';
    throw new Rejection('VALIDATION_ERROR', detail, '/systemRef');
  }
  return found;
}

function applyLink(
  plan: Plan,
  contactId: string,
  { clientRef, active = true, ...fields }: Link,
  named: Set<string>,
): void {
  const linked = plan.find(client, 'clientRef', clientRef);
  if (linked === undefined)
    throw new Rejection('REFERENCE_NOT_FOUND', 'No client with this clientRef exists.', '/clientRef');
  // Not by its clientRef: that of a merged client leads to the same client.
  if (named.has(linked.id)) throw new Rejection('VALIDATION_ERROR', 'The entry lists this client twice.', '/clientRef');
  named.add(linked.id);
  const link = plan.all(contactClient, 'contactId', contactId).find((row) => row.clientId === linked.id);
  if (!active) {
    if (link?.active === true) plan.remove(contactClient, link.id);
    return;
  }
  if (!linked.active)
    throw new Rejection('REFERENCE_NOT_FOUND', 'The client is inactive and cannot be newly linked.', '/clientRef');
  if (link === undefined) plan.create(contactClient, { contactId, clientId: linked.id, ...fields });
  else plan.update(contactClient, link.id, fields, { system: { active: true } });
}
