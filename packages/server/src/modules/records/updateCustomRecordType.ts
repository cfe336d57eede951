import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { sameValue } from '../../entity/values.ts';
import { entityTag, matchedVersion } from '../../query/entity-tag.ts';
import { readFields } from './check-fields.ts';
import type { CustomField } from './custom-field.ts';
import { type CustomTypeRow, customRecordType, customTypeForUpdate, customTypeNamed } from './custom-type.ts';
import { reportPatterns } from './pattern.ts';
import { breakingChanges } from './schema-change.ts';
import { dropUniqueValues } from './unique-values.ts';

/** Updates a custom type, reactivates it, or deactivates it. */
export const updateCustomRecordType: Handler<'updateCustomRecordType'> = (context, { path, body }) =>
  context.write(async (unit) => {
    const { name } = path;
    const row = await customTypeForUpdate(unit, name);
    matchedVersion(context, customRecordType, row);
    const { fields: inputs, active = row.active, ...labels } = body;
    const fields = inputs === undefined ? row.fields : await readFields(unit, name, inputs, row.fields);
    if (!sameValue(fields, row.fields)) await changeFields(unit, row, fields);

    await unit.plan((plan) => {
      plan.update(customRecordType, row.id, labels, { system: { fields, active: active || row.active } });
      if (!active && row.active) plan.remove(customRecordType, row.id);
    });
    const stored = await customTypeNamed(unit.transaction, unit.tenantId, name);
    return { status: 200, headers: { ETag: entityTag(stored) }, body: stored };
  });

/** @throws Rejection `CONFLICT` if stored records do not match the new fields. */
async function changeFields(unit: UnitOfWork, row: CustomTypeRow, fields: readonly CustomField[]): Promise<void> {
  const record = await unit.transaction.first(sql`
    select 1 from custom_record where tenant_id = ${unit.tenantId} and type = ${row.name} limit 1`);
  const errors =
    record === undefined
      ? []
      : breakingChanges(row.fields, fields, await reportPatterns(unit.tenantId, [...row.fields, ...fields]));
  if (errors.length > 0) {
    throw new Rejection(
      'CONFLICT',
      'The type has records, so its fields cannot be removed or restricted. Set active of the field to false instead.',
      { errors },
    );
  }
  const stillUnique = new Set(fields.filter((field) => field.unique && field.active).map((field) => field.name));
  const dropped = row.fields.filter((field) => field.unique && !stillUnique.has(field.name)).map((field) => field.name);
  await dropUniqueValues(unit, row.name, dropped);
}
