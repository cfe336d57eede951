import { fieldsOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { checkEmployed, staff } from '../staff/index.ts';
import { isFinished, job } from './job.ts';

/** The assignment of a staff member to a job. Ended ones are kept; another assignment starts a new one. */
export const staffJobAssignment = defineEntity('StaffJobAssignment', {
  table: 'staff_job_assignment',
  rules: {
    complete(change, plan) {
      if (change.previous === undefined) {
        checkEmployed(plan, change.values.staffId, '/staffId');
        keepRate(change, plan);
      }
      checkDateOrder(change, 'startDate', 'endDate');
      if (isAdded(change)) checkRoom(change, plan);
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

addRules(staff, {
  beforeRemoval({ id }, plan) {
    const assignments = plan.all(staffJobAssignment, 'staffId', id).filter((one) => one.active);
    if (plan.each(assignments, ({ jobId }) => plan.get(job, jobId)).every(isFinished)) return;
    throw new Rejection('INVALID_STATE', 'The staff member is assigned to open jobs. Remove these assignments first.');
  },
});

const rate = fieldsOf('StaffJobAssignment').find(({ name }) => name === 'billingRateOverride');

/** Whoever cannot write the rate of a person on the job cannot drop it either, by another assignment in place of the last one. */
function keepRate({ values, input }: PendingChange<'StaffJobAssignment'>, plan: Plan): void {
  const roles = rate?.writeRoles ?? [];
  if (plan.holds(roles)) return;
  const last = plan
    .all(staffJobAssignment, 'jobId', values.jobId)
    .findLast(({ id, staffId }) => id !== values.id && staffId === values.staffId);
  if (last === undefined || last.billingRateOverride === null) return;
  if (input.billingRateOverride === null) plan.requires(roles, 'Writing billingRateOverride', '/billingRateOverride');
  values.billingRateOverride = last.billingRateOverride;
}

function isAdded({ values, previous }: PendingChange<'StaffJobAssignment'>): boolean {
  return values.active && (previous?.active !== true || values.jobId !== previous.jobId);
}

/** Projects list all active assignments. The job is locked, so that none is added concurrently. */
function checkRoom({ values }: PendingChange<'StaffJobAssignment'>, plan: Plan): void {
  plan.getForUpdate(job, values.jobId);
  const others = plan
    .all(staffJobAssignment, 'jobId', values.jobId)
    .filter(({ id, active }) => active && id !== values.id);
  const most = fieldsOf('Project').find(({ name }) => name === 'staffAssignments')?.schema.maxItems;
  if (most !== undefined && others.length >= most)
    throw invalidField('jobId', `The job must have at most ${most} active assignments. Remove one first.`);
}

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
