import type { components } from '@financial-automation/spec';
import type { Input } from '../../contract/handler.ts';
import type { Handler } from '../../entity/context.ts';
import type { Plan } from '../../entity/plan.ts';
import { isEmployed, staff } from '../staff/index.ts';
import { assignmentResults, entriesOf, type WrittenAssignment } from './assignments.ts';
import { job } from './job.ts';
import { staffJobAssignment } from './staff-job-assignment.ts';
import { staffTaskAssignment } from './staff-task-assignment.ts';
import { task } from './task.ts';

type Body = Input<'removeStaff'>['body'];
type JobEntry = NonNullable<Body['staffJobAssignments']>[number];
type TaskEntry = NonNullable<Body['staffTaskAssignments']>[number];
type Unmatched = components['schemas']['UnmatchedAssignment'];

/** Ends the assignments that the entries match. */
export const removeStaff: Handler<'removeStaff'> = (context, { body }) =>
  context.write(async (unit) => {
    // Tasks first: leaving a job ends the assignments to its tasks, and the entries for these would not find them.
    const isOfJob = ({ list }: { readonly list: string }) => (list === 'staffJobAssignments' ? 1 : 0);
    const entries = entriesOf(body).toSorted((left, right) => isOfJob(left) - isOfJob(right));
    const ended = await unit.allOrNone(entries, (plan, { list, index, entry }) =>
      plan.at(`/${list}/${index}`, () =>
        'jobId' in entry ? removeFromJob(plan, entry, index) : removeFromTask(plan, entry, index),
      ),
    );
    const notFound = entries.flatMap(({ list, index, entry }, position): Unmatched[] => {
      if (ended[position]?.length !== 0) return [];
      const { staffId } = entry;
      const { jobId = null, taskId = null, role = null } = { ...entry } as Partial<JobEntry & TaskEntry>;
      return [{ list, index, staffId, jobId, taskId, role }];
    });
    return { status: 200, body: { removed: await assignmentResults(context, unit, ended.flat()), notFound } };
  });

/** Without a role, all roles of the person on the job end. People who leave the job also leave its tasks. */
function removeFromJob(plan: Plan, { staffId, jobId, role }: JobEntry, index: number): WrittenAssignment[] {
  const tasks = plan.allForUpdate(task, 'jobId', jobId);
  plan.getForUpdate(job, jobId);
  const ofPerson = plan.all(staffJobAssignment, 'jobId', jobId).filter((one) => one.active && one.staffId === staffId);
  const ended = ofPerson.filter((one) => role === undefined || one.role === role);
  for (const { id } of ended) plan.remove(staffJobAssignment, id);
  const written = ended.map(({ id }): WrittenAssignment => ({ list: 'staffJobAssignments', index, id }));
  if (ended.length === 0 || ended.length < ofPerson.length) return written;
  return [...written, ...plan.each(tasks, ({ id }) => removeFromTask(plan, { staffId, taskId: id }, null)).flat()];
}

/** Passes a task without its assignee to the next assigned person, if any. */
function removeFromTask(plan: Plan, { staffId, taskId }: TaskEntry, index: number | null): WrittenAssignment[] {
  const onTask = plan.getForUpdate(task, taskId);
  const active = plan.all(staffTaskAssignment, 'taskId', taskId).filter((one) => one.active);
  const ended = active.find((one) => one.staffId === staffId);
  if (ended === undefined) return [];
  plan.remove(staffTaskAssignment, ended.id);
  if (onTask?.assigneeId === staffId) {
    const others = active.filter(({ id }) => id !== ended.id);
    const people = plan.each(others, (one) => plan.get(staff, one.staffId));
    const next = others.find((_, position) => isEmployed(people[position]));
    plan.update(task, taskId, { assigneeId: next?.staffId ?? null });
  }
  return [{ list: 'staffTaskAssignments', index, id: ended.id }];
}
