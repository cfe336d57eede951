import { sql } from 'kysely';
import { schemaOf } from '../../contract/contract.ts';
import type { ProblemDetail } from '../../contract/problem.ts';
import { type ErrorCode, Rejection } from '../../contract/rejection.ts';
import { findUnstorable } from '../../contract/unstorable.ts';
import { entityOf } from '../../entity/registry.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { type CustomField, type CustomFieldInput, completeField, keysOfType } from './custom-field.ts';
import { targetOf } from './custom-record.ts';
import { findCustomTypes } from './custom-type.ts';
import { checkValues, lengthsOf, maxTextLengthOf, normalize, patternTest } from './custom-values.ts';
import { compareDecimals } from './decimal.ts';
import { findMismatches, keyOf, type PatternReports, reportPatterns } from './pattern.ts';
import { isStandardType } from './standard-types.ts';

type Finding = readonly [rule: string, code: ErrorCode, detail: string];

/**
 * Validates the fields of a custom type and completes them for storage.
 *
 * @param typeName the type of the fields, which they may refer to.
 * @param stored the current fields of the type: their existing references may be to inactive types and rows.
 * @throws Rejection `VALIDATION_ERROR` or `REFERENCE_NOT_FOUND` that points at each invalid rule.
 */
export async function readFields(
  unit: UnitOfWork,
  typeName: string,
  inputs: readonly CustomFieldInput[],
  stored: readonly CustomField[] = [],
): Promise<CustomField[]> {
  const fields = inputs.map(completeField);
  const reports = await reportPatterns(unit.tenantId, fields);
  const wrong = fields.flatMap((field, index) => {
    const isSecond = fields.findIndex((other) => other.name === field.name) < index;
    const own = [...faultsOf(field), ...patternFaults(field, reports)];
    return (isSecond ? [duplicate, ...own] : own).map((finding) => detailOf(index, finding));
  });
  rejectIfAny('VALIDATION_ERROR', wrong);
  rejectIfAny('REFERENCE_NOT_FOUND', await unknownTypes(unit, typeName, fields, stored));
  const tests = fields.flatMap((field) => patternTest(field, field.defaultValue) ?? []);
  const mismatches = await findMismatches(unit.tenantId, tests);
  return Promise.all(fields.map((field, index) => withDefault(unit, field, index, mismatches)));
}

const duplicate: Finding = ['name', 'DUPLICATE', 'Another field has this name.'];

function detailOf(index: number, [rule, code, detail]: Finding): ProblemDetail {
  return { in: 'body', pointer: `/fields/${index}/${rule}`, code, detail };
}

function rejectIfAny(code: 'VALIDATION_ERROR' | 'REFERENCE_NOT_FOUND', errors: readonly ProblemDetail[]): void {
  if (errors.length === 0) return;
  throw new Rejection(code, 'The definition of a field is invalid.', { errors });
}

const { properties: rules = {} } = schemaOf('CustomFieldInput');

/** Whether fields of a type can have a rule; it must be omitted for others. */
function applies(rule: string, type: string): boolean {
  return rules[rule]?.['x-only-for']?.type?.includes(type) !== false;
}

/** Returns the errors of a field that do not depend on other data. */
function faultsOf(field: CustomField): Finding[] {
  const { type, unique, required, nullable, defaultValue } = field;
  const findings = Object.entries(field)
    .filter(([rule, value]) => !applies(rule, type) && isSet(value))
    .map(([rule]): Finding => [rule, 'NOT_APPLICABLE', `This rule does not apply to the type ${type}.`]);
  if ((type === 'ENUM' || type === 'MULTI_ENUM') && field.enumValues.length === 0)
    findings.push(['enumValues', 'REQUIRED', `A field of the type ${type} requires enumValues.`]);
  if (type === 'REFERENCE' && field.referencedEntityType === null)
    findings.push(['referencedEntityType', 'REQUIRED', 'A REFERENCE requires referencedEntityType.']);
  if (unique && (type === 'MULTI_ENUM' || type === 'JSON'))
    findings.push(['unique', 'NOT_APPLICABLE', `A field of the type ${type} cannot be unique.`]);
  if (unique && defaultValue !== null)
    findings.push(['defaultValue', 'NOT_APPLICABLE', 'A unique field cannot have a default value.']);
  if (!required && !nullable && defaultValue === null)
    findings.push([
      'nullable',
      'NO_VALUE',
      'A record without a value would be invalid. Set required or nullable to true, or provide a defaultValue.',
    ]);
  return [...findings, ...boundFaults(field)];
}

function isSet(rule: unknown): boolean {
  return rule !== null && !(Array.isArray(rule) && rule.length === 0);
}

