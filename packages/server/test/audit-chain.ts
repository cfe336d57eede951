import { sql } from 'kysely';
import { allEntities } from '../src/entity/registry.ts';
import type { Store } from '../src/platform/store/store.ts';

/**
 * Changes of rows that the audit log, and so the events, do not have: a row had another version before a change than after the one before
 * it, or has another one now. Rows without any entry were not written by the service.
 */
export function unauditedChanges(store: Store, tenantId: number): Promise<readonly object[]> {
  return store.read(tenantId, async (session) => {
    const found: object[] = await session.all(sql`
      select * from (
        select entity_type as type, entity_id as id, operation, (before ->> 'version')::integer as before,
          lag((after ->> 'version')::integer) over changes as "after", row_number() over changes as number
        from audit_log where tenant_id = ${tenantId} window changes as (partition by entity_type, entity_id order by id)
      ) chain where number > 1 and before is distinct from after`);
    const versioned = await session.all<{ name: string }>(
      sql`select table_name as name from information_schema.columns where column_name = 'version'`,
    );
    for (const { type, table, isAudited } of allEntities()) {
      if (!isAudited || !versioned.some(({ name }) => name === table)) continue;
      found.push(
        ...(await session.all<object>(sql`
          select ${type}::text as type, id, 'now' as operation, t.version as before, last.version as "after"
          from ${sql.table(table)} t cross join lateral (
            select (after ->> 'version')::integer as version from audit_log a
            where a.tenant_id = ${tenantId} and a.entity_type = ${type} and a.entity_id = t.id order by a.id desc limit 1
          ) last where t.tenant_id = ${tenantId} and t.version is distinct from last.version`)),
      );
    }
    return found;
  });
}
