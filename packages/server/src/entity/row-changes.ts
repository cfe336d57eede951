import { type Field, membersOf } from '../contract/fields.ts';
import type { AnyEntity } from './entity.ts';
import type { AnyRow } from './row.ts';
import { asJson, sameValue } from './values.ts';

/** Whether a change of a row is one of what it keeps: of a column, or of rows that it owns. */
export function isChanged(entity: AnyEntity, previous: AnyRow, row: AnyRow): boolean {
  return entity.keptFields.some((field) => isFieldChanged(entity, field, previous, row));
}

/** The fields of a change of a row, by their names. */
export function changedFields(entity: AnyEntity, previous: AnyRow, row: AnyRow): string[] {
  return entity.keptFields.flatMap((field) => (isFieldChanged(entity, field, previous, row) ? [field.name] : []));
}

/** Whether a field of the row, or the rows that it owns in this field, are to be stored anew. */
export function isFieldChanged(entity: AnyEntity, field: Field, previous: AnyRow, row: AnyRow): boolean {
  const [before, after] = [previous[field.name], row[field.name]];
  if (before === after) return false;
  const stored = (value: unknown) => asJson(field, withoutComputed(entity, field, value));
  return !sameValue(stored(before), stored(after));
}

/** Owned rows without what is computed when they are read: whoever writes them leaves it out. */
function withoutComputed(entity: AnyEntity, field: Field, value: unknown): unknown {
  const computed = entity.owned.get(field)?.computed;
  if (computed === undefined || !Array.isArray(value)) return value;
  const names = membersOf(field).flatMap(({ name }) => (name in computed ? [] : [name]));
  return value.map((one) => {
    const members = new Map(Object.entries(one));
    return Object.fromEntries(names.map((name) => [name, members.get(name)]));
  });
}
