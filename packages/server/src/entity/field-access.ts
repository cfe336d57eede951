import { type RawBuilder, sql } from 'kysely';
import { readRows } from '../contract/contract.ts';
import { type Field, holdsField, membersOf } from '../contract/fields.ts';
import type { AnyEntity } from './model.ts';
import { perEntity } from './select.ts';

type Holds = (roles: readonly string[]) => boolean;
type Values = Readonly<Record<string, unknown>>;

/** A row as a reader with these roles sees it: fields that require other roles are null, at any depth. */
export function visibleTo<Row extends object>(holds: Holds, entity: AnyEntity, row: Row): Row {
  return seesAll(holds, entity) ? row : (mask(entity.shown, row as Values, holds) as Row);
}

/** Whether a reader with these roles may read all fields of rows. */
export function seesAll(holds: Holds, entity: AnyEntity): boolean {
  return rolesOfFields(entity).every((roles) => holds(roles));
}

/** SQL conditions that a reader with these roles may see a row; none if everyone may. */
export function conditionsToSee(holds: Holds, entity: AnyEntity, row: string): RawBuilder<boolean>[] {
  return Object.entries(entity.rowRoles).map(([field, roles]) => {
    const visible = Object.entries(roles).flatMap(([value, required]) => (holds(required) ? [value] : []));
    return sql<boolean>`${entity.value(row, field)} = any(${visible})`;
  });
}

/** Whether a reader with these roles may see a row. */
export function isVisibleTo(holds: Holds, entity: AnyEntity, row: object): boolean {
  return Object.entries(entity.rowRoles).every(([field, roles]) => {
    const required = roles[String(Reflect.get(row, field))];
    return required !== undefined && holds(required);
  });
}

/**
 * A row as its writer sees it: callers who can write a field see it in the response. They have not written the rows that
 * it embeds.
 */
export function visibleToWriter<Row extends object>(holds: Holds, entity: AnyEntity, row: Row): Row {
  if (!entity.isRestricted) return row;
  const { own, embedded } = fieldsByOwner(entity);
  return mask(embedded, mask(own, row as Values, holds, 'writer'), holds) as Row;
}

/**
 * A row as events carry it, to all subscribers: values that require a role of their own, such as rates, are null, and so is an object
 * with one, unless it is another row. Rows that it embeds are in it, and are left out for subscribers who may not read them.
 */
export function asEvent<Row extends object>(entity: AnyEntity, row: Row): Row {
  if (!entity.isRestricted) return row;
  const { own } = fieldsByOwner(entity);
  const whole = own.filter((field) => field.kind === 'object' && holdsField(field, isSecret));
  const masked = mask(entity.shown, row as Values, readRows);
  return { ...masked, ...Object.fromEntries(whole.map((field) => [field.name, null])) } as Row;
}

/** Whether a reader with these roles may read all rows that rows of this entity embed. */
export function seesEmbedded(holds: Holds, entity: AnyEntity): boolean {
  return rolesOfFields(entity).every((roles) => !readRows(roles) || holds(roles));
}

/** The roles of each restricted field, at any depth. */
const rolesOfFields = perEntity(({ shown }) => {
  const found: (readonly string[])[] = [];
  const collect = ({ readRoles }: Field) => readRoles.length > 0 && found.push(readRoles) === 0;
  for (const field of shown) holdsField(field, collect);
  return found;
});

/** The fields of the row itself, and those that embed other rows. */
const fieldsByOwner = perEntity(({ shown, embeds }) => ({
  own: shown.filter((field) => !embeds.has(field)),
  embedded: shown.filter((field) => embeds.has(field)),
}));

/** Whether a value requires a role of its own, and not that of a row that it belongs to. */
function isSecret({ readRoles }: Field): boolean {
  return readRoles.length > 0 && !readRows(readRoles);
}

function mask(
  fields: readonly Field[],
  values: Values,
  holds: Holds,
  audience: 'reader' | 'writer' = 'reader',
): Values {
  const visible: Record<string, unknown> = { ...values };
  for (const field of restrictedAmong(fields)) {
    const value = visible[field.name];
    const roles = audience === 'reader' ? field.readRoles : [...field.readRoles, ...field.writeRoles];
    if (field.readRoles.length > 0 && !holds(roles)) visible[field.name] = null;
    else if (value !== null && value !== undefined) visible[field.name] = maskMembers(field, value, holds, audience);
  }
  return visible;
}

const restricted = new WeakMap<readonly Field[], readonly Field[]>();

/** The fields that are restricted, or have members that are. */
function restrictedAmong(fields: readonly Field[]): readonly Field[] {
  return restricted.getOrInsertComputed(fields, () =>
    fields.filter((field) => holdsField(field, ({ readRoles }) => readRoles.length > 0)),
  );
}

function maskMembers(field: Field, value: unknown, holds: Holds, audience: 'reader' | 'writer'): unknown {
  const members = membersOf(field);
  if (members.length === 0) return value;
  const one = (part: unknown) =>
    typeof part === 'object' && part !== null ? mask(members, part as Values, holds, audience) : part;
  return Array.isArray(value) ? value.map(one) : one(value);
}
