import type { CustomTypeName } from '@financial-automation/spec';
import { sql } from 'kysely';
import { resolveReference } from '../../entity/attributes.ts';
import { type AnyEntity, createEntity, type Entity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import { Faults, type ItemCheck } from '../../entity/item-check.ts';
import type { Plan } from '../../entity/plan.ts';
import { entityOf } from '../../entity/registry.ts';
import type { AnyInput, AnyRow } from '../../entity/row.ts';
import type { CustomField } from './custom-field.ts';
import { checkValues, normalize, patternTest } from './custom-values.ts';
import { keyOf, mismatches } from './pattern.ts';
import { isStandardType } from './standard-types.ts';
import { holdUniqueValues } from './unique-values.ts';

/** Creates the entity of a custom type: its rows share a table with those of the other custom types. */
export function customRecordEntity(name: string, fields: readonly CustomField[]): Entity<'CustomRecordRow'> {
  const used = fields.filter((field) => field.active);
  const check = checkValues(used);
  return createEntity(
    'CustomRecordRow',
    {
      table: 'custom_record',
      rules: {
        complete({ values }) {
          values.type = name as CustomTypeName;
        },
        afterWrite: (change, plan) => holdUniqueValues(plan, fields, change),
      },
    },
    { ...tableOf(name), read: (plan, attributes, previous) => readRecord(plan, fields, check, attributes, previous) },
  );
}

/** Returns the entity of the rows that a REFERENCE of this type refers to. */
export function targetOf(type: string): AnyEntity {
  return (isStandardType(type) ? entityOf(type) : undefined) ?? referencedEntity(type);
}

const referenced = new Map<string, AnyEntity>();

/** One object per type, because plans cache rows by entity. */
function referencedEntity(type: string): AnyEntity {
  let entity = referenced.get(type);
  if (entity === undefined) {
    entity = createEntity('CustomRecordRow', { table: 'custom_record' }, tableOf(type));
    if (referenced.size < maxReferencedTypes) referenced.set(type, entity);
  }
  return entity;
}

/** Those of all tenants; the ones beyond this number are created again each time. */
const maxReferencedTypes = 1_000;

function tableOf(name: string) {
  return { name, only: (row: string) => sql<boolean>`${sql.ref(`${row}.type`)} = ${name}` };
}

/** Reads the attributes of a record: provided values, and otherwise stored ones. */
function readRecord(
  plan: Plan,
  fields: readonly CustomField[],
  check: ItemCheck,
  attributes: AnyInput,
  previous: AnyRow | undefined,
): AnyInput {
  const stored = withoutPrototype(previous?.attributes);
  const provided = withoutPrototype(attributes);
  const faults = new Faults();
  plan.each(fields, (field) => {
    const { name } = field;
    faults.attempt(() => {
      if (!field.active && name in provided) throw invalidField(name, 'The field is inactive.');
      if (field.active && previous === undefined && !(name in provided)) {
        if (field.defaultValue !== null) provided[name] = field.defaultValue;
        else if (field.required) throw invalidField(name, `${name} is required.`, 'REQUIRED');
      }
      if (name in provided) provided[name] = idOfReference(plan, field, provided[name]);
    });
  });
  const invalid = check(provided);
  faults.add(invalid);
  const isInvalid = (name: string) => invalid.some(({ pointer = '' }) => `${pointer}/`.startsWith(`/${name}/`));
  const matched = fields.filter(({ name, active }) => active && !isInvalid(name));
  plan.each(matched, (field) => {
    const test = patternTest(field, provided[field.name]);
    const detail = test === undefined ? undefined : plan.lookup(mismatches, keyOf(test));
    if (detail !== undefined) faults.add([invalidField(field.name, detail, 'PATTERN')]);
  });
  faults.reject();
  const values = withoutPrototype({});
  for (const field of fields) {
    const { name } = field;
    const value = provided[name];
    values[name] = name in provided ? normalize(field, value) : (stored[name] ?? null);
    // An unchanged reference can be to an inactive row.
    if (field.referencedEntityType !== null && typeof value === 'string' && value !== stored[name])
      plan.checkActive(targetOf(field.referencedEntityType), value, `/${name}`);
  }
  return { attributes: values };
}

/** A field can be named `constructor`, which every ordinary object has. */
function withoutPrototype(attributes: unknown): Record<string, unknown> {
  return Object.assign(Object.create(null), attributes);
}

/** Converts a reference that is an object to an ID; returns every other value unchanged. */
function idOfReference(plan: Plan, field: CustomField, value: unknown): unknown {
  const type = field.referencedEntityType;
  if (type === null || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return resolveReference(plan, targetOf(type), value, `/${field.name}`, field.referenceKeys);
}
