import { type Field, holdsField, membersOf } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import { invalidField } from './invalid-field.ts';
import type { AnyEntity } from './model.ts';
import type { AnyInput, AnyRow } from './row.ts';
import { isFieldChanged } from './row-changes.ts';
import { emptyRow } from './row-input.ts';
import { perEntity } from './select.ts';

/**
 * Rules provide the fields of the contract for rows of custom types.
 *
 * @throws Rejection if a new row lacks a field that only the caller can provide.
 */
export function checkProvided(entity: AnyEntity, values: AnyInput): void {
  if (!entity.isCustom) checkPresent(values, fieldsToProvide(entity));
}

const fieldsToProvide = perEntity(({ keptFields }) => keptFields.filter((field) => field.requiredOnCreate));

/** @throws Rejection if the row lacks a required field. */
export function checkComplete(entity: AnyEntity, values: AnyRow): void {
  checkPresent(values, writableFields(entity));
}

const writableFields = perEntity(({ keptFields }) => keptFields.filter((field) => !field.readOnly));

function checkPresent(values: AnyInput, fields: readonly Field[]): void {
  const missing = fields.filter(({ name }) => values[name] === undefined);
  const [first, ...others] = missing.map(({ name }) => invalidField(name, `${name} is required.`, 'REQUIRED'));
  if (first !== undefined) throw first.with(others);
}

type Requires = (roles: readonly string[], action: string, pointer: string) => void;

/**
 * Calls back for every provided field that requires a role to write. Null counts as a write if it clears a value;
 * otherwise, as in a new row, it is the same as omitting the field.
 */
export function checkWriteRoles(
  entity: AnyEntity,
  provided: AnyInput,
  previous: AnyRow | undefined,
  requires: Requires,
): void {
  for (const field of fieldsWithWriteRoles(entity)) {
    const { name } = field;
    if (provided[name] === null && (previous === undefined || previous[name] === null)) continue;
    checkWriteRole(field, provided[name], requires, `/${name}`);
  }
}

const fieldsWithWriteRoles = perEntity(({ fields }) =>
  [...fields.values()].filter((field) => holdsField(field, hasWriteRoles)),
);

/** @throws Rejection if a field has a value that its row, by the value of another field, cannot have */
export function checkOnlyFor(entity: AnyEntity, values: AnyInput): void {
  for (const { name, onlyFor } of fieldsOnlyFor(entity))
    for (const [other, allowed] of Object.entries(onlyFor))
      if ((values[name] ?? null) !== null && !allowed.includes(String(values[other])))
        throw invalidField(name, `${name} is only for the ${other} ${allowed.join(' or ')}. Send null.`);
}

const fieldsOnlyFor = perEntity(({ keptFields }) =>
  keptFields.filter(({ onlyFor }) => Object.keys(onlyFor).length > 0),
);

/** @throws Rejection if a field gets a value that only an import can set */
export function checkImportsOnly(entity: AnyEntity, provided: AnyInput, previous: AnyRow | undefined): void {
  for (const { name } of fieldsOfImports(entity))
    if ((provided[name] ?? null) !== null && provided[name] !== previous?.[name])
      throw invalidField(name, `Only an import can set ${name}. Send the record with the source IMPORT.`);
}

const fieldsOfImports = perEntity(({ fields }) =>
  [...fields.values()].filter(({ written }) => written?.['x-imports-only'] === true),
);

/** @throws Rejection if a new row gets a value that belongs to a change of a row */
export function checkOfChange(entity: AnyEntity, provided: AnyInput): void {
  for (const field of fieldsOfChange(entity)) {
    const { name } = field;
    if ((provided[name] ?? null) !== null && isFieldChanged(entity, field, emptyRow(entity), provided))
      throw invalidField(name, `${name} belongs to a change of an existing ${entity.type}. Omit it in a new one.`);
  }
}

const fieldsOfChange = perEntity(({ fields }) =>
  [...fields.values()].filter(({ written }) => written?.['x-of-change'] === true),
);

function hasWriteRoles({ writeRoles }: Field): boolean {
  return writeRoles.length > 0;
}

