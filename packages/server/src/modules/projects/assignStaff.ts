import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { assignmentResults, entriesOf, type WrittenAssignment } from './assignments.ts';
import { job } from './job.ts';
import { assignToJobOfTask, staffJobAssignment } from './staff-job-assignment.ts';
import { staffTaskAssignment } from './staff-task-assignment.ts';
import { task } from './task.ts';

type Body = Input<'assignStaff'>['body'];
type JobEntry = NonNullable<Body['staffJobAssignments']>[number];
type TaskEntry = NonNullable<Body['staffTaskAssignments']>[number];

/** Assigns staff to jobs and tasks, all or none. Existing assignments are updated with the provided values. */
export const assignStaff: Handler<'assignStaff'> = (context, { body }) =>
  context.write(async (unit) => {
    const written = await unit.allOrNone(entriesOf(body), (plan, { list, index, entry }) =>
      plan.at(`/${list}/${index}`, () =>
        'jobId' in entry ? assignToJob(plan, entry, index) : assignToTask(plan, entry, index),
      ),
    );
    return { status: 200, body: { assigned: await assignmentResults(context, unit, written.flat()) } };
  });

function assignToJob(plan: Plan, entry: JobEntry, index: number): WrittenAssignment[] {
  const { jobId, staffId, role } = entry;
  const onJob = lockJob(plan, jobId, '/jobId');
  const existing = plan
    .all(staffJobAssignment, 'jobId', jobId)
    .find((one) => one.active && one.staffId === staffId && one.role === role);
  const updated = existing && plan.update(staffJobAssignment, existing.id, entry);
  if (updated?.status !== 'UNCHANGED') checkOpen(onJob, '/jobId');
  const { row } = updated ?? plan.create(staffJobAssignment, entry);
  return [{ list: 'staffJobAssignments', index, id: row.id }];
}

/**
 * Assigns a person to a task and to its job, and makes the person the assignee if the task has none. Task and job are
 * locked before their assignments are read, here and in `removeStaff`, so that this also holds for concurrent requests.
 */
function assignToTask(plan: Plan, entry: TaskEntry, index: number): WrittenAssignment[] {
  const { taskId, staffId } = entry;
  const onTask = plan.getForUpdate(task, taskId);
  if (onTask?.active !== true)
    throw new Rejection('REFERENCE_NOT_FOUND', 'No active task with this ID exists.', '/taskId');
  if (onTask.status === 'COMPLETED' || onTask.status === 'CANCELLED')
    throw new Rejection('INVALID_STATE', `The task is ${onTask.status}. Staff cannot be assigned to it.`, '/taskId');
  checkOpen(lockJob(plan, onTask.jobId, '/taskId'), '/taskId');
  const existing = plan.all(staffTaskAssignment, 'taskId', taskId).find((one) => one.active && one.staffId === staffId);
  const { row } =
    existing === undefined
      ? plan.create(staffTaskAssignment, entry)
      : plan.update(staffTaskAssignment, existing.id, entry);
  const onJobId = assignToJobOfTask(plan, staffId, onTask.jobId);
  if (onTask.assigneeId === null) plan.update(task, taskId, { assigneeId: staffId });
  const written: WrittenAssignment = { list: 'staffTaskAssignments', index, id: row.id };
  return onJobId === undefined ? [written] : [written, { list: 'staffJobAssignments', index: null, id: onJobId }];
}

function lockJob(plan: Plan, jobId: string, pointer: string): Row<'Job'> {
  const found = plan.getForShare(job, jobId);
  if (found?.active !== true) throw new Rejection('REFERENCE_NOT_FOUND', 'No active job with this ID exists.', pointer);
  return found;
}

function checkOpen({ status }: Row<'Job'>, pointer: string): void {
  if (status === 'CLOSED' || status === 'CANCELLED')
    throw new Rejection('INVALID_STATE', `The job is ${status}. Staff cannot be assigned to it.`, pointer);
}
