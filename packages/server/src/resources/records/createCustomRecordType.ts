import type { Handler } from '../../context.ts';
import { create } from '../../entity/write.ts';
import { readFields } from './check-fields.ts';
import { customRecordType } from './custom-type.ts';
import { answerOf, customTypeNamed } from './custom-type-answer.ts';
import { checkTypeName } from './type-names.ts';

/** Defines a type of record. */
export const createCustomRecordType: Handler<'createCustomRecordType'> = (context, { body }) =>
  context.write(async (unit) => {
    const { name, fields: inputs, ...labels } = body;
    checkTypeName(name);
    const fields = await readFields(unit, name, inputs);
    await create(unit, customRecordType, labels, undefined, { name, fields });
    const row = await customTypeNamed(unit.transaction, unit.tenantId, name);
    return { status: 201, headers: { Location: `/api/v1/records/custom/${name}` }, body: answerOf(row) };
  });
