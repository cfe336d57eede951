import { byId, pageOf, searchOf } from '../../query/handlers.ts';
import { createStaff } from './createStaff.ts';
import { createStaffTypes } from './createStaffTypes.ts';
import { staff } from './staff.ts';
import { staffType } from './staff-type.ts';
import { updateStaff } from './updateStaff.ts';

export const staffHandlers = {
  listStaff: pageOf(staff),
  searchStaff: searchOf(staff),
  getStaff: byId(staff),
  createStaff,
  updateStaff,
  createStaffTypes,
  lookupStaffTypes: pageOf(staffType),
};
export { ratesOn } from './rates.ts';
export { checkEmployed, isEmployed, staff } from './staff.ts';
export { staffType } from './staff-type.ts';
