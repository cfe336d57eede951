import { type RawBuilder, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';

/** Inserts an org, the smallest row of a tenant without references. */
export function insertOrg(tenantId: number, name: string, id: string = uuidv7()): RawBuilder<{ id: string }> {
  return sql`
    insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone,
      fiscal_year_start_month)
    values (${tenantId}, ${id}, ${id}, ${name}, ${name}, ${name}, 'USD', 'US', 'America/New_York', 1)
    returning id`;
}

/** Increments a counter in the caller's transaction. */
export function count(tenantId: number, name: string): RawBuilder<unknown> {
  return sql`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${name}, 1)
    on conflict (tenant_id, name) do update set value = tenant_counter.value + 1`;
}
