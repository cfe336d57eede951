import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import { checkEmployed } from '../staff/staff.ts';
import { job } from './job.ts';

/** That a staff member works on a job. One that ended stays; working on the job again is another assignment. */
export const staffJobAssignment = defineEntity('StaffJobAssignment', {
  table: 'staff_job_assignment',
  rules: {
    complete(change, plan) {
      if (change.previous === undefined) checkEmployed(plan, change.values.staffId, '/staffId');
      checkDateOrder(change, 'startDate', 'endDate');
    },
    beforeRemoval({ values }, plan) {
      values.deactivatedAt = plan.now;
    },
    constraints: {
      staff_job_assignment_role_unique: {
        code: 'DUPLICATE_REF',
        field: 'role',
        detail: 'The staff member already has this role on the job.',
      },
    },
  },
});

/**
 * Puts a person who works on a task on its job, with the role OTHER. Nobody removes the person meanwhile.
 *
 * @returns the id of the new assignment, or undefined where the person is on the job already.
 */
export function assignToJobOfTask(plan: Plan, staffId: string, jobId: string): string | undefined {
  plan.getForShare(job, jobId);
  const isOnJob = plan.all(staffJobAssignment, 'jobId', jobId).some((one) => one.active && one.staffId === staffId);
  return isOnJob ? undefined : plan.create(staffJobAssignment, { staffId, jobId, role: 'OTHER' }).row.id;
}
