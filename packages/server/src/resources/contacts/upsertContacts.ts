import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import type { Handler } from '../../context.ts';
import type { Input } from '../../contract/handler.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Violation } from '../../entity/violation.ts';
import { create, findForUpdate, lockInOrder, remove, update } from '../../entity/write.ts';
import { client } from '../clients/client.ts';
import { contact } from './contact.ts';
import { contactClient } from './contact-client.ts';

type Entry = Input<'upsertContacts'>['body']['contacts'][number];
type Link = NonNullable<Entry['clients']>[number];

/** Makes and changes contacts, each entry on its own: one that fails leaves nothing behind and stops no other. */
export const upsertContacts: Handler<'upsertContacts'> = (context, { body }) =>
  context.write(async (unit) => {
    const succeeded: components['schemas']['UpsertedContact'][] = [];
    const failed: components['schemas']['ItemFailure'][] = [];
    const named = body.contacts.flatMap(({ pmsRef }) => pmsRef ?? []);
    const linked = body.contacts.flatMap(({ clients = [] }) => clients.map((link) => link.clientRef));
    await lockInOrder(unit, contact, sql`e.pms_ref = any(${named})`);
    await lockInOrder(unit, client, sql`e.client_ref = any(${linked})`);
    for (const [index, entry] of body.contacts.entries()) {
      try {
        succeeded.push({ index, ...(await unit.item(() => upsert(unit, entry))) });
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        const { code, message, pointer } = error.under(`/contacts/${index}`);
        failed.push({ index, code, detail: message, pointer: pointer ?? null });
      }
    }
    return { status: 200, body: { succeeded, failed } };
  });

async function upsert(unit: UnitOfWork, { pmsRef, clients = [], ...fields }: Entry) {
  const previous = pmsRef === undefined ? undefined : await findForUpdate(unit, contact, { pmsRef });
  if (pmsRef !== undefined && previous?.active !== true) {
    throw new Violation(
      'RECORD_NOT_FOUND',
      'There is no contact with this pmsRef. Leave it out to make a new one.',
      '/pmsRef',
    );
  }
  const { id } =
    previous === undefined ? await create(unit, contact, fields) : await update(unit, contact, previous, fields);
  for (const [index, link] of clients.entries()) {
    try {
      await applyLink(unit, id, link);
    } catch (error) {
      throw error instanceof Violation ? error.under(`/clients/${index}`) : error;
    }
  }
  const row = previous ?? (await findForUpdate(unit, contact, { id }));
  return { id, pmsRef: String(row?.pmsRef), created: previous === undefined };
}

async function applyLink(
  unit: UnitOfWork,
  contactId: string,
  { clientRef, active = true, ...given }: Link,
): Promise<void> {
  const wanted = await unit.transaction.first<{ id: string; active: boolean }>(sql`
    select id, active from client where tenant_id = ${unit.tenantId} and client_ref = ${clientRef}`);
  if (wanted === undefined)
    throw new Violation('REFERENCE_NOT_FOUND', 'There is no client with this clientRef.', '/clientRef');

  const existing = await unit.transaction.first<{ id: string }>(sql`
    select id from contact_client
    where tenant_id = ${unit.tenantId} and contact_id = ${contactId} and client_id = ${wanted.id}`);
  const link = existing && (await findForUpdate(unit, contactClient, { id: existing.id }));
  if (!active) {
    if (link?.active === true) await remove(unit, contactClient, link);
    return;
  }
  if (!wanted.active)
    throw new Violation('REFERENCE_NOT_FOUND', 'The client is inactive and cannot be newly linked.', '/clientRef');
  if (link === undefined) await create(unit, contactClient, { contactId, clientId: wanted.id, ...given });
  else await update(unit, contactClient, link, given);
}
