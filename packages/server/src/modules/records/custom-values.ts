import { Ajv2020, str, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { numberOf, type Schema, schemaOf } from '../../contract/contract.ts';
import { codeOfKeyword } from '../../contract/findings.ts';
import { escapePointer } from '../../contract/pointer.ts';
import { quickFormats } from '../../contract/quick-formats.ts';
import { type ItemRejection, Rejection } from '../../contract/rejection.ts';
import { addUniqueItems } from '../../contract/unique-items.ts';
import { distinct, unknownProperty } from '../../contract/wording.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { ItemCheck } from '../../entity/item-check.ts';
import type { CustomField } from './custom-field.ts';
import { compareDecimals, inShortestForm, withPlaces } from './decimal.ts';
import type { PatternReports, PatternTest } from './pattern.ts';

/** The default maximum length of text in a field, in characters; the contract allows no greater one. */
const maxTextLength = 100_000;

/** The most errors of an item in a response. */
const maxErrors = numberOf('RecordItemError', 'errors', 'maxItems');

/**
 * Checks values against the fields of a custom type, with references as IDs, but not against their patterns: `mismatches` does
 * that. Missing attributes are allowed.
 *
 * Schemas are compiled for the forms that fields can have, and read what a tenant has defined as data: no definition is compiled.
 */
export function checkValues(fields: readonly CustomField[]): ItemCheck {
  const byName = new Map(fields.map((field) => [field.name, field]));
  return (values) => {
    const found: ItemRejection[] = [];
    for (const [name, value] of Object.entries(values as object)) {
      const field = byName.get(name);
      const rejection = field === undefined ? unknownField(name, byName) : faultOf(field, value);
      if (rejection !== undefined) found.push(rejection);
      if (found.length === maxErrors) break;
    }
    return found;
  };
}

/** The text of a value to match with the pattern of its field; undefined without either. */
export function patternTest({ pattern }: CustomField, value: unknown): PatternTest | undefined {
  return pattern !== null && typeof value === 'string' ? { pattern, text: value } : undefined;
}

/** The number of characters that a field allows. */
export function maxTextLengthOf({ pattern, maxLength }: CustomField, reports: PatternReports): number {
  const report = reports.get(pattern);
  const matched = report === undefined || 'fault' in report ? maxTextLength : report.maxTextLength;
  return Math.min(maxLength ?? maxTextLength, matched, maxTextLength);
}

function unknownField(name: string, fields: ReadonlyMap<string, CustomField>): ItemRejection {
  return invalidField(name, unknownProperty(name, [...fields.keys()]), 'UNKNOWN_PROPERTY');
}

function faultOf(field: CustomField, value: unknown): ItemRejection | undefined {
  if (value === null && field.nullable) return undefined;
  const validate = validatorOf(field);
  if (validate({ value, rules: rulesOf(field) })) return undefined;
  const [{ error, detail } = { error: undefined, detail: 'The value is invalid.' }] = distinct(validate.errors ?? []);
  const inside = error?.instancePath.slice('/value'.length) ?? '';
  const errorCode = codeOfKeyword(error?.keyword ?? 'not');
  return new Rejection('VALIDATION_ERROR', detail, { pointer: `/${escapePointer(field.name)}${inside}`, errorCode });
}

const validators = new Map<string, ValidateFunction>();

/** The schemas of all fields with these properties are the same. */
function validatorOf({ type, nullable, scale }: CustomField): ValidateFunction {
  const form = `${type} ${nullable} ${scale}`;
  return validators.getOrInsertComputed(form, () =>
    ajv.compile({ properties: { value: schemaOfValue(type, nullable, scale) } }),
  );
}

const ajv = createAjv();

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, verbose: true, $data: true });
  addFormats.default(ajv);
  for (const [name, format] of Object.entries(quickFormats)) ajv.addFormat(name, format);
  addUniqueItems(ajv);
  // Patterns, which are stricter, validate these formats.
  ajv.addFormat('decimal', true);
  ajv.addFormat('uuid', true);
  ajv.addFormat('one-line', (text: string) => !/[\r\n\u2028\u2029]/.test(text));
  addBound(ajv, 'decimalMinimum', (value, limit) => compareDecimals(value, limit) >= 0, '>=');
  addBound(ajv, 'decimalMaximum', (value, limit) => compareDecimals(value, limit) <= 0, '<=');
  return ajv;
}

