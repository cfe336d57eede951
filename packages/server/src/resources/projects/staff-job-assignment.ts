import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import { checkEmployed } from '../staff/staff.ts';
import { job } from './job.ts';

/** The assignment of a staff member to a job. Ended ones are kept; another assignment starts a new one. */
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
 * Assigns a person on a task to its job, with the role OTHER. The job is locked, so that the person is not removed
 * concurrently.
 *
 * @returns the ID of the new assignment, or undefined if the person is already on the job.
 */
export function assignToJobOfTask(plan: Plan, staffId: string, jobId: string): string | undefined {
  plan.getForShare(job, jobId);
  const isOnJob = plan.all(staffJobAssignment, 'jobId', jobId).some((one) => one.active && one.staffId === staffId);
  return isOnJob ? undefined : plan.create(staffJobAssignment, { staffId, jobId, role: 'OTHER' }).row.id;
}
