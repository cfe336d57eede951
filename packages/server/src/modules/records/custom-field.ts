import type { components } from '@financial-automation/spec';
import type { FieldDefinition } from '../bulk/index.ts';
import { referenceKeysOf } from '../bulk/index.ts';
import { isStandardType } from './standard-types.ts';

/** A field of a custom type, as a caller sends it. */
export type CustomFieldInput = components['schemas']['CustomFieldInput'];

/** A field of a custom type as it is stored and returned, with all properties. */
export type CustomField = components['schemas']['CustomField'];

/** Fills in omitted properties of the field, as the contract's `x-on-create` specifies. */
export function completeField(input: CustomFieldInput): CustomField {
  const { name = '', type = 'STRING', required = false } = input;
  return {
    name,
    displayName: input.displayName ?? null,
    description: input.description ?? null,
    type,
    required,
    nullable: input.nullable ?? !required,
    unique: input.unique ?? false,
    readOnly: false,
    defaultValue: input.defaultValue ?? null,
    minLength: input.minLength ?? null,
    maxLength: input.maxLength ?? null,
    pattern: input.pattern ?? null,
    minimum: input.minimum ?? null,
    maximum: input.maximum ?? null,
    scale: input.scale ?? (type === 'DECIMAL' ? 2 : null),
    enumValues: input.enumValues ?? [],
    referencedEntityType: input.referencedEntityType ?? null,
    referenceKeys: referenceKeysFor(input),
    rank: input.rank ?? null,
    active: input.active ?? true,
  };
}

function referenceKeysFor({ type, referencedEntityType, referenceKeys = [] }: CustomFieldInput) {
  if (referenceKeys.length > 0 || type !== 'REFERENCE' || typeof referencedEntityType !== 'string')
    return referenceKeys;
  return keysOfType(referencedEntityType);
}

/** The keys by which rows of a type can be referenced; records of custom types have no `pmsRef`. */
export function keysOfType(type: string): FieldDefinition['referenceKeys'] {
  return referenceKeysOf(isStandardType(type) ? type : 'CustomRecordRow');
}

/** Converts a field of a custom type to a field definition of the record schema. */
export function definitionOfCustomField(field: CustomField): FieldDefinition {
  return {
    ...field,
    enumValues: [...field.enumValues],
    referenceKeys: [...field.referenceKeys],
    isArray: false,
    fields: [],
  };
}
