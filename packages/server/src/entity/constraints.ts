import { type ItemRejection, Rejection } from '../contract/rejection.ts';
import { type CheckViolation, ForeignKeyViolation, UniqueViolation } from '../platform/store/errors.ts';
import type { AnyEntity } from './model.ts';
import { describeRange } from './row-bounds.ts';
import { rulesOf } from './rules.ts';

export type ConstraintError = UniqueViolation | CheckViolation | ForeignKeyViolation;

/** Meanings of the last word of a check constraint's name. */
const meanings: Readonly<Record<string, string>> = {
  other: 'A row cannot refer to itself.',
  range: 'The value is out of range.',
  pattern: 'The value does not match the required format.',
  enum: 'The value is not one of the allowed values.',
};

/**
 * Converts a violated constraint to the rejection of a field. Constraints are named `<table>_<column>_<rule>`, which
 * explains most; the entity explains the rest.
 */
export function explain(entity: AnyEntity, error: ConstraintError): ItemRejection {
  const known = rulesOf(entity).constraints?.[error.constraint];
  if (known !== undefined)
    return new Rejection(known.code, known.detail, known.field === undefined ? {} : `/${known.field}`);
  const exceeded = rangeOfColumn(error);
  if (exceeded !== undefined) return new Rejection('VALIDATION_ERROR', exceeded);
  const name = fieldOf(entity, error.constraint);
  const pointer = name === undefined ? undefined : `/${name}`;
  if (error instanceof UniqueViolation) {
    const subject = name === undefined ? 'these values' : `this ${name}`;
    return new Rejection('DUPLICATE_REF', `Another ${entity.type} already has ${subject}.`, pointer);
  }
  if (error instanceof ForeignKeyViolation)
    return new Rejection('REFERENCE_NOT_FOUND', 'The referenced row does not exist.', pointer);
  const rule = error.constraint.slice(error.constraint.lastIndexOf('_') + 1);
  return new Rejection(
    'VALIDATION_ERROR',
    meanings[rule] ?? 'The value conflicts with other values of the row.',
    pointer,
  );
}

/** Describes the range of a sum that the database updates with the row, such as a balance of the client. */
function rangeOfColumn({ constraint, table }: ConstraintError): string | undefined {
  const column = constraint.slice(table.length + 1, -'_bound'.length);
  return constraint === `${table}_${column}_bound` ? describeRange(table, column) : undefined;
}

/**
 * Returns the field that a constraint checks: its column is in the constraint's name, or its list is stored in the
 * constraint's table.
 */
function fieldOf(entity: AnyEntity, constraint: string): string | undefined {
  if (constraint.startsWith('entity_ref_')) return 'sysRefs';
  for (const [field, { table }] of entity.owned) if (constraint.startsWith(`${table}_`)) return field.name;
  const rest = constraint.replace(`${entity.table}_`, '');
  const named = [...entity.fields.values()]
    .filter((field) => rest.startsWith(`${field.column}_`))
    .sort((left, right) => right.column.length - left.column.length);
  return named[0]?.name;
}
