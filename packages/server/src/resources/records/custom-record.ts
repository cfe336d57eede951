import { sql } from 'kysely';
import { type Attributes, resolveReference } from '../../entity/attributes.ts';
import { type Entity, entityOf, makeEntity } from '../../entity/entity.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { invalidField } from '../../entity/violation.ts';
import type { Row } from '../../query/read.ts';
import type { CustomField } from './custom-field.ts';
import { compileChecks, normalize } from './custom-values.ts';
import { isStandardType } from './standard-types.ts';
import { holdUniqueValues } from './unique-values.ts';

/** The entity of a custom type: its rows lie in one table with those of the other custom types. */
export function customRecordEntity(name: string, fields: readonly CustomField[]): Entity {
  const used = fields.filter((field) => field.active);
  const check = compileChecks(used);
  return makeEntity({
    ...placeOf(name),
    read: (unit, attributes, previous) => readRecord(unit, fields, check, attributes, previous),
    rules: {
      complete: (_unit, draft) => {
        draft.values.type = name;
      },
      follow: (unit, draft, active) => holdUniqueValues(unit, fields, draft, active),
    },
  });
}

/** Where the rows of a type are that a REFERENCE leads to. */
export function targetOf(type: string): Entity {
  return (isStandardType(type) ? entityOf(type) : undefined) ?? makeEntity(placeOf(type));
}

function placeOf(name: string) {
  return {
    type: name,
    schema: 'RecordRow',
    table: 'custom_record',
    only: (row: string) => sql<boolean>`${sql.ref(`${row}.type`)} = ${name}`,
  };
}

/** What a caller writes on a record, and what it leaves as it is, as the row will hold it. */
async function readRecord(
  unit: UnitOfWork,
  fields: readonly CustomField[],
  check: (attributes: Attributes) => void,
  attributes: Attributes,
  previous: Row | undefined,
): Promise<Record<string, unknown>> {
  const stored = withoutPrototype(previous?.attributes);
  const given = withoutPrototype(attributes);
  for (const field of fields) {
    const { name } = field;
    if (!field.active && name in given) throw invalidField(name, 'The type does not use this field any more.');
    if (field.active && previous === undefined && !(name in given)) {
      if (field.defaultValue !== null) given[name] = field.defaultValue;
      else if (field.required) throw invalidField(name, 'It is missing.');
    }
    if (name in given) given[name] = await idOfReference(unit, field, given[name]);
  }
  check(given);
  const values = withoutPrototype({});
  for (const field of fields) {
    const { name } = field;
    const value = given[name];
    values[name] = name in given ? normalize(field, value) : (stored[name] ?? null);
    // A reference that does not change may go on pointing at an inactive row.
    if (typeof value === 'string' && value !== stored[name]) await checkReference(unit, field, value);
  }
  return { attributes: values };
}

/** A field may be called `constructor`, which every ordinary object has. */
function withoutPrototype(attributes: unknown): Record<string, unknown> {
  return Object.assign(Object.create(null), attributes);
}

/** A reference that is written as an object, as an id; every other value as it is. */
async function idOfReference(unit: UnitOfWork, field: CustomField, value: unknown): Promise<unknown> {
  const type = field.referencedEntityType;
  if (type === null || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return resolveReference(unit, targetOf(type), value, `/${field.name}`, field.referenceKeys);
}

/** @throws Violation `REFERENCE_NOT_FOUND` where the id is not of an active row of the type. */
export async function checkReference(unit: UnitOfWork, field: CustomField, id: string): Promise<void> {
  if (field.referencedEntityType === null) return;
  await resolveReference(unit, targetOf(field.referencedEntityType), { id }, `/${field.name}`);
}
