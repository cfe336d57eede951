import { type RawBuilder, sql } from 'kysely';
import { compiler, type Query, type Session } from '../platform/store/session.ts';
import { jsonObject } from './embed.ts';
import type { AnyEntity } from './model.ts';
import type { AnyStoredRow } from './row.ts';

/** A row as the database writes it: the JSON of a response. */
export interface JsonRow {
  readonly json: string;
}

/** SQL of everything that responses include for the entity, as the column of a `JsonRow`; the row has the alias `e`. */
export const jsonColumn = perEntity((entity): RawBuilder<unknown> => {
  const { sql: text, parameters } = jsonObject(
    entity.shown.map((field) => [field, entity.value('e', field.name)]),
  ).compile(compiler);
  if (parameters.length > 0) throw new Error(`Calculated fields of ${entity.type} must not depend on parameters.`);
  // Cached as text: compiling it for each query would cost more than the rest of the query. Copied, because V8 keeps what was
  // concatenated as its hundreds of parts, and would walk through them again for each query.
  return sql.raw(Buffer.from(`${text}::text as json`).toString());
});

/** `select … from …` of everything that responses include for the entity; the row has the alias `e`. */
export const selection = perEntity(
  (entity): RawBuilder<unknown> => sql`select ${jsonColumn(entity)} from ${sql.table(entity.table)} ${sql.id('e')}`,
);

/**
 * Runs a statement that returns the `jsonColumn` of rows.
 *
 * @typeParam Row what the entity's table returns: it matches the contract, and responses are validated against it
 */
export async function readRows<Row = AnyStoredRow>(session: Session, statement: Query<JsonRow>): Promise<Row[]> {
  return (await session.all(statement)).map(({ json }) => JSON.parse(json));
}

/** Reads the rows with these IDs, in no particular order. */
export function readStored(
  session: Session,
  tenantId: number,
  entity: AnyEntity,
  ids: readonly string[],
): Promise<AnyStoredRow[]> {
  return readRows(session, sql`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = any(${ids})`);
}

/** Caches the result of a function for each entity. */
export function perEntity<Value>(make: (entity: AnyEntity) => Value): (entity: AnyEntity) => Value {
  const cache = new WeakMap<AnyEntity, Value>();
  return (entity) => cache.getOrInsertComputed(entity, make);
}
