import { sql } from 'kysely';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Session } from '../../../platform/store/store.ts';

/**
 * SQL of whether the mail server has rejected an address in the last mail to it that has ended. It begins with the mails that were rejected, which are few
 * and have an index: for most addresses no other mail is read, however many the tenant has sent.
 */
const bounced = (address: string) => sql`exists (
  select from mail m
  where m.tenant_id = ${sql.ref('k.tenant_id')} and m.bounced_addresses <> '{}' and ${sql.ref(address)} = any(m.bounced_addresses) and not exists (
    select from mail later
    where later.tenant_id = m.tenant_id and later.id > m.id and later.addresses @> array[${sql.ref(address)}]
      and later.status = 'SENT' and ${sql.ref(address)} <> all(later.bounced_addresses)))`;

/**
 * By the IDs of a client and a billing contact, `<client>/<contact>`, the addresses that get its mails unless a caller names others: the
 * contacts that receive invoices, otherwise the billing contact, otherwise the client. Who has opted out of email and addresses that bounced
 * are left out.
 */
export const recipientsOfClients: Lookup<readonly string[]> = {
  name: 'recipients of mails',
  load: (transaction, tenantId, keys) => readRecipients(transaction, tenantId, keys),
};

async function readRecipients(
  session: Session,
  tenantId: number,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await session.all<{ key: string; addresses: readonly string[] }>(sql`
    select wanted.key, coalesce(receiving.found, billing.found, own.found, '{}') as addresses
    from unnest(${keys}::text[]) as wanted (key)
    cross join lateral (select split_part(wanted.key, '/', 1)::uuid as client_id, nullif(split_part(wanted.key, '/', 2), '')::uuid as contact_id) ids
    left join lateral (select array_agg(distinct k.email) as found from contact_client link
      join contact k on k.tenant_id = link.tenant_id and k.id = link.contact_id
      where link.tenant_id = ${tenantId} and link.client_id = ids.client_id and link.active and link.receives_invoices and k.active
        and k.email is not null and not k.email_opt_out and not ${bounced('k.email')}) receiving on true
    left join lateral (select array[k.email] as found from contact k
      where k.tenant_id = ${tenantId} and k.id = ids.contact_id and k.active and k.email is not null and not k.email_opt_out
        and not ${bounced('k.email')}) billing on true
    left join lateral (select array[k.email] as found from client k
      where k.tenant_id = ${tenantId} and k.id = ids.client_id and k.email is not null and not ${bounced('k.email')}) own on true`);
  return new Map(rows.map(({ key, addresses }) => [key, addresses]));
}
