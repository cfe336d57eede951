import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { sql } from 'kysely';
import { contract, schemaOf } from '../contract/contract.ts';
import { escapePointer } from '../http/body.ts';
import type { Row } from '../query/read.ts';
import { type Entity, entityOf } from './entity.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { Violation } from './violation.ts';

/** What a caller writes on a row: the fields of the contract by name, references as ids or as `{ systemRef: … }`. */
export type Attributes = Readonly<Record<string, unknown>>;

const ajv = new Ajv2020({ strict: false, validateFormats: true });
addFormats.default(ajv);
ajv.addFormat('decimal', true);
for (const [name, schema] of Object.entries(contract.components.schemas))
  ajv.addSchema(schema, `#/components/schemas/${name}`);

const validators = new Map<string, ValidateFunction>();

/**
 * Attributes with their references as ids, checked against what the contract lets a caller write on the type.
 *
 * @param previous what the row holds now: a reference that does not change may go on pointing at an inactive row.
 * @throws Violation `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND` with a pointer from the attributes.
 */
export async function readAttributes(
  unit: UnitOfWork,
  entity: Entity,
  attributes: Attributes,
  previous?: Row,
): Promise<Record<string, unknown>> {
  if (entity.read !== undefined) return entity.read(unit, attributes, previous);
  for (const name of Object.keys(attributes)) {
    if (entity.fields.get(name)?.readOnly === true) {
      throw new Violation('VALIDATION_ERROR', 'The service computes it; it cannot be written.', `/${name}`);
    }
  }
  const values: Record<string, unknown> = { ...attributes };
  for (const [name, value] of Object.entries(attributes)) {
    const field = entity.fields.get(name);
    if (field?.references === undefined || value === null) continue;
    if (typeof value === 'object' && !Array.isArray(value)) {
      values[name] = await resolveReference(unit, targetOf(field.references), value, `/${name}`);
    }
  }
  const validate = validatorOf(entity.type);
  if (!validate(values)) throw violationOf(validate.errors?.[0]);
  for (const [name, value] of Object.entries(values)) {
    const field = entity.fields.get(name);
    if (field?.kind === 'instant' && typeof value === 'string') values[name] = new Date(value).toISOString();
    if (field?.references === undefined || value === null || value === previous?.[name]) continue;
    for (const id of [value].flat()) await resolveReference(unit, targetOf(field.references), { id }, `/${name}`);
  }
  return values;
}

/** Keys that a reference may be written with, and the columns that they name. */
const referenceColumns = { id: 'id', systemRef: 'system_ref', pmsRef: 'pms_ref' } as const;
export type ReferenceKey = keyof typeof referenceColumns;
const allReferenceKeys: readonly ReferenceKey[] = ['id', 'systemRef', 'pmsRef'];

/** Those of the names of fields that are keys by which a row can be referred to. */
export function referenceKeysAmong(names: Iterable<string>): ReferenceKey[] {
  const present = new Set(names);
  return allReferenceKeys.filter((key) => present.has(key));
}

/**
 * The id of the active row that a reference names by one of the keys.
 *
 * @throws Violation `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND`, with the pointer.
 */
export async function resolveReference(
  unit: UnitOfWork,
  target: Entity,
  reference: object,
  pointer: string,
  keys: readonly ReferenceKey[] = referenceKeysAmong(target.fields.keys()),
): Promise<string> {
  const { type } = target;
  const entries = Object.entries(reference);
  const [name, value] = entries[0] ?? [];
  const key = keys.find((one) => one === name);
  if (entries.length !== 1 || key === undefined || typeof value !== 'string') {
    throw new Violation(
      'VALIDATION_ERROR',
      `Refer to a ${type} by its id, or by an object with one of: ${keys.join(', ')}.`,
      pointer,
    );
  }
  const known = unit.knownReference(type, key, value);
  if (known !== undefined) return known;
  if (key === 'id' && !ajv.validate(schemaOf('Uuid'), value)) {
    throw new Violation('VALIDATION_ERROR', 'It is not an id of this service.', pointer);
  }
  const found = await unit.transaction.first<{ id: string; active: boolean }>(sql`
    select id, active from ${sql.table(target.table)} ${sql.id('e')}
    where ${target.within('e', unit.tenantId)} and ${sql.ref(`e.${referenceColumns[key]}`)} = ${value}`);
  if (found === undefined) throw new Violation('REFERENCE_NOT_FOUND', `There is no ${type} with this ${key}.`, pointer);
  if (!found.active)
    throw new Violation('REFERENCE_NOT_FOUND', `The ${type} is inactive and cannot be newly referred to.`, pointer);
  unit.keepReference(type, key, value, found.id);
  return found.id;
}

function targetOf(type: string): Entity {
  const target = entityOf(type);
  if (target === undefined) throw new Error(`There is no entity ${type} to refer to.`);
  return target;
}

function validatorOf(type: string): ValidateFunction {
  let validate = validators.get(type);
  if (validate === undefined) {
    schemaOf(`${type}Fields`);
    validate = ajv.compile({
      components: contract.components,
      allOf: [{ $ref: `#/components/schemas/${type}Fields` }],
      unevaluatedProperties: false,
    });
    validators.set(type, validate);
  }
  return validate;
}

/** One error of Ajv as the violation that a caller is told of. */
export function violationOf(error: ErrorObject | undefined): Violation {
  if (error === undefined) return new Violation('VALIDATION_ERROR', 'The attributes are wrong.');
  const unknown: unknown = error.params.unevaluatedProperty ?? error.params.additionalProperty;
  if (typeof unknown === 'string') {
    return new Violation(
      'VALIDATION_ERROR',
      'The type has no such field.',
      `${error.instancePath}/${escapePointer(unknown)}`,
    );
  }
  const missing: unknown = error.params.missingProperty;
  if (typeof missing === 'string')
    return new Violation('VALIDATION_ERROR', 'It is missing.', `${error.instancePath}/${missing}`);
  const message =
    error.keyword === 'enum' ? `must be ${oneOf(error.params.allowedValues)}` : (error.message ?? 'is wrong');
  return new Violation('VALIDATION_ERROR', `It ${message}.`, error.instancePath);
}

/** More of them would hide the sentence rather than help. */
const mostValuesTold = 20;

function oneOf(allowed: unknown): string {
  const values = Array.isArray(allowed) ? allowed.filter((value) => value !== null) : [];
  return values.length > mostValuesTold ? 'one of the allowed values' : `one of ${values.join(', ')}`;
}
