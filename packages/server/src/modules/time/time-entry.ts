import { placesOf } from '../../contract/currency.ts';
import { Rejection } from '../../contract/rejection.ts';
import { command } from '../../entity/command.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { decimals } from '../../platform/arithmetic.ts';
import { type Decimal, parseDecimal, zero } from '../../platform/decimal.ts';
import { client } from '../clients/index.ts';
import { job, task, taskType } from '../projects/index.ts';
import { nonWorkCode, org, workCode } from '../reference/index.ts';
import { staff } from '../staff/index.ts';
import {
  announceWork,
  beginChange,
  checkDayReached,
  checkEmployedOn,
  checkOpenJob,
  checkRemovable,
  completeDecision,
  createWip,
  entryConditions,
  entryRelations,
  lockWork,
  submitEntry,
  wipColumns,
  withdrawEntry,
} from './entries.ts';
import { billingRateOf } from './entry-rate.ts';
import { checkNotReversed, completeReversal, reversedEntry } from './reversal.ts';
import { splitAtMidnight } from './split-at-midnight.ts';
import { workAmount } from './work-amounts.ts';

type TimeChange = PendingChange<'TimeEntry'>;

/** The fields that callers write and the amount follows from. */
const pricedFields = ['staffId', 'jobId', 'taskId', 'workDate', 'hours', 'isBillable', 'reversesSystemRef'];

const maxHoursPerDay = parseDecimal('24');

const enterTime = command('timeEntered', (plan, taskId: string) => plan.set(task, taskId, { status: 'IN_PROGRESS' }));

/** The first approved time on a job starts it, and billable time is work in progress from then on. */
const approveTime = command('entrySubmitted', (plan, { id, values }: TimeChange) => {
  const { jobId, staffId, taskId, code, workDate, hours, billingRate, amount } = values;
  if (jobId === null) return;
  startJob(plan, jobId);
  const work = { staffId, taskId, code, workDate, hours, billingRate, amount };
  if (values.isBillable) createWip(plan, jobId, { ...work, wipType: 'TIME', timeEntryId: id });
});

const startJob = command('timeApproved', (plan, jobId: string) => {
  const status = plan.get(job, jobId)?.status;
  if (status === 'PLANNED' || status === 'READY') plan.set(job, jobId, { status: 'IN_PROGRESS' });
});

/** Time that a staff member worked, or was off work. */
export const timeEntry = defineEntity('TimeEntry', {
  table: 'time_entry',
  relations: { ...entryRelations, task: one('Task', 'taskId') },
  ...wipColumns('timeEntryId'),
  rules: {
    complete,
    beforeRemoval: (change, plan) => checkRemovable(change, plan, 'timeEntryId'),
    afterWrite: startTask,
    commands: { SUBMITTED: submitEntry, APPROVED: approveTime, DRAFT: withdrawEntry },
    conditions: {
      ...entryConditions({ entityType: 'TimeEntry', table: 'time_entry', key: 'timeEntryId', fields: pricedFields }),
      dayReached: ({ values }: TimeChange, plan: Plan) => checkDayReached(plan, 'workDate', values.workDate),
      rateExists(change: TimeChange, plan: Plan) {
        if (!change.values.isBillable || rateOf(change, plan) !== undefined) return;
        const currency = currencyOf(change, plan);
        throw new Rejection(
          'NO_RATE',
          `No billing rate in ${currency} applies to the staff member on this day.`,
          '/workDate',
        );
      },
    },
    constraints: {
      time_entry_hours_day: {
        code: 'VALIDATION_ERROR',
        field: 'hours',
        detail: 'The staff member would have more than 24 hours on this day.',
      },
    },
  },
});

announceWork(timeEntry, 'timeEntryId');

