import { defineEntity } from '../../entity/entity.ts';

/** A kind of staff, such as partner or senior, with default rates. */
export const staffType = defineEntity('StaffType', { table: 'staff_type' });
