import { sql } from 'kysely';
import type { Handler } from '../../entity/context.ts';
import { checkTenantLimit } from '../../entity/tenant-limit.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { readFields } from './check-fields.ts';
import { customRecordType, customTypeNamed } from './custom-type.ts';
import { checkTypeName } from './type-names.ts';

/** Defines a custom record type. */
export const createCustomRecordType: Handler<'createCustomRecordType'> = (context, { body }) =>
  context.write(async (unit) => {
    const { name, fields: inputs, ...labels } = body;
    checkTypeName(name);
    const types = sql`select from custom_record_type where tenant_id = ${unit.tenantId}`;
    await checkTenantLimit(unit, 'customRecordTypes', 'custom record types', types);
    const fields = await readFields(unit, name, inputs);
    await unit.plan((plan) => plan.create(customRecordType, labels, { system: { name, fields } }));
    const row = await customTypeNamed(unit.transaction, unit.tenantId, name);
    return { status: 201, headers: { Location: `/api/v1/records/custom/${name}`, ETag: entityTag(row) }, body: row };
  });