function complete(change: TimeChange, plan: Plan): void {
  const { values, previous } = change;
  splitAtMidnight(plan, timeEntry, change, { step: stepOf(values, plan), hoursBetween });
  if (!beginChange(change, plan, 'timeEntryId')) return;
  plan.together(
    // The database sums up the hours of a day, and of an entry's reversals, so concurrent writes wait for this lock.
    () => plan.getManyForUpdate(staff, new Set([values.staffId, previous?.staffId ?? values.staffId])),
    () => reversedEntry(change, plan),
    () => lockWork(change, plan, [values.taskId, previous?.taskId]),
  );
  if (previous === undefined || values.staffId !== previous.staffId || values.workDate !== previous.workDate)
    checkEmployedOn(plan, values.staffId, values.workDate);
  if (values.reversesSystemRef !== null) completeReversal(change, plan);
  checkNotReversed(change, plan);
  checkOpenJob(change, plan);
  if (isOtherWork(change)) completeWork(change, plan);
  checkHours(change, plan);
  checkTimes(change, plan);
  completeDecision(change, plan);
  const billingRate = (values.isBillable ? rateOf(change, plan) : undefined) ?? zero;
  const places = placesOf(currencyOf(change, plan));
  const amount = workAmount(decimals(places), { hours: values.hours, billingRate });
  Object.assign(values, { billingRate, amount });
}

function currencyOf({ values: { jobId } }: TimeChange, plan: Plan): string {
  return (jobId === null ? undefined : plan.get(job, jobId)?.currency) ?? plan.tenant.currency;
}

/**
 * Whether the entry is for different work than before. Approving or rejecting it changes neither its code nor whether it
 * is billable.
 */
function isOtherWork({ values, previous }: TimeChange): boolean {
  return (['jobId', 'taskId', 'code', 'isBillable'] as const).some((name) => values[name] !== previous?.[name]);
}

/** Checks the task, and derives an omitted code and billable flag from task and job. */
function completeWork({ values, input, previous }: TimeChange, plan: Plan): void {
  const { jobId, taskId } = values;
  const onTask = taskId === null ? undefined : plan.get(task, taskId);
  if (onTask !== undefined && onTask.jobId !== jobId)
    throw invalidField('taskId', 'taskId must be a task of the job that jobId names.');
  if (previous === undefined && input.code === undefined) values.code ??= defaultCode(plan, onTask);
  const code = values.code === null ? undefined : findCode(plan, values.code, isNewCode(values, previous));
  const work = jobId === null ? undefined : plan.get(job, jobId);
  const parts = [code?.isBillable, onTask?.isBillable, work && work.billingType !== 'NON_BILLABLE'];
  values.isBillable ??= jobId !== null && parts.every((isBillable) => isBillable !== false);
  if (!values.isBillable) return;
  if (jobId === null) throw invalidField('jobId', 'jobId is required for billable time.');
  if (code?.isTimeOff === true) throw invalidField('isBillable', 'Time off is never billable.');
}

/** Returns the code of the task's type, unless it is inactive. */
function defaultCode(plan: Plan, onTask: Row<'Task'> | undefined): string | null {
  const code = onTask === undefined ? undefined : plan.get(taskType, onTask.taskTypeId)?.defaultWorkCode;
  return typeof code === 'string' && plan.find(workCode, 'code', code)?.active === true ? code : null;
}

/** An existing code of the entry, or of the entry that it reverses, can be inactive. */
function isNewCode({ code, reversesSystemRef }: Row<'TimeEntry'>, previous: Row<'TimeEntry'> | undefined): boolean {
  return code !== previous?.code && reversesSystemRef === null;
}

/** Work codes take precedence over codes for time off. */
function findCode(plan: Plan, code: string, isNew: boolean) {
  const usable = <Code extends { readonly active: boolean }>(row: Code | undefined) =>
    isNew && row?.active === false ? undefined : row;
  const work = usable(plan.find(workCode, 'code', code));
  const timeOff = work === undefined ? usable(plan.find(nonWorkCode, 'code', code)) : undefined;
  const found = work ?? timeOff;
  if (found === undefined)
    throw new Rejection('REFERENCE_NOT_FOUND', `No active work code or code for time off "${code}" exists.`, '/code');
  // The text of a code that entries use must not change.
  if (work !== undefined) plan.getForShare(workCode, work.id);
  if (timeOff !== undefined) plan.getForShare(nonWorkCode, timeOff.id);
  return { isBillable: found.isBillable, isTimeOff: timeOff !== undefined };
}

