import type { Handler } from '../../entity/context.ts';
import { visibleToWriter } from '../../entity/field-access.ts';
import { staffType } from './staff-type.ts';

/** Creates staff types, all or none. */
export const createStaffTypes: Handler<'createStaffTypes'> = (context, { body }) =>
  context.write(async (unit) => {
    const created = await unit.allOrNone(body.items, (plan, { systemRef, ...fields }, index) =>
      plan.at(`/items/${index}`, () => plan.create(staffType, fields, { systemRef }).row.id),
    );
    const stored = await unit.storedRows(staffType, created);
    const items = stored.map((row, index) => ({ index, ...visibleToWriter(context.holds, staffType, row) }));
    return { status: 200, body: { items } };
  });
