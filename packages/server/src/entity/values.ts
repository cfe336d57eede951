import { type Field, type FieldKind, holdsField, membersOf } from '../contract/fields.ts';
import { formatDecimal, isDecimal, parseDecimal } from '../platform/decimal.ts';

/** Converts a row for calculations: every decimal string becomes a `Decimal`. */
export function withDecimals<Row extends object>(fields: readonly Field[], row: Row): Row {
  return convertFields(row, fieldsHolding(decimals, fields), decimals, (field, value) =>
    field.kind === 'decimal' && typeof value === 'string' ? parseDecimal(value) : value,
  );
}

/** Normalizes provided values: decimals as `Decimal`, instants in UTC with milliseconds. */
export function normalized<Row extends object>(fields: readonly Field[], provided: Row): Row {
  return convertFields(provided, fieldsHolding(severalForms, fields), severalForms, (field, value) => {
    if (typeof value !== 'string') return value;
    if (field.kind === 'decimal') return parseDecimal(value);
    return field.kind === 'instant' ? new Date(value).toISOString() : value;
  });
}

/** Converts the value of a field to JSON: every `Decimal` becomes text with the decimal places of the field. */
export function asJson(field: Field, value: unknown): unknown {
  return convertValue(field, value, decimals, (one, exact) =>
    isDecimal(exact) ? formatDecimal(exact, one.places) : exact,
  );
}

/** Whether two values are equal as JSON. Objects are compared by content, independently of the order of their keys. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((one, index) => sameValue(one, right[index]));
  }
  // Documents have hundreds of lines, so this creates no copies.
  for (const name of Object.keys(left)) if (!sameValue(memberOf(left, name), memberOf(right, name))) return false;
  for (const name of Object.keys(right))
    if (!Object.hasOwn(left, name) && memberOf(right, name) !== undefined) return false;
  return true;
}

/** An own property; undefined if the object has none of this name. */
function memberOf(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? Reflect.get(object, name) : undefined;
}

/** Kinds of values, and the fields that contain one at any depth, cached because each row requires them. */
interface Kinds {
  readonly kinds: readonly FieldKind[];
  readonly fields: WeakMap<Field, boolean>;
  readonly lists: WeakMap<readonly Field[], readonly Field[]>;
}

const decimals = kindsOf('decimal');
/** Values that callers can write in several formats. */
const severalForms = kindsOf('decimal', 'instant');

function kindsOf(...kinds: FieldKind[]): Kinds {
  return { kinds, fields: new WeakMap(), lists: new WeakMap() };
}

function holds({ kinds, fields }: Kinds, field: Field): boolean {
  return fields.getOrInsertComputed(field, () => holdsField(field, ({ kind }) => kinds.includes(kind)));
}

function fieldsHolding(kinds: Kinds, fields: readonly Field[]): readonly Field[] {
  return kinds.lists.getOrInsertComputed(fields, () => fields.filter((field) => holds(kinds, field)));
}

/** Converts a value of a field without members. */
type Convert = (field: Field, value: unknown) => unknown;

/** Returns the row itself if there is nothing to convert. Callers must not modify it. */
function convertFields<Row extends object>(row: Row, fields: readonly Field[], kinds: Kinds, change: Convert): Row {
  if (fields.length === 0) return row;
  const converted: Record<string, unknown> = {};
  for (const field of fields)
    if (Object.hasOwn(row, field.name))
      converted[field.name] = convertValue(field, memberOf(row, field.name), kinds, change);
  return { ...row, ...converted };
}

function convertValue(field: Field, value: unknown, kinds: Kinds, change: Convert): unknown {
  if (value === undefined || value === null || !holds(kinds, field)) return value;
  const members = membersOf(field);
  if (members.length === 0) return change(field, value);
  const inside = fieldsHolding(kinds, members);
  const convertMember = (one: unknown) =>
    typeof one === 'object' && one !== null ? convertFields(one, inside, kinds, change) : one;
  return Array.isArray(value) ? value.map(convertMember) : convertMember(value);
}
