import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { defineEntity, type Entity } from '../../entity/entity.ts';
import { type Row, selection } from '../../query/read.ts';
import type { Session } from '../../store/store.ts';
import { type CustomField, definitionOfCustomField } from './custom-field.ts';
import { customRecordEntity } from './custom-record.ts';
import { type FieldDefinition, type RecordType, schemaUrlOf } from './record-type.ts';

const recordsUrl = '/api/v1/records/batch/';
const taken = {
  code: 'DUPLICATE_REF',
  field: 'name',
  detail: 'Your tenant has a custom record type of this name already. Names stay taken after deactivation.',
} as const;

/** A type of record that a tenant has defined. */
export const customRecordType: Entity = defineEntity({
  type: 'CustomRecordType',
  table: 'custom_record_type',
  computed: {
    isCustom: () => sql`true`,
    schemaUrl: (row) => sql`${sql.lit(schemaUrlOf(''))} || ${sql.ref(`${row}.name`)}`,
    recordsUrl: (row) => sql`${sql.lit(recordsUrl)} || ${sql.ref(`${row}.name`)}`,
  },
  rules: { constraints: { custom_record_type_name_unique: taken, custom_record_type_name_exact_unique: taken } },
});

/** A row of it. */
export interface CustomTypeRow extends Row {
  readonly name: string;
  readonly displayName: string | null;
  readonly description: string | null;
  readonly active: boolean;
  readonly fields: readonly CustomField[];
}

/** More types than a list can hold. */
const mostTypes = 9_900;

/** The custom types of a tenant, by name. */
export function listCustomTypes(
  session: Session,
  tenantId: number,
  includeInactive: boolean,
): Promise<CustomTypeRow[]> {
  const active = includeInactive ? sql`` : sql`and e.active`;
  return session.all<CustomTypeRow>(
    sql`${selection(customRecordType)} where ${customRecordType.within('e', tenantId)} ${active}
      order by e.name limit ${mostTypes}`,
  );
}

/**
 * The custom types with these names, also inactive ones.
 *
 * @param lock keeps them as they are until the transaction ends: `share` lets other calls write records meanwhile.
 */
export function findCustomTypes(
  session: Session,
  tenantId: number,
  names: readonly string[],
  lock?: 'share' | 'update',
): Promise<CustomTypeRow[]> {
  const locking = lock === undefined ? sql`` : lock === 'share' ? sql`for share of e` : sql`for update of e`;
  return session.all<CustomTypeRow>(
    sql`${selection(customRecordType)} where ${customRecordType.within('e', tenantId)} and e.name = any(${names})
      order by e.name ${locking}`,
  );
}

/** Entities of types, by tenant, type and version; the checks of their fields are compiled once. */
const entities = new LRUCache<string, Entity>({ max: 500 });

/** A custom type as a type of record. The row must be one that is committed. */
export function recordTypeOf(tenantId: number, row: CustomTypeRow): RecordType {
  const { id, version, name, fields } = row;
  const key = `${tenantId}/${id}/${version}`;
  let entity = entities.get(key);
  if (entity === undefined) {
    entity = customRecordEntity(name, fields);
    entities.set(key, entity);
  }
  return {
    name,
    displayName: row.displayName ?? name,
    description: row.description,
    isCustom: true,
    active: row.active,
    operations: ['UPSERT', 'UPDATE', 'DELETE'],
    readRoles: [],
    writeRoles: [],
    recordsUrl: `${recordsUrl}${name}`,
    entity,
    fields: () => byRank(fields),
    attributesOf: ({ attributes }) => {
      const stored = new Map(Object.entries(attributes ?? {}));
      return Object.fromEntries(fields.map((field) => [field.name, stored.get(field.name) ?? null]));
    },
  };
}

/** Those without a rank come last, in the order in which they were given. */
function byRank(fields: readonly CustomField[]): FieldDefinition[] {
  return fields
    .toSorted((left, right) => (left.rank ?? Infinity) - (right.rank ?? Infinity) || 0)
    .map(definitionOfCustomField);
}