function checkHours(change: TimeChange, plan: Plan): void {
  const { values, previous } = change;
  const { hours, reversesSystemRef } = values;
  // There may have been another step when these hours were recorded; the job of another org has its own.
  const isSameStep = (before: Row<'TimeEntry'>) =>
    values.jobId === before.jobId || stepOf(values, plan).eq(stepOf(before, plan));
  if (previous?.hours.eq(hours) && reversesSystemRef === previous.reversesSystemRef && isSameStep(previous)) return;
  const increment = stepOf(values, plan);
  const isInSteps = (some: Decimal) => some.mod(increment).eq(zero);
  // Hours that were recorded in another step can be reversed, too.
  if (!isInSteps(hours) && isInSteps(reversedEntry(change, plan)?.hours ?? zero))
    throw invalidField('hours', `hours must be a multiple of ${increment.toFixed(2)}.`);
  if (reversesSystemRef !== null) {
    if (!hours.lt(zero)) throw invalidField('hours', 'hours of a reversal must be negative.');
  } else if (!hours.gt(zero) || hours.gt(maxHoursPerDay)) {
    throw invalidField('hours', 'hours must be more than 0 and at most 24.');
  }
}

/** The step of the hours of an entry: that of the org of its job, otherwise the increment of the tenant. */
function stepOf({ jobId }: Row<'TimeEntry'>, plan: Plan): Decimal {
  const clientId = jobId === null ? undefined : plan.get(job, jobId)?.clientId;
  const orgId = clientId === undefined ? undefined : plan.get(client, clientId)?.orgId;
  return (
    (orgId === undefined ? null : plan.get(org, orgId)?.timeStep) ?? parseDecimal(plan.tenant.settings.hourIncrement)
  );
}

const hour = parseDecimal('3600000');

function hoursBetween(from: string, to: string): Decimal {
  return parseDecimal(String(Date.parse(to) - Date.parse(from))).div(hour);
}

/** Checks that the work began on its day, and that the hours are the time that it took. A reversal can be of a part of that. */
function checkTimes({ values, previous }: TimeChange, plan: Plan): void {
  const { startedAt, endedAt, workDate, hours } = values;
  const isUnchanged = (['startedAt', 'endedAt', 'workDate'] as const).every(
    (name) => values[name] === previous?.[name],
  );
  if (isUnchanged && previous?.hours.eq(hours) === true) return;
  if (startedAt === null && endedAt === null) return;
  if (startedAt === null || endedAt === null)
    throw invalidField(startedAt === null ? 'startedAt' : 'endedAt', 'startedAt and endedAt are written together.');
  const taken = hoursBetween(startedAt, endedAt);
  if (!taken.gt(zero)) throw invalidField('endedAt', 'endedAt must be after startedAt.');
  if (plan.dayOf(startedAt) !== workDate)
    throw invalidField('workDate', `workDate must be ${plan.dayOf(startedAt)}, the day on which the work began.`);
  if (values.reversesSystemRef !== null || hours.minus(taken).abs().lt(stepOf(values, plan))) return;
  throw invalidField('hours', `hours must be the ${taken.toFixed(2)} from startedAt to endedAt, within one step.`);
}

/** A reversal has the rate of the reversed entry, so that both add up to zero. */
function rateOf(change: TimeChange, plan: Plan): Decimal | undefined {
  const reversed = reversedEntry(change, plan);
  if (reversed !== undefined) return reversed.billingRate ?? undefined;
  const { staffId, jobId, taskId, workDate } = change.values;
  const work = jobId === null ? undefined : plan.get(job, jobId);
  return work === undefined ? undefined : billingRateOf(plan, { staffId, job: work, taskId, workDate });
}

/** The first time on a task starts it. */
function startTask({ values: { taskId }, previous }: TimeChange, plan: Plan): void {
  if (taskId !== null && taskId !== previous?.taskId && plan.get(task, taskId)?.status === 'NOT_STARTED')
    enterTime(plan, taskId);
}
