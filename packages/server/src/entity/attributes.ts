import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { contractAjv } from '../contract/contract-ajv.ts';
import { Rejection } from '../contract/rejection.ts';
import { detailOf } from '../contract/wording.ts';
import { findUnstorable } from '../http/body.ts';
import { escapePointer } from '../http/pointer.ts';
import type { AnyEntity } from './model.ts';
import type { Plan } from './plan.ts';
import { entityNamed } from './registry.ts';
import type { AnyInput, AnyRow } from './row.ts';
import { rulesOf } from './rules.ts';

const ajv = contractAjv({ allErrors: false, useDefaults: false, verbose: true });

const validators = new Map<string, ValidateFunction>();

/**
 * Validates the attributes that a caller sends for a row against the fields that callers can write, and converts
 * references to IDs.
 *
 * @throws Rejection `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND` with a pointer relative to the attributes.
 */
export function readAttributes(
  plan: Plan,
  entity: AnyEntity,
  attributes: AnyInput,
  previous: AnyRow | undefined,
): AnyInput {
  const unstorable = findUnstorable(attributes);
  if (unstorable !== undefined) throw new Rejection('VALIDATION_ERROR', unstorable.detail, unstorable.pointer);
  const { read } = rulesOf(entity);
  if (read !== undefined) return read(plan, attributes, previous);
  const values: Record<string, unknown> = { ...attributes };
  for (const [name, value] of Object.entries(attributes)) {
    const field = entity.fields.get(name);
    if (field?.readOnly === true)
      throw new Rejection('VALIDATION_ERROR', `${name} is set by the service and cannot be written.`, `/${name}`);
    if (field?.references === undefined || typeof value !== 'object' || value === null || Array.isArray(value))
      continue;
    values[name] = resolveReference(plan, entityNamed(field.references), value, `/${name}`);
  }
  const validate = validatorOf(entity.type);
  if (!validate(values)) throw rejectionOf(validate.errors?.[0]);
  return values;
}

const referenceKeys = ['id', 'systemRef', 'pmsRef'] as const;
export type ReferenceKey = (typeof referenceKeys)[number];

/** Returns the names that are keys by which a row can be referenced. */
export function referenceKeysAmong(names: Iterable<string>): ReferenceKey[] {
  const present = new Set(names);
  return referenceKeys.filter((key) => present.has(key));
}

/**
 * Returns the ID of the row that a reference identifies by one of the keys. All references are checked for active rows
 * later.
 *
 * @throws Rejection `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND`, with the pointer.
 */
export function resolveReference(
  plan: Plan,
  target: AnyEntity,
  reference: object,
  pointer: string,
  keys: readonly ReferenceKey[] = referenceKeysAmong(target.fields.keys()),
): string {
  const entries = Object.entries(reference);
  const [name, value] = entries[0] ?? [];
  const key = keys.find((one) => one === name);
  if (entries.length !== 1 || key === undefined || typeof value !== 'string') {
    const detail = `Refer to a ${target.type} by its ID, or by an object with one of: ${keys.join(', ')}.`;
    throw new Rejection('VALIDATION_ERROR', detail, pointer);
  }
  if (key === 'id') return value;
  const row = plan.untyped.find(target, key, value);
  if (row === undefined)
    throw new Rejection('REFERENCE_NOT_FOUND', `No ${target.type} with this ${key} exists.`, pointer);
  return row.id;
}

function validatorOf(type: string): ValidateFunction {
  let validate = validators.get(type);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `#/components/schemas/${type}Fields` });
    validators.set(type, validate);
  }
  return validate;
}

/** Converts an error of Ajv with the option `verbose` to a rejection. */
export function rejectionOf(error: ErrorObject | undefined): Rejection {
  if (error === undefined) return new Rejection('VALIDATION_ERROR', 'The attributes are invalid.');
  const { additionalProperty, unevaluatedProperty, missingProperty } = error.params;
  const member: unknown = additionalProperty ?? unevaluatedProperty ?? missingProperty;
  const pointer = typeof member === 'string' ? `${error.instancePath}/${escapePointer(member)}` : error.instancePath;
  return new Rejection('VALIDATION_ERROR', detailOf(error), pointer);
}
