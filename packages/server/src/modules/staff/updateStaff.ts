import { visibleToWriter } from '../../entity/field-access.ts';
import { lockVersion } from '../../entity/lock-version.ts';
import { entityTag } from '../../query/entity-tag.ts';
import type { Handler } from '../../service/context.ts';
import { staff } from './staff.ts';

/** Updates a staff member; omitted fields keep their values. */
export const updateStaff: Handler<'updateStaff'> = (context, { path, body }) =>
  context.write(async (unit) => {
    await unit.plan((plan) => {
      lockVersion(plan, staff, path.staffId, context.ifMatch);
      plan.update(staff, path.staffId, body);
    });
    const updated = visibleToWriter(context.holds, staff, await unit.storedRow(staff, path.staffId));
    return { status: 200, headers: { ETag: entityTag(updated) }, body: updated };
  });
