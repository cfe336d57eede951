import type { Handler } from '../../entity/context.ts';
import { entityTag, matchedVersion } from '../../query/entity-tag.ts';
import { customRecordType, customTypeForUpdate, customTypeNamed } from './custom-type.ts';

/** Deactivates a custom type; its records are kept. */
export const deactivateCustomRecordType: Handler<'deactivateCustomRecordType'> = (context, { path }) =>
  context.write(async (unit) => {
    const row = await customTypeForUpdate(unit, path.name);
    matchedVersion(context, customRecordType, row);
    if (row.active) await unit.plan((plan) => plan.remove(customRecordType, row.id));
    const stored = await customTypeNamed(unit.transaction, unit.tenantId, path.name);
    return { status: 200, headers: { ETag: entityTag(stored) }, body: stored };
  });
