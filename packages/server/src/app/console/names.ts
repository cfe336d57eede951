import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { validate as isId } from 'uuid';
import type { Schema } from '../../contract/contract.ts';
import { conditionsToSee } from '../../entity/field-access.ts';
import { entityOf } from '../../entity/registry.ts';
import { dataLists, merged } from './catalog.ts';
import type { ConsoleVisit } from './visit.ts';

/** Names of rows, by their IDs. A row that the caller may not see, or that has no name, is missing. */
export type Names = ReadonlyMap<string, string>;

/** The names of all rows that values refer to, by one query: those of types and fields that the caller may read. */
export async function namesIn(
  { service: { store }, tenant, caller }: ConsoleVisit,
  values: readonly unknown[],
  properties: ReadonlyMap<string, Schema>,
): Promise<Names> {
  const found = new Map<string, Set<string>>();
  for (const value of values) collect(value, { properties: Object.fromEntries(properties) }, found);
  const holds = (roles: readonly string[]) => hasRole(caller.roles, roles);
  const queries = [...found].flatMap(([type, ids]) => {
    const [entity, label] = [entityOf(type), dataLists.get(type)?.label];
    const field = entity?.fields.get(label ?? '');
    if (entity === undefined || field === undefined || !holds(entity.readRoles ?? [])) return [];
    if (field.readRoles.length > 0 && !holds(field.readRoles)) return [];
    const conditions = [
      entity.within('e', tenant.id),
      sql`e.id = any(${[...ids]}::uuid[])`,
      ...conditionsToSee(holds, entity, 'e'),
    ];
    return [
      sql`select e.id, (${entity.value('e', field.name)})::text as name from ${sql.table(entity.table)} e where ${sql.join(conditions, sql` and `)}`,
    ];
  });
  if (queries.length === 0) return new Map();
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ id: string; name: string | null }>(sql.join(queries, sql` union all `)),
  );
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id, name]])));
}

/** Collects the IDs in a value, by the type that they refer to. */
function collect(value: unknown, unmerged: Schema, found: Map<string, Set<string>>): void {
  if (value === null || value === undefined) return;
  const schema = merged(unmerged);
  const type = schema['x-references'];
  if (Array.isArray(value)) {
    const items = { ...(schema.items && merged(schema.items)), ...(type !== undefined && { 'x-references': type }) };
    for (const item of value) collect(item, items, found);
  } else if (typeof value === 'object') {
    for (const [name, part] of Object.entries(value)) {
      const property = schema.properties?.[name];
      if (property !== undefined) collect(part, property, found);
    }
  } else if (type !== undefined && isId(String(value))) {
    found.set(type, (found.get(type) ?? new Set()).add(String(value)));
  }
}
