import { sql } from 'kysely';
import type { AnyEntity } from '../../entity/entity.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { customTypeNames, findCustomTypes, recordTypeOf } from './custom-type.ts';

/** A record of a tenant's type, and its fields that refer to a row. */
export interface CustomReference {
  readonly entity: AnyEntity;
  readonly id: string;
  readonly names: readonly string[];
}

/** Finds the records of all custom types that refer to a row. The fields of these types cannot change until the transaction ends. */
export async function customReferences(
  { transaction, tenantId }: UnitOfWork,
  to: string,
  rowId: string,
): Promise<readonly CustomReference[]> {
  const types = await findCustomTypes(
    transaction,
    tenantId,
    await customTypeNames(transaction, tenantId, true),
    'share',
  );
  const found: CustomReference[] = [];
  for (const type of types) {
    const names = type.fields.flatMap((field) => (field.referencedEntityType === to ? [field.name] : []));
    if (names.length === 0) continue;
    const rows = await transaction.all<{ id: string; attributes: Readonly<Record<string, unknown>> }>(sql`
      select id, attributes from custom_record where tenant_id = ${tenantId} and type = ${type.name}
        and (${sql.join(
          names.map((name) => sql`attributes ->> ${name} = ${rowId}`),
          sql` or `,
        )}) order by id`);
    const { entity } = recordTypeOf(tenantId, type);
    for (const { id, attributes } of rows)
      found.push({ entity, id, names: names.filter((name) => attributes[name] === rowId) });
  }
  return found;
}
