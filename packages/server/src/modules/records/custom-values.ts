import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Schema, schemaOf } from '../../contract/contract.ts';
import { addUniqueItems } from '../../contract/unique-items.ts';
import { type ItemCheck, itemCheck } from '../../entity/item-check.ts';
import type { CustomField } from './custom-field.ts';
import { compareDecimals, inShortestForm, withPlaces } from './decimal.ts';
import { compilePattern, PatternFault } from './pattern.ts';

/** The default maximum length of text in a field, in characters; the contract allows no greater one. */
const longestText = 100_000;

const [first, all] = [false, true].map(createAjv) as [Ajv2020, Ajv2020];

function createAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    strict: false,
    verbose: true,
    validateFormats: true,
    code: { regExp: patternOf },
  });
  addFormats.default(ajv);
  addUniqueItems(ajv);
  // Patterns, which are stricter, validate these formats.
  ajv.addFormat('decimal', true);
  ajv.addFormat('uuid', true);
  ajv.addFormat('one-line', (text: string) => !/[\r\n\u2028\u2029]/.test(text));
  addBound(ajv, 'decimalMinimum', (value, limit) => compareDecimals(value, limit) >= 0, '>=');
  addBound(ajv, 'decimalMaximum', (value, limit) => compareDecimals(value, limit) <= 0, '<=');
  return ajv;
}

/** Compiles the check of a custom type's fields, with references as IDs. Missing attributes are allowed. */
export function compileChecks(fields: readonly CustomField[]): ItemCheck {
  const validate = compileFields(fields);
  let every: ValidateFunction | undefined;
  return itemCheck(
    () => validate,
    () => (every ??= compileFields(fields, all)),
  );
}

/** Compiles a validation of attributes that stops at the first that does not match its field. */
export function compileFields(fields: readonly CustomField[], ajv = first): ValidateFunction {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, schemaOfField(field)])),
    additionalProperties: false,
  };
  const validate: ValidateFunction = ajv.compile(schema);
  // The validator caches every schema, and the number of types is unlimited.
  ajv.removeSchema(schema);
  return validate;
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

/** Returns the maximum length of text in a field with a pattern. */
export function longestTextOf({ pattern, maxLength }: CustomField): number {
  const compiled = pattern === null ? undefined : compilePattern(pattern);
  const testable = compiled === undefined || compiled instanceof PatternFault ? longestText : compiled.longestText;
  return Math.min(maxLength ?? longestText, testable, longestText);
}

/** Returns the lengths that the type of a field allows, in characters. */
export function lengthsOf(type: CustomField['type']): { readonly least: number; readonly greatest: number } {
  const own = type === 'EMAIL' ? schemaOf('NullableEmail') : type === 'URL' ? schemaOf('NullableUrl') : {};
  return { least: own.minLength ?? 0, greatest: own.maxLength ?? longestText };
}

function schemaOfField(field: CustomField): object {
  const { nullable, enumValues, minimum, maximum } = field;
  const orNull = (type: string) => (nullable ? [type, 'null'] : type);
  switch (field.type) {
    case 'STRING':
      return { description: 'Text on one line.', ...textRules(field), type: orNull('string'), format: 'one-line' };
    case 'TEXT':
      return { ...textRules(field), type: orNull('string') };
    case 'EMAIL':
      return { allOf: [{ ...schemaOf('NullableEmail'), type: orNull('string') }, textRules(field)] };
    case 'URL':
      return { allOf: [{ ...schemaOf('NullableUrl'), type: orNull('string') }, textRules(field)] };
    case 'INTEGER':
      return {
        type: orNull('integer'),
        minimum: Math.max(Number(minimum ?? -Infinity), Number.MIN_SAFE_INTEGER),
        maximum: Math.min(Number(maximum ?? Infinity), Number.MAX_SAFE_INTEGER),
      };
    case 'DECIMAL':
      return { type: orNull('string'), ...decimalRules(field) };
    case 'BOOLEAN':
      return { type: orNull('boolean') };
    case 'DATE':
      return { ...withoutType('BusinessDate'), type: orNull('string') };
    case 'DATETIME':
      return { ...withoutType('Instant'), type: orNull('string') };
    case 'ENUM':
      return { enum: nullable ? [...enumValues, null] : enumValues };
    case 'MULTI_ENUM':
      return { type: orNull('array'), items: { enum: enumValues }, uniqueItems: true, maxItems: enumValues.length };
    case 'REFERENCE':
      return { ...withoutType('Uuid'), type: orNull('string') };
    case 'JSON':
      return nullable ? {} : { type: ['string', 'number', 'boolean', 'object', 'array'] };
  }
}

function textRules(field: CustomField): object {
  const { minLength, pattern } = field;
  return {
    minLength: minLength ?? 0,
    maxLength: longestTextOf(field),
    ...(pattern === null ? {} : { pattern }),
  };
}

function decimalRules({ scale, minimum, maximum }: CustomField): object {
  const places = scale === null || scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`;
  return {
    description: `Decimal number with ${places === '' ? 'no' : `up to ${scale}`} decimal places.`,
    examples: [withPlaces('12', scale ?? 0)],
    pattern: `^-?(0|[1-9][0-9]{0,15})${places}$`,
    ...(minimum === null ? {} : { decimalMinimum: minimum }),
    ...(maximum === null ? {} : { decimalMaximum: maximum }),
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
    // The pattern rejects other text.
    compile: (limit: string) => (value: string) => !isDecimal.test(value) || holds(value, limit),
    error: { message: ({ schema }) => `must be ${sign} ${schema}` },
  });
}

/** Provides patterns to Ajv: never as `RegExp`, which can take exponential time. */
function patternOf(source: string) {
  const pattern = compilePattern(source);
  if (pattern instanceof PatternFault)
    throw new Error(`The invalid pattern ${source} was not rejected: ${pattern.detail}`);
  return { test: pattern.test, toString: () => source };
}
patternOf.code = 'patternOf';
