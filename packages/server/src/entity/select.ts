import { type RawBuilder, sql } from 'kysely';
import { compiler, type Session } from '../platform/store/session.ts';
import type { AnyEntity } from './model.ts';
import type { AnyStoredRow } from './row.ts';

/** SQL of everything that responses include for the entity; the row has the alias `e`. */
export const shownColumns = perEntity((entity): RawBuilder<unknown> => {
  const columns = entity.shown.map((field) => sql`${entity.value('e', field.name)} as ${sql.id(field.name)}`);
  const list = sql`${sql.join(columns)}`.compile(compiler);
  if (list.parameters.length > 0) throw new Error(`Calculated fields of ${entity.type} must not depend on parameters.`);
  // Cached as text: compiling it for each query would cost more than the rest of the query. Copied, because V8 keeps what was
  // concatenated as its hundreds of parts, and would walk through them again for each query.
  return sql.raw(Buffer.from(list.sql).toString());
});

/** `select … from …` of everything that responses include for the entity; the row has the alias `e`. */
export const selection = perEntity(
  (entity): RawBuilder<unknown> => sql`select ${shownColumns(entity)} from ${sql.table(entity.table)} ${sql.id('e')}`,
);

/** Reads the rows with these IDs, in no particular order. */
export function readStored(
  session: Session,
  tenantId: number,
  entity: AnyEntity,
  ids: readonly string[],
): Promise<AnyStoredRow[]> {
  return session.all<AnyStoredRow>(
    sql`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = any(${ids})`,
  );
}

/** Caches the result of a function for each entity. */
export function perEntity<Value>(make: (entity: AnyEntity) => Value): (entity: AnyEntity) => Value {
  const cache = new WeakMap<AnyEntity, { readonly value: Value }>();
  return (entity) => {
    let known = cache.get(entity);
    if (known === undefined) {
      known = { value: make(entity) };
      cache.set(entity, known);
    }
    return known.value;
  };
}
