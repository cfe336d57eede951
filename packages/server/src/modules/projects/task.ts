import { Rejection } from '../../contract/rejection.ts';
import { command } from '../../entity/command.ts';
import { embedOne } from '../../entity/embed.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { checkNothingUnfinished, unapprovedEntries, unfinishedRows } from '../../entity/unfinished-rows.ts';
import { checkEmployed } from '../staff/index.ts';
import { isFinished, job } from './job.ts';
import { isOpenTask } from './open-task.ts';
import { assignToJobOfTask } from './staff-job-assignment.ts';
import { staffTaskAssignment } from './staff-task-assignment.ts';
import { taskType } from './task-type.ts';

/** Expenses have no task. */
const unfinishedOfTask = unfinishedRows(
  'Task',
  unapprovedEntries('task_id').filter(({ table }) => table === 'time_entry'),
);

/** A piece of work on a job. */
export const task = defineEntity('Task', {
  table: 'task',
  sumsUp: ['time_entry'],
  relations: {
    job: one('Job', 'jobId'),
    taskType: one('TaskType', 'taskTypeId'),
    assignee: one('Staff', 'assigneeId'),
  },
  embeds: {
    job: embedOne('Job', 'jobId', { onChange: 'label' }),
    taskType: embedOne('TaskType', 'taskTypeId', { onChange: 'label' }),
    assignee: embedOne('Staff', 'assigneeId', { onChange: 'label' }),
  },
  rules: {
    complete,
    beforeRemoval({ id }, plan) {
      checkNothingUnfinished(plan, unfinishedOfTask, id, 'task');
      const assigned = plan.all(staffTaskAssignment, 'taskId', id).filter(({ active }) => active);
      plan.each(assigned, (one) => plan.remove(staffTaskAssignment, one.id));
    },
    afterWrite(change, plan) {
      assignAssignee(change, plan);
      reviewCompletedJob(change, plan);
    },
  },
});

addRules(job, {
  conditions: {
    noOpenTasks({ id }, plan) {
      if (plan.all(task, 'jobId', id).some(isOpenTask))
        throw new Rejection('INVALID_STATE', 'The job has open tasks. Complete or cancel them first.', '/status');
    },
  },
});

function complete({ values, previous }: PendingChange<'Task'>, plan: Plan): void {
  if (isOpenTask(values) && (previous === undefined || !isOpenTask(previous))) checkJobAcceptsTasks(plan, values.jobId);
  values.isBillable ??= plan.get(taskType, values.taskTypeId)?.isBillable ?? false;
  if (values.assigneeId !== null && values.assigneeId !== previous?.assigneeId)
    checkEmployed(plan, values.assigneeId, '/assigneeId');
  if (values.status !== previous?.status) values.completedAt = values.status === 'COMPLETED' ? plan.now : null;
}

/** Locks the job, so that it is not closed while it gets an open task. */
function checkJobAcceptsTasks(plan: Plan, jobId: string): void {
  const found = plan.getForShare(job, jobId);
  if (found === undefined || !isFinished(found)) return;
  const state = found.active ? found.status : 'inactive';
  throw new Rejection('INVALID_STATE', `The job is ${state} and cannot have open tasks.`, '/jobId');
}

/** Assigns the assignee to the task, and therefore to its job. */
function assignAssignee({ id, values, previous }: PendingChange<'Task'>, plan: Plan): void {
  const { active, assigneeId, jobId } = values;
  const isAsBefore = previous?.active === true && previous.assigneeId === assigneeId;
  if (!active || assigneeId === null || isAsBefore) return;
  const assigned = plan.all(staffTaskAssignment, 'taskId', id);
  if (!assigned.some((one) => one.active && one.staffId === assigneeId))
    plan.create(staffTaskAssignment, { taskId: id, staffId: assigneeId });
  assignToJobOfTask(plan, assigneeId, jobId);
}

/** Moves a job in progress to review when its last open task is completed, cancelled or deleted, if the tenant enables this. */
function reviewCompletedJob({ values, previous }: PendingChange<'Task'>, plan: Plan): void {
  const isOver = !isOpenTask(values) && (previous === undefined || isOpenTask(previous));
  if (plan.tenant.settings.reviewCompletedJobs && isOver) reviewJob(plan, values.jobId);
}

const reviewJob = command('tasksCompleted', (plan, jobId: string) => {
  // Locked before the tasks are read: of two tasks that are completed concurrently, one is the last.
  if (plan.getForUpdate(job, jobId)?.status !== 'IN_PROGRESS') return;
  const tasks = plan.all(task, 'jobId', jobId);
  if (tasks.some(isOpenTask) || !tasks.some((one) => one.active && one.status === 'COMPLETED')) return;
  plan.set(job, jobId, { status: 'IN_REVIEW' });
});
