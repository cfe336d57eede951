import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';
import type { Input } from '../../contract/handler.ts';
import { isItemRejection, Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { activeClient, checkClientRef } from '../clients/index.ts';
import { isEmployed, staff } from '../staff/index.ts';
import { job } from './job.ts';
import { jobTemplate } from './job-template.ts';
import { staffJobAssignment } from './staff-job-assignment.ts';
import { task } from './task.ts';

type Body = Input<'createProjectsFromTemplate'>['body'];
type Entry = Body['jobTemplates'][number];

/** Creates a job for each entry, with the tasks of its template and its staff, all or none. */
export const createProjectsFromTemplate: Handler<'createProjectsFromTemplate'> = (context, { body }) =>
  context.write(async (unit) => {
    const { engagementId = null } = body;
    const jobs = await unit.allOrNone(body.jobTemplates, (plan, entry, index) => {
      checkClientRef(plan, body);
      const forClient = activeClient(plan, body);
      if (engagementId !== null) checkEngagement(plan, engagementId, forClient.id);
      return plan.at(`/jobTemplates/${index}`, () => ({ index, ...createJob(plan, forClient, engagementId, entry) }));
    });
    return { status: 200, body: { jobs } };
  });

/** Checks the engagement to link the jobs to. @throws Rejection if it does not exist, or belongs to another client */
function checkEngagement(plan: Plan, engagementId: string, clientId: string): void {
  const row = plan.checkReference('Engagement', engagementId, '/engagementId');
  if (row !== undefined && row.clientId !== clientId)
    throw invalidField('engagementId', 'The engagement belongs to another client.');
}

function createJob(plan: Plan, forClient: Row<'Client'>, engagementId: string | null, entry: Entry) {
  const { jobTemplateId, systemRef, staffAssignments = [], ...overrides } = entry;
  const template = plan.get(jobTemplate, jobTemplateId);
  if (template?.active !== true)
    throw new Rejection('REFERENCE_NOT_FOUND', 'No active job template with this ID exists.', '/jobTemplateId');
  const { startDate = plan.today } = entry;
  const dueDate =
    startDate === null || template.durationDays === null ? null : addDays(startDate, template.durationDays);
  const fields = {
    clientId: forClient.id,
    jobTemplateId,
    engagementId,
    name: template.name,
    serviceLineId: template.serviceLineId,
    billingType: template.billingType,
    feeAmount: hasFee(template) ? template.defaultFee : null,
    budgetHours: template.budgetHours,
    partnerId: ifEmployed(plan, forClient.partnerId),
    managerId: ifEmployed(plan, forClient.managerId),
    startDate,
    dueDate,
  };
  const { row } = blameTemplate(() => plan.create(job, { ...fields, ...overrides }, { systemRef }));
  const taskIds = plan.each(template.tasks, (one, sequence) =>
    blameTemplate(() => createTask(plan, row, template, one, sequence)),
  );
  plan.each(staffAssignments, (assignment, index) =>
    plan.at(`/staffAssignments/${index}`, () => plan.create(staffJobAssignment, { ...assignment, jobId: row.id })),
  );
  return { id: row.id, jobRef: row.jobRef, name: row.name, status: row.status, taskIds };
}

/**
 * A task starts a number of days after the job. It is due after its duration, but not later than the job, unless it
 * starts later than that.
 */
function createTask(
  plan: Plan,
  { id: jobId, startDate, dueDate }: Row<'Job'>,
  { durationDays }: Row<'JobTemplate'>,
  { name, taskTypeId, offsetDays, budgetHours }: Row<'JobTemplate'>['tasks'][number],
  sequence: number,
): string {
  const start = startDate === null ? null : addDays(startDate, offsetDays);
  const end = start === null || durationDays === null ? dueDate : addDays(start, durationDays);
  const due = latest(start, earliest(end, dueDate));
  const fields = { jobId, name, taskTypeId, budgetHours, sequence, startDate: start, dueDate: due };
  return plan.create(task, fields).row.id;
}

const entryFields = new Set(Object.keys(propertiesOf(schemaOf('ProjectTemplateEntry'))));

/** Omitted fields come from the template, so their errors are reported for the template. */
function blameTemplate<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!isItemRejection(error)) throw error;
    const { code, message, pointer = '' } = error;
    if (entryFields.has(pointer.slice(1))) throw error;
    // All entries have the same engagement.
    if (pointer === '/engagementId') throw new Rejection(code, message);
    // The job gets it from its jobRef.
    if (pointer === '/pmsRef') throw new Rejection(code, message, '/jobRef');
    throw new Rejection(code, `The template cannot be used. ${message}`, '/jobTemplateId');
  }
}

function hasFee({ billingType }: Row<'JobTemplate'>): boolean {
  return billingType === 'FIXED_FEE' || billingType === 'RECURRING';
}

/** Returns the partner or manager of the client unless they are terminated. */
function ifEmployed(plan: Plan, staffId: string | null): string | null {
  return staffId !== null && isEmployed(plan.get(staff, staffId)) ? staffId : null;
}

const lastDay = '2199-12-31';

function addDays(date: string, days: number): string {
  const end = Temporal.PlainDate.from(date).add({ days }).toString();
  // The contract's dates end with year 9999. Text of later dates is longer, and would compare as earlier.
  if (end.length > lastDay.length || end > lastDay)
    throw invalidField('startDate', `The work would end after ${lastDay}. Choose an earlier start date.`);
  return end;
}

function earliest(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other < one) ? other : one;
}

function latest(one: string | null, other: string | null): string | null {
  return one !== null && other !== null && one > other ? one : other;
}
