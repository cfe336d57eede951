import type { Handler } from '../../context.ts';
import type { Input } from '../../contract/handler.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Violation } from '../../entity/violation.ts';
import { create, findForUpdate } from '../../entity/write.ts';
import { contact } from '../contacts/contact.ts';
import { contactClient } from '../contacts/contact-client.ts';
import { findByEmail } from '../contacts/find-contact.ts';
import { client } from './client.ts';
import { contactInfo } from './contact-info.ts';

type Body = Input<'onboardClient'>['body'];
type ContactInput = NonNullable<Body['preferredContact']>;
type Role = 'PREFERRED' | 'BILLING' | 'SECONDARY';

/** A client with its addresses and contacts, all or nothing. */
export const onboardClient: Handler<'onboardClient'> = (context, { body }) =>
  context.write(async (unit) => {
    const { systemRef, address, billingAddress, preferredContact, billingContact, secondaryContact, ...fields } = body;
    const made = await create(unit, client, { onboardedAt: unit.now, ...fields }, systemRef);
    const infoId = await addInfo(unit, made.id, 'PRIMARY', address, '/address');
    const billingInfoId =
      billingAddress && (await addInfo(unit, made.id, 'BILLING', billingAddress, '/billingAddress'));

    const wanted: [Role, string, ContactInput | undefined][] = [
      ['PREFERRED', 'preferredContact', preferredContact],
      ['BILLING', 'billingContact', billingContact],
      ['SECONDARY', 'secondaryContact', secondaryContact],
    ];
    const contacts: { role: Role; contactId: string; created: boolean }[] = [];
    for (const [role, property, input] of wanted) {
      if (input !== undefined) contacts.push({ role, ...(await findOrMake(unit, input, `/${property}`)) });
    }
    // One person may fill several roles, on one link.
    for (const [contactId, group] of Map.groupBy(contacts, (one) => one.contactId)) {
      await create(unit, contactClient, { contactId, clientId: made.id, roles: group.map((one) => one.role) });
    }

    const row = await findForUpdate(unit, client, { id: made.id });
    return {
      status: 201,
      headers: { Location: `/gql/v1/client/${made.id}` },
      body: {
        clientId: made.id,
        clientRef: String(row?.clientRef),
        clientContactInfoId: infoId,
        billingAddressId: billingInfoId ?? null,
        contacts,
      },
    };
  });

async function addInfo(
  unit: UnitOfWork,
  clientId: string,
  kind: string,
  address: object,
  pointer: string,
): Promise<string> {
  const made = await under(pointer, () =>
    create(unit, contactInfo, { ownerType: 'CLIENT', ownerId: clientId, kind, address }),
  );
  return made.id;
}

/** The contact that the input names, the one with its e-mail address, or a new one. */
async function findOrMake(unit: UnitOfWork, input: ContactInput, pointer: string) {
  if (input.pmsRef !== undefined) {
    const named = await findForUpdate(unit, contact, { pmsRef: input.pmsRef });
    if (named?.active !== true) {
      throw new Violation('REFERENCE_NOT_FOUND', 'There is no active contact with this pmsRef.', `${pointer}/pmsRef`);
    }
    return { contactId: named.id, created: false };
  }
  const known = typeof input.email === 'string' ? await findByEmail(unit, input.email) : undefined;
  if (known !== undefined) return { contactId: known, created: false };
  const made = await under(pointer, () => create(unit, contact, input));
  return { contactId: made.id, created: true };
}

/** Tells a violation at the place of the request where its values stand. */
async function under<T>(pointer: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Violation ? error.under(pointer) : error;
  }
}
