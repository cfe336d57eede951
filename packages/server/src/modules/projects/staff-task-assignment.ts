import { defineEntity } from '../../entity/entity.ts';
import { checkEmployed } from '../staff/index.ts';

/** The assignment of a staff member to a task. Ended ones are kept. */
export const staffTaskAssignment = defineEntity('StaffTaskAssignment', {
  table: 'staff_task_assignment',
  rules: {
    complete({ values, previous }, plan) {
      if (previous === undefined) checkEmployed(plan, values.staffId, '/staffId');
    },
    beforeRemoval({ values }, plan) {
      values.deactivatedAt = plan.now;
    },
  },
});