function checkWriteRole(field: Field, value: unknown, requires: Requires, pointer: string): void {
  if (value === undefined) return;
  if (hasWriteRoles(field)) requires(field.writeRoles, `Writing ${field.name}`, pointer);
  const members = membersOf(field).filter((member) => holdsField(member, hasWriteRoles));
  if (value === null) {
    for (const member of members) checkWriteRole(member, value, requires, pointer);
    return;
  }
  eachObject(value, (object, suffix) => {
    for (const member of members)
      checkWriteRole(member, object[member.name], requires, `${pointer}${suffix}/${member.name}`);
  });
}

/**
 * Calls back for each provided reference that is new: it must be to an active row. An unchanged reference can be to an
 * inactive row, as can one that the service copies from another row.
 */
export function checkReferences(
  entity: AnyEntity,
  provided: AnyInput,
  previous: AnyRow | undefined,
  check: OnReference,
): void {
  for (const field of fieldsWithReferences(entity)) {
    const [before, after] = [previous?.[field.name], provided[field.name]];
    if (before === after) continue;
    const known = new Set<unknown>();
    eachReference(field, before, '', (_type, id) => known.add(id));
    eachReference(field, after, `/${field.name}`, (type, id, pointer) => {
      if (!known.has(id)) check(type, id, pointer);
    });
  }
}

const fieldsWithReferences = perEntity(({ keptFields }) =>
  keptFields.filter((field) => !field.readOnly && holdsField(field, ({ references }) => references !== undefined)),
);

type OnReference = (type: string, id: string, pointer: string) => void;

function eachReference(field: Field, value: unknown, pointer: string, work: OnReference): void {
  if (value === null || value === undefined) return;
  if (field.references !== undefined) {
    if (Array.isArray(value))
      for (const [index, id] of value.entries()) work(field.references, String(id), `${pointer}/${index}`);
    else work(field.references, String(value), pointer);
    return;
  }
  const members = membersOf(field);
  if (members.length === 0) return;
  eachObject(value, (object, suffix) => {
    for (const member of members)
      eachReference(member, object[member.name], `${pointer}${suffix}/${member.name}`, work);
  });
}

/** Returns the ID of the row with a value in a unique field; undefined if there is none, or it is not known yet. */
type FindId = (field: string, value: string) => string | undefined;

/** @throws Rejection `DUPLICATE_REF` if another row has the same value in a unique field. */
export function checkUnique(entity: AnyEntity, values: AnyRow, previous: AnyRow | undefined, findId: FindId): void {
  const check = (field: string) => {
    const value = values[field];
    if (typeof value !== 'string' || value === previous?.[field]) return;
    const id = findId(field, value);
    if (id !== undefined && id !== values.id)
      throw new Rejection('DUPLICATE_REF', `Another ${entity.type} already has this ${field}.`, `/${field}`);
  };
  for (const { name } of entity.uniqueFields) check(name);
  // A row without a key from the caller uses its own ID as its key.
  if (values.systemRef !== values.id) check('systemRef');
}

/** Calls back for an object, or for each object in a list, with its pointer. */
function eachObject(value: unknown, work: (object: AnyInput, suffix: string) => void): void {
  const isObject = (one: unknown): one is AnyInput => typeof one === 'object' && one !== null;
  if (!Array.isArray(value)) {
    if (isObject(value)) work(value, '');
    return;
  }
  for (const [index, one] of value.entries()) if (isObject(one)) work(one, `/${index}`);
}

/**
 * Checks instants that a record of another system's history sets in place of the service.
 *
 * @param stored the row before the transaction, if it exists.
 * @throws Rejection if a field is none of them, or the row cannot have its instant.
 */
export function checkInstants(
  entity: AnyEntity,
  values: AnyRow,
  stored: AnyRow | undefined,
  names: readonly string[],
  { now }: { readonly now: string },
): void {
  for (const name of names) {
    const field = entity.fields.get(name);
    const instant = values[name];
    if (field?.kind !== 'instant' || !field.readOnly || !entity.isStored(field) || name === 'updatedAt')
      throw invalidField(
        name,
        `${name} is not an instant of the ${entity.type} that an import sets.`,
        'UNKNOWN_PROPERTY',
      );
    if (String(instant) > now) throw invalidField(name, `${name} must not be in the future.`);
    if (name === 'createdAt' && stored !== undefined && stored.createdAt !== instant)
      throw new Rejection('INVALID_STATE', 'The row exists, so its createdAt cannot change.', `/${name}`);
  }
}
