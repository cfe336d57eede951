import type { Handler } from '../../context.ts';
import { remove } from '../../entity/write.ts';
import { customRecordType } from './custom-type.ts';
import { answerOf, customTypeForUpdate, customTypeNamed } from './custom-type-answer.ts';

/** Takes a custom type out of use; its records are kept. */
export const deactivateCustomRecordType: Handler<'deactivateCustomRecordType'> = (context, { path }) =>
  context.write(async (unit) => {
    const row = await customTypeForUpdate(unit, path.name);
    if (row.active) await remove(unit, customRecordType, row);
    return { status: 200, body: answerOf(await customTypeNamed(unit.transaction, unit.tenantId, path.name)) };
  });