function boundFaults(field: CustomField): Finding[] {
  const { type, minLength, maxLength, minimum, maximum, scale } = field;
  const findings: Finding[] = [];
  if (minLength !== null && maxLength !== null && minLength > maxLength)
    findings.push(['maxLength', 'BOUNDS', 'It is below minLength.']);
  const { least, greatest } = lengthsOf(type);
  if (minLength !== null && minLength > greatest)
    findings.push(['minLength', 'BOUNDS', `A field of the type ${type} has at most ${greatest} characters.`]);
  if (maxLength !== null && maxLength < least)
    findings.push(['maxLength', 'BOUNDS', `A field of the type ${type} has at least ${least} characters.`]);
  if (minimum !== null && maximum !== null && compareDecimals(minimum, maximum) > 0)
    findings.push(['maximum', 'BOUNDS', 'It is below minimum.']);
  const places = type === 'INTEGER' ? 0 : (scale ?? 0);
  for (const rule of ['minimum', 'maximum'] as const) {
    const fraction = field[rule]?.split('.')[1] ?? '';
    if (fraction.length > places) findings.push([rule, 'BOUNDS', `It has more than ${places} decimal places.`]);
  }
  return findings;
}

function patternFaults(field: CustomField, reports: PatternReports): Finding[] {
  const report = reports.get(field.pattern);
  if (report === undefined || !applies('pattern', field.type)) return [];
  if ('fault' in report) return [['pattern', 'PATTERN', report.fault]];
  const longest = maxTextLengthOf(field, reports);
  if (Math.max(field.maxLength ?? 0, field.minLength ?? 0) > longest) {
    const detail = `A pattern of this size supports texts of up to ${longest} characters. Reduce maxLength, or simplify the pattern.`;
    return [['pattern', 'PATTERN', detail]];
  }
  return [];
}

/** Finds references to types that are unknown or inactive, and keys that the rows of a type do not have. */
async function unknownTypes(
  unit: UnitOfWork,
  typeName: string,
  fields: readonly CustomField[],
  stored: readonly CustomField[],
): Promise<ProblemDetail[]> {
  const before = stored.map((field) => field.referencedEntityType);
  const types = fields.map((field) => field.referencedEntityType).filter((type) => type !== null);
  const others = types.filter((type) => !isStandardType(type));
  const custom = others.length === 0 ? [] : await findCustomTypes(unit.transaction, unit.tenantId, others);
  const known = new Set([
    typeName,
    ...types.filter((type) => isStandardType(type) && entityOf(type) !== undefined),
    ...custom.filter((type) => type.active || before.includes(type.name)).map((type) => type.name),
  ]);
  return fields.flatMap(({ referencedEntityType: type, referenceKeys }, index) => {
    if (type === null) return [];
    if (!known.has(type))
      return [
        detailOf(index, ['referencedEntityType', 'REFERENCE_NOT_FOUND', `The record type ${type} does not exist.`]),
      ];
    const keys = keysOfType(type);
    const odd = referenceKeys.find((key) => !keys.includes(key));
    if (odd === undefined) return [];
    return [detailOf(index, ['referenceKeys', 'VALIDATION_ERROR', `Rows of ${type} have no ${odd}.`])];
  });
}

/** Normalizes the default of a field like stored values. */
async function withDefault(
  unit: UnitOfWork,
  field: CustomField,
  index: number,
  mismatches: ReadonlyMap<string, string>,
): Promise<CustomField> {
  const { name, defaultValue } = field;
  if (defaultValue === null) return field;
  try {
    const unstorable = findUnstorable(defaultValue);
    if (unstorable !== undefined) throw new Rejection('VALIDATION_ERROR', unstorable.detail);
    const [fault] = checkValues([field])({ [name]: defaultValue });
    if (fault !== undefined) throw fault;
    const test = patternTest(field, defaultValue);
    const mismatch = test === undefined ? undefined : mismatches.get(keyOf(test));
    if (mismatch !== undefined) throw new Rejection('VALIDATION_ERROR', mismatch);
    if (field.referencedEntityType !== null)
      await checkDefaultReference(unit, field.referencedEntityType, defaultValue);
    return { ...field, defaultValue: normalize(field, defaultValue) };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const detail = `It does not fit the field: ${error.message}`;
    throw new Rejection('VALIDATION_ERROR', 'The definition of a field is invalid.', {
      errors: [detailOf(index, ['defaultValue', error.errorCode, detail])],
    });
  }
}

async function checkDefaultReference(unit: UnitOfWork, type: string, id: unknown): Promise<void> {
  const target = targetOf(type);
  const row = await unit.transaction.first<{ active: boolean }>(sql`
    select e.active from ${sql.table(target.table)} e where ${target.within('e', unit.tenantId)} and e.id = ${id}`);
  if (row?.active !== true) throw new Rejection('REFERENCE_NOT_FOUND', `No active ${type} with this ID exists.`);
}