/** Converts a valid value to its stored format. */
export function normalize(field: CustomField, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (field.type === 'DECIMAL') return withPlaces(value, field.scale ?? 0);
  if (field.type === 'DATETIME') return new Date(value).toISOString();
  return value;
}

/** Returns text that is equal for values that a unique field considers equal. */
export function identityOf(field: CustomField, value: unknown): string {
  return JSON.stringify(field.type === 'DECIMAL' ? inShortestForm(String(value)) : value);
}

/** Returns the lengths that the type of a field allows, in characters. */
export function lengthsOf(type: CustomField['type']): { readonly least: number; readonly greatest: number } {
  const own = type === 'EMAIL' ? schemaOf('NullableEmail') : type === 'URL' ? schemaOf('NullableUrl') : {};
  return { least: own.minLength ?? 0, greatest: own.maxLength ?? maxTextLength };
}

/** What a tenant defined of a field, as its schema reads it. */
function rulesOf({ type, minLength, maxLength, minimum, maximum, enumValues }: CustomField): object {
  const isInteger = type === 'INTEGER';
  return {
    minLength: minLength ?? 0,
    maxLength: maxLength ?? maxTextLength,
    minimum: isInteger ? Math.max(Number(minimum ?? -Infinity), Number.MIN_SAFE_INTEGER) : (minimum ?? undefined),
    maximum: isInteger ? Math.min(Number(maximum ?? Infinity), Number.MAX_SAFE_INTEGER) : (maximum ?? undefined),
    enumValues,
  };
}

/** Refers to a rule from the value, or from an item of it. */
function rule(name: string, depth = 1): object {
  return { $data: `${depth}/rules/${name}` };
}

const textRules = { minLength: rule('minLength'), maxLength: rule('maxLength') };

function schemaOfValue(type: CustomField['type'], nullable: boolean, scale: number | null): object {
  const orNull = (type: string) => (nullable ? [type, 'null'] : type);
  switch (type) {
    case 'STRING':
      return { description: 'Text on one line.', ...textRules, type: orNull('string'), format: 'one-line' };
    case 'TEXT':
      return { ...textRules, type: orNull('string') };
    case 'EMAIL':
      return { allOf: [{ ...schemaOf('NullableEmail'), type: orNull('string') }, textRules] };
    case 'URL':
      return { allOf: [{ ...schemaOf('NullableUrl'), type: orNull('string') }, textRules] };
    case 'INTEGER':
      return { type: orNull('integer'), minimum: rule('minimum'), maximum: rule('maximum') };
    case 'DECIMAL':
      return { type: orNull('string'), ...decimalRules(scale ?? 0) };
    case 'BOOLEAN':
      return { type: orNull('boolean') };
    case 'DATE':
      return { ...withoutType('BusinessDate'), type: orNull('string') };
    case 'DATETIME':
      return { ...withoutType('Instant'), type: orNull('string') };
    case 'ENUM':
      return { enum: rule('enumValues') };
    case 'MULTI_ENUM':
      return { type: orNull('array'), items: { enum: rule('enumValues', 2) }, uniqueItems: true };
    case 'REFERENCE':
      return { ...withoutType('Uuid'), type: orNull('string') };
    case 'JSON':
      return { type: ['string', 'number', 'boolean', 'object', 'array'] };
  }
}

function decimalRules(scale: number): object {
  const places = scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`;
  return {
    description: `Decimal number with ${scale === 0 ? 'no' : `up to ${scale}`} decimal places.`,
    examples: [withPlaces('12', scale)],
    pattern: `^-?(0|[1-9][0-9]{0,15})${places}$`,
    decimalMinimum: rule('minimum'),
    decimalMaximum: rule('maximum'),
  };
}

function withoutType(name: string): Omit<Schema, 'type'> {
  const { type: _type, ...rules } = schemaOf(name);
  return rules;
}

const isDecimal = /^-?\d+(?:\.\d+)?$/;

function addBound(ajv: Ajv2020, keyword: string, holds: (value: string, limit: string) => boolean, sign: string): void {
  ajv.addKeyword({
    keyword,
    type: 'string',
    schemaType: 'string',
    $data: true,
    // The pattern rejects other text.
    validate: (limit: string, value: string) => !isDecimal.test(value) || holds(value, limit),
    error: { message: ({ schemaCode }) => str`must be ${sign} ${schemaCode}` },
  });
}
