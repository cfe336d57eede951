import type { Handler } from '../../entity/context.ts';
import { lockVersion } from '../../entity/lock-version.ts';
import { versionToMatch, writtenRow } from '../../query/entity-tag.ts';
import { staff } from './staff.ts';

/** Updates a staff member; omitted fields keep their values. */
export const updateStaff: Handler<'updateStaff'> = (context, { path, body }) =>
  context.write(async (unit) => {
    const version = await versionToMatch(unit, context, staff, path.staffId);
    await unit.plan((plan) => {
      lockVersion(plan, staff, path.staffId, version);
      plan.update(staff, path.staffId, body);
    });
    const { row, tag } = await writtenRow(unit, context, staff, path.staffId);
    return { status: 200, headers: { ETag: tag }, body: row };
  });
