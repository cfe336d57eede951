import { type Field, membersOf } from '../contract/fields.ts';
import { isDecimal } from '../platform/decimal.ts';
import { writtenMembers } from './embed.ts';
import type { AnyEntity } from './model.ts';
import type { AnyInput, AnyRow } from './row.ts';
import { asJson, sameValue } from './values.ts';

/** Whether a change affects stored data of the row: a column, or rows that it owns. */
export function isChanged(entity: AnyEntity, previous: AnyRow, row: AnyRow): boolean {
  return entity.keptFields.some((field) => isFieldChanged(entity, field, previous, row));
}

/** Returns the names of the fields that a change affects. */
export function changedFields(entity: AnyEntity, previous: AnyRow, row: AnyRow): string[] {
  return entity.keptFields.flatMap((field) => (isFieldChanged(entity, field, previous, row) ? [field.name] : []));
}

/** Whether a field of the row, or its owned rows in this field, must be stored again. */
export function isFieldChanged(entity: AnyEntity, field: Field, previous: AnyInput, row: AnyInput): boolean {
  const [before, after] = [previous[field.name], row[field.name]];
  if (before === after) return false;
  // Amounts have a fixed number of places, so equal ones have the same text.
  if (field.places !== undefined && isDecimal(before) && isDecimal(after) && before.eq(after)) return false;
  const stored = (value: unknown) => asJson(field, withoutComputed(entity, field, value));
  return !sameValue(stored(before), stored(after));
}

/** Owned rows without members that are read from elsewhere: writers omit these. */
function withoutComputed(entity: AnyEntity, field: Field, value: unknown): unknown {
  const owned = entity.owned.get(field);
  if (owned === undefined || !Array.isArray(value)) return value;
  const written = writtenMembers(owned, field);
  if (written.length === membersOf(field).length) return value;
  return value.map((one) => {
    const members = new Map(Object.entries(one));
    return Object.fromEntries(written.map(({ name }) => [name, members.get(name)]));
  });
}
