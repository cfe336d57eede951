import { type Field, fieldOf, fieldsOf, membersOf, propertiesOf } from '../../contract/fields.ts';
import { referenceKeysAmong } from '../../entity/attributes.ts';
import type { FieldDefinition } from './record-type.ts';

/** Texts with a greater maximum length can have several lines. */
const maxLineLength = 500;

/** Converts fields of the contract to the field definitions of a record type, in their order. */
export function definitionsOf(fields: readonly Field[]): FieldDefinition[] {
  return fields.map((field, index) => definitionOf(field, (index + 1) * 10));
}

function definitionOf(field: Field, rank: number): FieldDefinition {
  const isArray = field.kind === 'list';
  // The rules of a list are those of its elements.
  const value = isArray ? fieldOf(field.name, field.schema.items, field.written?.items) : field;
  const { schema } = value;
  const type = typeOf(value, field.references);
  const isText = type === 'STRING' || type === 'TEXT' || type === 'EMAIL' || type === 'URL';
  return {
    name: field.name,
    displayName: null,
    description: field.schema.description?.trim() ?? null,
    type,
    isArray,
    fields: type === 'OBJECT' ? definitionsOf(requiredMembersOf(value)) : [],
    required: field.requiredOnCreate,
    nullable: field.nullable,
    unique: field.unique,
    readOnly: field.readOnly,
    defaultValue: field.initial ?? null,
    minLength: (isText ? schema.minLength : undefined) ?? null,
    maxLength: (isText ? schema.maxLength : undefined) ?? null,
    pattern: (isText || type === 'DECIMAL' ? (value.written ?? schema).pattern : undefined) ?? null,
    minimum: bound(schema.minimum),
    maximum: bound(schema.maximum),
    scale: type === 'DECIMAL' ? (schema['x-scale'] ?? null) : null,
    enumValues: type === 'ENUM' ? (schema.enum?.filter((one) => one !== null) ?? []) : [],
    referencedEntityType: field.references ?? null,
    referenceKeys: field.references === undefined ? [] : referenceKeysOf(field.references),
    rank,
    active: true,
  };
}

/** The keys by which rows of a type of the contract can be referenced. */
export function referenceKeysOf(type: string): FieldDefinition['referenceKeys'] {
  return referenceKeysAmong(fieldsOf(type));
}

function typeOf({ kind, schema }: Field, references: string | undefined): FieldDefinition['type'] {
  if (references !== undefined) return 'REFERENCE';
  // A boolean with one value is still one.
  if (schema.enum !== undefined && kind !== 'boolean') return 'ENUM';
  if (kind === 'decimal') return 'DECIMAL';
  if (kind === 'integer') return 'INTEGER';
  if (kind === 'boolean') return 'BOOLEAN';
  if (kind === 'date') return 'DATE';
  if (kind === 'instant') return 'DATETIME';
  if (kind === 'object') return Object.keys(propertiesOf(schema)).length > 0 ? 'OBJECT' : 'JSON';
  if (kind === 'list') return 'JSON';
  if (schema.format === 'email') return 'EMAIL';
  if (schema.format === 'uri') return 'URL';
  return (schema.maxLength ?? 0) > maxLineLength ? 'TEXT' : 'STRING';
}

/** The members of an object with its `required` list applied. */
function requiredMembersOf(object: Field): Field[] {
  return membersOf(object).map((field) => ({
    ...field,
    requiredOnCreate: object.written?.required?.includes(field.name) === true,
  }));
}

function bound(limit: number | undefined): string | null {
  return limit === undefined ? null : String(limit);
}
