import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { type Decimal, parseDecimal } from '../../platform/decimal.ts';
import { staffJobAssignment, task, taskType } from '../projects/index.ts';
import { ratesOn, staff, staffType } from '../staff/index.ts';

/** The parameters of the price of an hour. */
export interface RateRequest {
  readonly staffId: string;
  readonly job: Pick<Row<'Job'>, 'id' | 'currency'>;
  readonly taskId: string | null;
  readonly workDate: string;
}

/**
 * Returns the price of an hour of a staff member on a day: the rate of the assignment to the job, the staff member's own
 * on that day, the task type's, or the staff type's, in this order. A rate in another currency than the job's does not
 * apply; that of an assignment is in the job's currency, and the defaults of types are in the tenant's.
 */
export function billingRateOf(plan: Plan, { staffId, job, taskId, workDate }: RateRequest): Decimal | undefined {
  plan.together(
    () => plan.all(staffJobAssignment, 'jobId', job.id),
    () => ratesOn(plan, staffId, workDate),
  );
  const override = overrideOn(plan, staffId, job.id, workDate);
  if (override !== undefined) return override;
  const own = ratesOn(plan, staffId, workDate);
  if (own !== undefined && own.currency === job.currency) return parseDecimal(own.billing_rate);
  if (job.currency !== plan.tenant.currency) return undefined;
  const type = taskId === null ? undefined : plan.get(task, taskId)?.taskTypeId;
  const ofTask = type === undefined ? undefined : plan.get(taskType, type)?.defaultRate;
  if (ofTask !== undefined && ofTask !== null) return ofTask;
  const staffTypeId = plan.get(staff, staffId)?.staffTypeId;
  return (staffTypeId === undefined ? undefined : plan.get(staffType, staffTypeId)?.defaultBillingRate) ?? undefined;
}

/**
 * Returns the rate of the person's assignment to the job on a day. Time is often approved after the assignment has ended,
 * so the assignment that was active on the day counts; of several, one that has not ended takes precedence, then the
 * latest.
 */
function overrideOn(plan: Plan, staffId: string, jobId: string, day: string): Decimal | undefined {
  const rated = plan
    .all(staffJobAssignment, 'jobId', jobId)
    .filter((one) => one.staffId === staffId && one.billingRateOverride !== null && isInForce(plan, one, day));
  const found = rated.findLast(({ active }) => active) ?? rated.at(-1);
  return found?.billingRateOverride ?? undefined;
}

function isInForce(plan: Plan, { startDate, endDate, deactivatedAt }: Row<'StaffJobAssignment'>, day: string): boolean {
  const ended = deactivatedAt === null ? null : plan.dayOf(deactivatedAt);
  return (startDate === null || startDate <= day) && [endDate, ended].every((end) => end === null || end >= day);
}
