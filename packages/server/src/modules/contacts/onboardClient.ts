import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import type { Plan } from '../../entity/plan.ts';
import { writtenRow } from '../../query/entity-tag.ts';
import { client } from '../clients/index.ts';
import { completeAddress } from '../reference/index.ts';
import { contact } from './contact.ts';
import { contactClient } from './contact-client.ts';
import { contactInfo } from './contact-info.ts';
import { findByEmail, lockEmails } from './find-contact.ts';

type Body = Input<'onboardClient'>['body'];
type Address = Body['address'];
type ContactInput = NonNullable<Body['preferredContact']>;

const contactRoles = [
  ['PREFERRED', 'preferredContact'],
  ['BILLING', 'billingContact'],
  ['SECONDARY', 'secondaryContact'],
] as const;

/** Creates a client with its addresses and contacts, all or nothing. */
export const onboardClient: Handler<'onboardClient'> = (context, { body }) =>
  context.write(async (unit) => {
    const result = await unit.plan((plan) => onboard(plan, body));
    const { tag } = await writtenRow(unit, context, client, result.clientId);
    const headers = { Location: `/gql/v1/client/${result.clientId}`, ETag: tag };
    return { status: 201, headers, body: result };
  });

function onboard(plan: Plan, body: Body) {
  const { systemRef, address, billingAddress, preferredContact, billingContact, secondaryContact, ...fields } = body;
  lockEmails(
    plan,
    contactRoles.flatMap(([, property]) => emailToFind(body[property]) ?? []),
  );
  const { row } = plan.create(client, { onboardedAt: plan.now, ...fields }, { systemRef });
  const clientId = row.id;
  const clientContactInfoId = addInfo(plan, clientId, 'PRIMARY', address, '/address');
  const billingAddressId =
    billingAddress === undefined ? null : addInfo(plan, clientId, 'BILLING', billingAddress, '/billingAddress');

  const contacts = contactRoles.flatMap(([role, property]) => {
    const input = body[property];
    return input === undefined ? [] : [{ role, ...plan.at(`/${property}`, () => findOrCreateContact(plan, input)) }];
  });
  // One person can have several roles, on one link.
  for (const [contactId, group] of Map.groupBy(contacts, (one) => one.contactId))
    plan.create(contactClient, { contactId, clientId, roles: group.map((one) => one.role) });
  return { clientId, clientRef: row.clientRef, clientContactInfoId, billingAddressId, contacts };
}

function addInfo(plan: Plan, clientId: string, kind: 'PRIMARY' | 'BILLING', address: Address, pointer: string): string {
  const complete = plan.at(pointer, () => completeAddress(address));
  return plan.create(contactInfo, { ownerType: 'CLIENT', ownerId: clientId, kind, address: complete }).row.id;
}

/** Returns the contact with the provided `pmsRef`, the one with the same email address, or a new one. */
function findOrCreateContact(plan: Plan, input: ContactInput): { contactId: string; created: boolean } {
  if (input.pmsRef !== undefined) {
    const known = plan.find(contact, 'pmsRef', input.pmsRef);
    if (known?.active === true) return { contactId: known.id, created: false };
    throw new Rejection('REFERENCE_NOT_FOUND', 'No active contact with this pmsRef exists.', '/pmsRef');
  }
  const email = emailToFind(input);
  const known = email === undefined ? undefined : findByEmail(plan, email);
  if (known !== undefined) return { contactId: known, created: false };
  return { contactId: plan.create(contact, input).row.id, created: true };
}

/** The email address by which a contact is found. */
function emailToFind(input: ContactInput | undefined): string | undefined {
  return input?.pmsRef === undefined ? (input?.email ?? undefined) : undefined;
}
