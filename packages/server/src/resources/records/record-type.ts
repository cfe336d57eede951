import type { components } from '@financial-automation/spec';
import { hasRole } from '../../auth/roles.ts';
import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';
import type { Entity } from '../../entity/entity.ts';
import type { Row } from '../../query/read.ts';

export type FieldDefinition = components['schemas']['FieldDefinition'];
export type RecordOperation = components['schemas']['RecordOperation'];

/** A type of record, of the service or of a tenant: what is known of it, and where its rows are. */
export interface RecordType {
  readonly name: string;
  readonly displayName: string;
  readonly description: string | null;
  readonly isCustom: boolean;
  readonly active: boolean;
  readonly operations: readonly RecordOperation[];
  /** The roles of which a caller needs one to read or write its rows, besides that of the call; empty where it needs none. */
  readonly readRoles: readonly string[];
  readonly writeRoles: readonly string[];
  readonly recordsUrl: string | null;
  readonly entity: Entity;
  fields(): FieldDefinition[];
  /** What `attributes` of a row says. */
  attributesOf(row: Row): Record<string, unknown>;
}

/** The fields that every row has; in a record they stand beside `attributes`. */
export const baseFields: ReadonlySet<string> = new Set(Object.keys(propertiesOf(schemaOf('EntityBase'))));

/** Whether a caller with these roles may, beyond the role of the call. */
export function isAdmitted(held: ReadonlySet<string>, needed: readonly string[]): boolean {
  return needed.length === 0 || hasRole(held, needed);
}

export function schemaUrlOf(name: string): string {
  return `/api/v1/records/schema/${name}`;
}

/** What lists say of a type. */
export function headOf(type: RecordType): components['schemas']['RecordType'] {
  const { name, displayName, description, isCustom, active, operations, recordsUrl } = type;
  const schemaUrl = schemaUrlOf(name);
  return { name, displayName, description, isCustom, active, operations: [...operations], schemaUrl, recordsUrl };
}
