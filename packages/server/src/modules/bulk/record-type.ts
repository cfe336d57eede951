import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';
import type { AnyEntity } from '../../entity/entity.ts';
import type { AnyStoredRow } from '../../entity/row.ts';

export type FieldDefinition = components['schemas']['FieldDefinition'];
export type RecordOperation = components['schemas']['RecordOperation'];

/** A record, code or entry type, of the service or of a tenant. */
export interface RecordType {
  readonly name: string;
  readonly displayName: string;
  readonly description: string | null;
  readonly isCustom: boolean;
  readonly active: boolean;
  readonly operations: readonly RecordOperation[];
  /**
   * Roles that can read or write its rows, in addition to those of the operation. Empty if no further role is required.
   */
  readonly readRoles: readonly string[];
  readonly writeRoles: readonly string[];
  /** Whether only imports create or update its rows. */
  readonly importsOnly?: true | undefined;
  readonly schemaUrl: string;
  readonly recordsUrl: string | null;
  readonly entity: AnyEntity;
  fields(): FieldDefinition[];
  /** The `attributes` of a row. */
  attributesOf(row: AnyStoredRow): Record<string, unknown>;
}

/** The fields that every row has; in a record they are next to `attributes`. */
export const baseFields: ReadonlySet<string> = new Set(
  Object.keys(propertiesOf(schemaOf('CustomRecordRow'))).filter((name) => name !== 'type' && name !== 'attributes'),
);

/** A type as lists return it. */
export function summaryOf(type: RecordType): components['schemas']['RecordType'] {
  const { name, displayName, description, isCustom, active, operations, schemaUrl, recordsUrl } = type;
  return { name, displayName, description, isCustom, active, operations: [...operations], schemaUrl, recordsUrl };
}

/** A type with the definitions of its fields. */
export function recordSchemaOf(type: RecordType): components['schemas']['RecordSchema'] {
  return { ...summaryOf(type), fields: type.fields() };
}
