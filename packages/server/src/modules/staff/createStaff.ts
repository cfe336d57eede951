import type { Handler } from '../../entity/context.ts';
import { writtenRow } from '../../query/entity-tag.ts';
import { staff } from './staff.ts';

/** Creates a staff member, with rates if they are provided. */
export const createStaff: Handler<'createStaff'> = (context, { body }) =>
  context.write(async (unit) => {
    const { systemRef, ...fields } = body;
    const { row } = await unit.plan((plan) => plan.create(staff, fields, { systemRef }));
    const written = await writtenRow(unit, context, staff, row.id);
    return { status: 201, headers: { Location: `/gql/v1/staff/${row.id}`, ETag: written.tag }, body: written.row };
  });
