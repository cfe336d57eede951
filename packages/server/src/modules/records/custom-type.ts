import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { Rejection } from '../../contract/rejection.ts';
import { type AnyEntity, defineEntity } from '../../entity/entity.ts';
import type { StoredRow } from '../../entity/row.ts';
import { readRows, selection } from '../../entity/select.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { Session } from '../../platform/store/store.ts';
import type { FieldDefinition, RecordType, summaryOf } from '../bulk/index.ts';
import { type CustomField, definitionOfCustomField } from './custom-field.ts';
import { customRecordEntity } from './custom-record.ts';

const schemaUrl = '/api/v1/records/schema/';
const recordsUrl = '/api/v1/records/batch/';
const taken = {
  code: 'DUPLICATE_REF',
  field: 'name',
  detail: 'Your tenant already has a custom record type with this name. Names cannot be reused after deactivation.',
} as const;

/** A record type defined by a tenant. */
export const customRecordType = defineEntity('CustomRecordType', {
  table: 'custom_record_type',
  computed: {
    isCustom: () => sql`true`,
    schemaUrl: (row) => sql`${sql.lit(schemaUrl)} || ${sql.ref(`${row}.name`)}`,
    recordsUrl: (row) => sql`${sql.lit(recordsUrl)} || ${sql.ref(`${row}.name`)}`,
  },
  rules: { constraints: { custom_record_type_name_unique: taken, custom_record_type_name_exact_unique: taken } },
});

export type CustomTypeRow = StoredRow<'CustomRecordType'>;

/** Returns the names of the custom types of a tenant, in order. */
export async function customTypeNames(
  session: Session,
  tenantId: number,
  includeInactive: boolean,
): Promise<readonly string[]> {
  const active = includeInactive ? sql`` : sql`and active`;
  const rows = await session.all<{ name: string }>(
    sql`select name from custom_record_type where tenant_id = ${tenantId} ${active} order by name`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns the custom types with these names, active or not.
 *
 * @param lock prevents changes until the transaction ends: `share` allows other requests to write records.
 */
export function findCustomTypes(
  session: Session,
  tenantId: number,
  names: readonly string[],
  lock?: 'share' | 'update',
): Promise<CustomTypeRow[]> {
  const locking = lock === undefined ? sql`` : lock === 'share' ? sql`for share of e` : sql`for update of e`;
  return readRows<CustomTypeRow>(
    session,
    sql`${selection(customRecordType)} where ${customRecordType.within('e', tenantId)} and e.name = any(${names})
      order by e.name ${locking}`,
  );
}

/** Returns the custom type with the name, active or not. @throws Rejection `NOT_FOUND`. */
export async function customTypeNamed(session: Session, tenantId: number, name: string): Promise<CustomTypeRow> {
  return found(name, await findCustomTypes(session, tenantId, [name]));
}

/** The same, locked: no request can write records of the type until the transaction ends. */
export async function customTypeForUpdate(unit: UnitOfWork, name: string): Promise<CustomTypeRow> {
  return found(name, await findCustomTypes(unit.transaction, unit.tenantId, [name], 'update'));
}

function found(name: string, [row]: readonly CustomTypeRow[]): CustomTypeRow {
  if (row === undefined) throw new Rejection('NOT_FOUND', `Your tenant has no custom record type ${name}.`);
  return row;
}

/** Entities by tenant, type and version, cached with the statements that are created for them. */
const entities = new LRUCache<string, AnyEntity>({ max: 500 });

/** Converts a custom type to a record type. The row must be committed. */
export function recordTypeOf(tenantId: number, row: CustomTypeRow): RecordType {
  const { id, version, name, fields } = row;
  const key = `${tenantId}/${id}/${version}`;
  let entity = entities.get(key);
  if (entity === undefined) {
    entity = customRecordEntity(name, fields);
    entities.set(key, entity);
  }
  return {
    ...customTypeSummary(row),
    readRoles: [],
    writeRoles: [],
    entity,
    fields: () => byRank(fields),
    attributesOf: ({ attributes }) => {
      const stored = new Map(Object.entries(attributes ?? {}));
      return Object.fromEntries(fields.map((field) => [field.name, stored.get(field.name) ?? null]));
    },
  };
}

/** Describes a custom type without its fields. */
export function customTypeSummary({
  name,
  displayName,
  description,
  active,
}: Pick<CustomTypeRow, 'displayName' | 'description' | 'active'> & { readonly name: string }): ReturnType<
  typeof summaryOf
> {
  return {
    name,
    displayName: displayName ?? name,
    description,
    isCustom: true,
    active,
    operations: ['UPSERT', 'UPDATE', 'DELETE'],
    schemaUrl: `${schemaUrl}${name}`,
    recordsUrl: `${recordsUrl}${name}`,
  };
}

/** Fields without a rank come last, in the order in which they were sent. */
function byRank(fields: readonly CustomField[]): FieldDefinition[] {
  return fields
    .toSorted((left, right) => (left.rank ?? Infinity) - (right.rank ?? Infinity) || 0)
    .map(definitionOfCustomField);
}
