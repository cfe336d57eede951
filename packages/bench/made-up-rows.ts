/**
 * Contacts of large tenants, written to their tables without the rules of the service, which would take minutes for as many. IDs and
 * names depend on the number of the row, so each run reads the same rows.
 */
import type { Store } from '@financial-automation/server/service';
import { sql } from 'kysely';

/** Adds clients, contacts and their links. @returns the ID of a client */
export async function seedContacts(
  store: Store,
  tenantId: number,
  { clients, contacts, linksOfEach }: Readonly<Record<'clients' | 'contacts' | 'linksOfEach', number>>,
): Promise<string> {
  const id = (kind: number, number: string) =>
    sql.raw(`overlay(overlay(md5('${kind}/' || ${number})::text placing '7' from 13) placing '8' from 17)::uuid`);
  return store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone, fiscal_year_start_month)
      select ${tenantId}, ${id(0, "'org'")}, 'bench', 'Bench', 'Bench', 'bench', 'USD', 'US', 'UTC', 1
      where not exists (select 1 from org where tenant_id = ${tenantId})`);
    await transaction.all(sql`
      insert into client (tenant_id, id, system_ref, name, legal_name, client_ref, pms_ref, status, org_id, currency,
        outstanding_balance)
      select ${tenantId}, ${id(1, 'n')}, 'client-' || n, initcap(substr(md5(n::text), 1, 7)) || ' Holdings ' || n,
        initcap(substr(md5(n::text), 8, 9)) || ' LLC', 'C-' || lpad(n::text, 6, '0'), 'C-' || lpad(n::text, 6, '0'),
        (array['ACTIVE', 'PROSPECT', 'INACTIVE'])[1 + n % 3], (select id from org where tenant_id = ${tenantId} limit 1),
        'USD', n % 5000
      from generate_series(1, ${clients}::integer) n`);
    await transaction.all(sql`
      insert into contact (tenant_id, id, system_ref, pms_ref, first_name, last_name, display_name, email)
      select ${tenantId}, ${id(2, 'n')}, 'contact-' || n, 'P-' || lpad(n::text, 6, '0'), first, last, first || ' ' || last,
        lower(first || '.' || last || '.' || n || '@example.com')
      from generate_series(1, ${contacts}::integer) n,
        lateral (select initcap(substr(md5('f' || n), 1, 6)) as first, initcap(substr(md5('l' || n), 1, 9)) as last) names`);
    await transaction.all(sql`
      insert into contact_client (tenant_id, id, system_ref, contact_id, client_id, roles)
      select ${tenantId}, ${id(3, "n || '/' || k")}, 'link-' || n || '-' || k, ${id(2, 'n')},
        ${id(1, `(1 + (n * 7919 + k * 104729) % ${clients})`)}, array[(array['OTHER', 'SIGNER'])[1 + n % 2]]
      from generate_series(1, ${contacts}::integer) n, generate_series(1, ${linksOfEach}::integer) k`);
    const one = await transaction.first<{ id: string }>(
      sql`select id from client where tenant_id = ${tenantId} limit 1`,
    );
    return one?.id ?? '';
  });
}
