import type { Store } from '@financial-automation/server/platform/store/store';
import { sql } from 'kysely';

export interface TenantSize {
  readonly clients: number;
  readonly contacts: number;
  /** Links of contacts to clients; each contact has this many divided by the number of contacts. */
  readonly links: number;
}

/** A large firm: 50,000 contacts with three clients each. */
export const largeTenant: TenantSize = { clients: 20_000, contacts: 50_000, links: 150_000 };

/**
 * Writes the rows of a tenant to the tables, without the rules of the service, which would take minutes for as many.
 * IDs and names depend on the number of the row, so each run searches the same rows.
 *
 * @returns the id of a contact and of a client, to read by id.
 */
export async function seedLargeTenant(
  store: Store,
  tenantId: number,
  { clients, contacts, links }: TenantSize,
): Promise<{ contactId: string; clientId: string }> {
  const id = (kind: number, number: string) =>
    sql.raw(`overlay(overlay(md5('${kind}/' || ${number})::text placing '7' from 13) placing '8' from 17)::uuid`);
  const client = id(1, 'n');
  const contact = id(2, 'n');
  const perContact = Math.floor(links / contacts);
  await store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone, fiscal_year_start_month)
      select ${tenantId}, ${id(0, "'org'")}, 'bench', 'Bench', 'Bench', 'bench', 'USD', 'US', 'UTC', 1
      where not exists (select 1 from org where tenant_id = ${tenantId})`);
    await transaction.all(sql`
      insert into client (tenant_id, id, system_ref, name, legal_name, client_ref, pms_ref, status, org_id, currency,
        outstanding_balance)
      select ${tenantId}, ${client}, 'client-' || n, initcap(substr(md5(n::text), 1, 7)) || ' Holdings ' || n,
        initcap(substr(md5(n::text), 8, 9)) || ' LLC', 'C-' || lpad(n::text, 6, '0'), 'C-' || lpad(n::text, 6, '0'),
        (array['ACTIVE', 'PROSPECT', 'INACTIVE'])[1 + n % 3], (select id from org where tenant_id = ${tenantId} limit 1),
        'USD', n % 5000
      from generate_series(1, ${clients}::integer) n`);
    await transaction.all(sql`
      insert into contact (tenant_id, id, system_ref, pms_ref, first_name, last_name, display_name, email)
      select ${tenantId}, ${contact}, 'contact-' || n, 'P-' || lpad(n::text, 6, '0'), first, last, first || ' ' || last,
        lower(first || '.' || last || '.' || n || '@example.com')
      from generate_series(1, ${contacts}::integer) n,
        lateral (select initcap(substr(md5('f' || n), 1, 6)) as first, initcap(substr(md5('l' || n), 1, 9)) as last) names`);
    await transaction.all(sql`
      insert into contact_client (tenant_id, id, system_ref, contact_id, client_id, roles)
      select ${tenantId}, ${id(3, "n || '/' || k")}, 'link-' || n || '-' || k, ${contact},
        ${id(1, `(1 + (n * 7919 + k * 104729) % ${Number(clients)})`)}, array[(array['OTHER', 'SIGNER'])[1 + n % 2]]
      from generate_series(1, ${contacts}::integer) n, generate_series(1, ${perContact}::integer) k`);
  });
  const one = await store.read(tenantId, (session) =>
    session.first<{ contactId: string; clientId: string }>(
      sql`select contact_id as "contactId", client_id as "clientId" from contact_client where tenant_id = ${tenantId} limit 1`,
    ),
  );
  if (one === undefined) throw new Error('The tenant was not filled.');
  return one;
}
