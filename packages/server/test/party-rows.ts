import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Store } from '../src/platform/store/store.ts';

/** The fields of a contact for `insertContacts`; the others are empty. */
export interface ContactSeed {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly portalEnabled: boolean;
  readonly active: boolean;
  readonly createdAt: string;
}

/** The fields of a client for `insertClients`; the others are empty. */
export interface ClientSeed {
  readonly name: string;
  readonly legalName: string | null;
  readonly status: string;
  readonly outstandingBalance: string;
  readonly onboardedAt: string | null;
  readonly fiscalYearEndMonth: number | null;
}

/** Inserts contacts directly into the table, bypassing the rules of the service. @returns their IDs */
export async function insertContacts(store: Store, tenantId: number, seeds: readonly ContactSeed[]): Promise<string[]> {
  const rows = seeds.map((seed) => ({ id: uuidv7(), ...seed }));
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into contact (tenant_id, id, system_ref, pms_ref, display_name, first_name, last_name, email, portal_enabled,
        active, created_at, updated_at)
      select ${tenantId}, id, id::text, id::text, coalesce("lastName", 'nameless'), "firstName", "lastName", email,
        "portalEnabled", active, "createdAt", "createdAt"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as seed (id uuid, "firstName" text, "lastName" text,
        email text, "portalEnabled" boolean, active boolean, "createdAt" timestamptz)`),
  );
  return rows.map((row) => row.id);
}

/** Inserts clients directly into the table, billed by the tenant's only org. @returns their IDs */
export async function insertClients(store: Store, tenantId: number, seeds: readonly ClientSeed[]): Promise<string[]> {
  const rows = seeds.map((seed) => ({ id: uuidv7(), ...seed }));
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into client (tenant_id, id, system_ref, client_ref, pms_ref, name, legal_name, status, org_id, currency,
        outstanding_balance, onboarded_at, fiscal_year_end_month)
      select ${tenantId}, seed.id, seed.id::text, seed.id::text, seed.id::text, seed.name, "legalName", status, org.id, 'USD',
        "outstandingBalance", "onboardedAt", "fiscalYearEndMonth"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as seed (id uuid, name text, "legalName" text, status text,
        "outstandingBalance" numeric, "onboardedAt" timestamptz, "fiscalYearEndMonth" integer)
      join org on org.tenant_id = ${tenantId}`),
  );
  return rows.map((row) => row.id);
}

/**
 * Inserts staff members of one new staff type directly into the table, each the partner of a client, by the ID of the
 * client.
 */
export async function insertPartners(
  store: Store,
  tenantId: number,
  partners: ReadonlyMap<string, { readonly firstName: string }>,
): Promise<void> {
  const typeId = uuidv7();
  const rows = [...partners].map(([clientId, partner]) => ({ id: uuidv7(), clientId, ...partner }));
  await store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      insert into staff_type (tenant_id, id, system_ref, name, code, rank, is_billable)
      values (${tenantId}, ${typeId}, ${typeId}, ${typeId}, ${typeId}, 1, true)`);
    await transaction.all(sql`
      insert into staff (tenant_id, id, system_ref, staff_ref, first_name, last_name, display_name, email,
        staff_type_id, is_billable)
      select ${tenantId}, id, id::text, id::text, "firstName", 'x', "firstName", id::text || '@example.com',
        ${typeId}, true
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as seed (id uuid, "firstName" text)`);
    await transaction.all(sql`
      update client set partner_id = seed.id
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as seed (id uuid, "clientId" uuid)
      where client.tenant_id = ${tenantId} and client.id = seed."clientId"`);
  });
}

/** Inserts links between contacts and clients directly into the table. */
export async function insertLinks(
  store: Store,
  tenantId: number,
  links: readonly {
    readonly contactId: string;
    readonly clientId: string;
    readonly roles: readonly string[];
    readonly active: boolean;
  }[],
): Promise<void> {
  const rows = links.map((link) => ({ id: uuidv7(), ...link }));
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into contact_client (tenant_id, id, system_ref, contact_id, client_id, roles, active, unlinked_at)
      select ${tenantId}, id, id::text, "contactId", "clientId", roles, active, case when active then null else now() end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as link (id uuid, "contactId" uuid, "clientId" uuid,
        roles text[], active boolean)`),
  );
}
