import { visibleTo, visibleToWriter } from '../../entity/field-access.ts';
import { entityTag } from '../../query/entity-tag.ts';
import type { Handler } from '../../service/context.ts';
import { staff } from './staff.ts';

/** Creates a staff member, with rates if they are provided. */
export const createStaff: Handler<'createStaff'> = (context, { body }) =>
  context.write(async (unit) => {
    const { systemRef, ...fields } = body;
    const { row } = await unit.plan((plan) => plan.create(staff, fields, { systemRef }));
    const { holds } = context;
    const stored = await unit.storedRow(staff, row.id);
    const headers = { Location: `/gql/v1/staff/${row.id}`, ETag: entityTag(visibleTo(holds, staff, stored)) };
    return { status: 201, headers, body: visibleToWriter(holds, staff, stored) };
  });
