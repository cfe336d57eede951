import { sql } from 'kysely';
import type { Handler } from '../../context.ts';
import { sameValue, type UnitOfWork } from '../../entity/unit-of-work.ts';
import { remove, update } from '../../entity/write.ts';
import { checkVersion } from '../../http/headers.ts';
import { Problem } from '../../http/problem.ts';
import { etag } from '../../query/handlers.ts';
import { readFields } from './check-fields.ts';
import type { CustomField } from './custom-field.ts';
import { type CustomTypeRow, customRecordType } from './custom-type.ts';
import { answerOf, customTypeForUpdate, customTypeNamed } from './custom-type-answer.ts';
import { breakingChanges } from './schema-change.ts';
import { dropUniqueValues } from './unique-values.ts';

/** Changes a custom type, takes it into use again, or deactivates it. */
export const updateCustomRecordType: Handler<'updateCustomRecordType'> = (context, { path, body }) =>
  context.write(async (unit) => {
    const { name } = path;
    const row = await customTypeForUpdate(unit, name);
    checkVersion(context.ifMatch, row.version);
    const { fields: inputs, active = row.active, ...labels } = body;
    const fields = inputs === undefined ? row.fields : await readFields(unit, name, inputs, row.fields);
    if (!sameValue(fields, row.fields)) await changeFields(unit, row, fields);

    await update(unit, customRecordType, row, labels, { fields, active: active || row.active });
    if (!active && row.active) await remove(unit, customRecordType, row);
    const stored = await customTypeNamed(unit.transaction, unit.tenantId, name);
    return { status: 200, headers: { ETag: etag(stored.version) }, body: answerOf(stored) };
  });

/** @throws Problem `CONFLICT` where records are stored that the new fields do not fit. */
async function changeFields(unit: UnitOfWork, row: CustomTypeRow, fields: readonly CustomField[]): Promise<void> {
  const record = await unit.transaction.first(sql`
    select 1 from custom_record where tenant_id = ${unit.tenantId} and type = ${row.name} limit 1`);
  const errors = record === undefined ? [] : breakingChanges(row.fields, fields);
  if (errors.length > 0) {
    throw new Problem(
      'CONFLICT',
      'The type has records, so a field can be neither left out nor narrowed. Set its active to false instead.',
      { errors },
    );
  }
  const stillUnique = new Set(fields.filter((field) => field.unique && field.active).map((field) => field.name));
  const dropped = row.fields.filter((field) => field.unique && !stillUnique.has(field.name)).map((field) => field.name);
  await dropUniqueValues(unit, row.name, dropped);
}
