import { defineEntity } from '../../entity/entity.ts';

/** A kind of staff, such as partner or senior, with the rates of people who have none of their own. */
export const staffType = defineEntity('StaffType', { table: 'staff_type' });
