import type { components } from '@financial-automation/spec';
import { schemaOf } from '../contract/contract.ts';
import { contractAjv } from '../contract/contract-ajv.ts';
import type { Field } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import { findUnstorable } from '../contract/unstorable.ts';
import { Faults, type ItemCheck, itemCheck } from './item-check.ts';
import type { AnyEntity } from './model.ts';
import type { Plan } from './plan.ts';
import { anyEntityNamed } from './registry.ts';
import type { AnyInput, AnyRow } from './row.ts';
import { checkProvided } from './row-checks.ts';
import { emptyRow } from './row-input.ts';
import { rulesOf } from './rules.ts';

const checks = new Map<string, ItemCheck>();

/**
 * Validates the attributes that a caller sends for a row against the fields that callers can write, and converts
 * references to IDs.
 *
 * @throws Rejection `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND` with all invalid values, and pointers relative to the attributes.
 */
export function readAttributes(
  plan: Plan,
  entity: AnyEntity,
  attributes: AnyInput,
  previous: AnyRow | undefined,
): AnyInput {
  const unstorable = findUnstorable(attributes);
  if (unstorable !== undefined)
    throw new Rejection('VALIDATION_ERROR', unstorable.detail, {
      pointer: unstorable.pointer,
      errorCode: 'UNSTORABLE',
    });
  const { read } = rulesOf(entity);
  if (read !== undefined) return read(plan, attributes, previous);
  const values: Record<string, unknown> = { ...attributes };
  const faults = new Faults();
  for (const [name, value] of Object.entries(attributes)) {
    const field = entity.fields.get(name);
    faults.attempt(() => {
      if (field?.readOnly === true)
        throw new Rejection('VALIDATION_ERROR', `${name} is set by the service and cannot be written.`, `/${name}`);
      if (field?.references === undefined || typeof value !== 'object' || value === null || Array.isArray(value))
        return;
      values[name] = resolveReference(plan, anyEntityNamed(field.references), value, `/${name}`);
    });
  }
  faults.add(checkOf(entity.type)(values));
  if (previous === undefined) faults.attempt(() => checkProvided(entity, { ...emptyRow(entity), ...values }));
  faults.reject();
  return values;
}

const referenceKeys = schemaOf('ReferenceKey').enum as readonly ReferenceKey[];
export type ReferenceKey = components['schemas']['ReferenceKey'];

/** Keys that every row has. Others are keys of the types in which they are unique: invoices show the `clientRef` of their client. */
const commonKeys: ReadonlySet<string> = new Set<ReferenceKey>(['id', 'systemRef']);

/** Returns the keys by which a row with these fields can be referenced. */
export function referenceKeysAmong(fields: Iterable<Field>): ReferenceKey[] {
  const keys = new Set(
    [...fields].filter(({ name, unique }) => unique || commonKeys.has(name)).map(({ name }) => name),
  );
  return referenceKeys.filter((key) => keys.has(key));
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
  keys: readonly ReferenceKey[] = referenceKeysAmong(target.fields.values()),
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

function checkOf(type: string): ItemCheck {
  return checks.getOrInsertComputed(type, () => {
    const schema = { $ref: `#/components/schemas/${type}Fields` };
    return itemCheck(
      () => contractAjv({ allErrors: false, useDefaults: false, verbose: true }).compile(schema),
      () => contractAjv({ allErrors: true, useDefaults: false, verbose: true }).compile(schema),
    );
  });
}
