import { sql } from 'kysely';
import { zero } from '../../contract/decimal.ts';
import { Rejection } from '../../contract/rejection.ts';
import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import { entityNamed } from '../../entity/registry.ts';
import type { Row } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { checkNothingUnfinished, unapprovedEntries, unfinishedRows } from '../../entity/unfinished-rows.ts';
import { completeClientCurrency } from '../clients/client-currency.ts';
import { checkEngagement, followJob } from '../engagements/engagement-jobs.ts';
import { isOpenTask } from '../time/open-task.ts';
import { outstandingOf } from '../time/outstanding.ts';

/** The billing types whose jobs have a fixed fee. */
const feeTypes: readonly string[] = ['FIXED_FEE', 'RECURRING'];

/** A piece of work for a client. */
export const job = defineEntity('Job', {
  table: 'job',
  sumsUp: ['time_entry', 'wip_entry', 'invoice'],
  relations: { client: one('Client', 'clientId') },
  rules: {
    complete,
    afterWrite: followJob,
    beforeRemoval({ id }, plan) {
      if (workOf(plan, id).some(isOutstanding))
        throw new Rejection('INVALID_STATE', 'The job has work in progress. Bill or write it off first.');
      checkNothingUnfinished(plan, unfinishedOfJob, id, 'job');
    },
    conditions: {
      reviewIsAutomatic(_change, plan) {
        if (!plan.tenant.settings.reviewCompletedJobs)
          throw new Rejection('INVALID_STATE', 'This tenant moves jobs to review manually.', '/status');
      },
      noOpenTasks({ id }, plan) {
        if (plan.all(entityNamed('Task'), 'jobId', id).some(isOpenTask))
          throw new Rejection('INVALID_STATE', 'The job has open tasks. Complete or cancel them first.', '/status');
      },
      noUnapprovedEntries({ id }, plan) {
        if (plan.lookup(jobsWithUnapprovedEntries, id) !== true) return;
        const detail = 'Time or expenses of the job are not approved. Approve, reject or deactivate them first.';
        throw new Rejection('INVALID_STATE', detail, '/status');
      },
      noOpenWip({ id }, plan) {
        if (!workOf(plan, id).some(isOutstanding)) return;
        const detail = 'The job has open work in progress. Bill or write it off first.';
        throw new Rejection('INVALID_STATE', detail, '/status');
      },
      nothingBilled({ id }, plan) {
        if (workOf(plan, id).some((row) => !row.billedAmount.eq(zero)) || plan.lookup(billedJobs, id) === true)
          throw new Rejection('INVALID_STATE', 'The job is billed. Void its invoices first.', '/status');
      },
    },
  },
});

const unfinishedOfJob = unfinishedRows('Job', [
  ...unapprovedEntries('job_id'),
  {
    what: 'draft invoices',
    table: 'draft_invoice',
    refers: sql`t.job_ids @> array[k.id]`,
    states: ['DRAFT', 'IN_REVIEW', 'REJECTED'],
  },
]);

/** Whether all work on the job has ended. */
export function isFinished(found: Row<'Job'> | undefined): boolean {
  return found === undefined || !found.active || found.status === 'CLOSED' || found.status === 'CANCELLED';
}

function complete(change: PendingChange<'Job'>, plan: Plan): void {
  const { values, input, previous } = change;
  if (previous === undefined) {
    values.jobRef ??= plan.nextReference(jobNumber(plan.today.slice(0, 4)));
    if (input.pmsRef === undefined) values.pmsRef = values.jobRef;
  } else {
    checkWithoutWork(change, plan);
  }
  completeClientCurrency(change, plan);
  checkEngagement(change, plan);
  checkFee(change);
  checkMinorUnits(change, values.currency, ['feeAmount', 'budgetAmount']);
  checkDateOrder(change, 'periodStartDate', 'periodEndDate');
  checkDateOrder(change, 'startDate', 'dueDate');
  if (values.status === previous?.status) return;
  if (values.status === 'COMPLETED' && previous?.status !== 'CLOSED') values.completedAt = plan.now;
  if (values.status === 'IN_PROGRESS') values.completedAt = null;
  values.closedAt = values.status === 'CLOSED' ? plan.now : null;
}

/** Reopens a closed or deleted job whose work in progress is outstanding again. */
export function reopenJob(plan: Plan, id: string): void {
  const row = plan.getForUpdate(job, id);
  if (row === undefined || (row.active && row.status !== 'CLOSED')) return;
  const system = row.status === 'CLOSED' ? ({ active: true, status: 'COMPLETED' } as const) : { active: true };
  plan.update(job, id, {}, { system, event: 'workReturned' });
}

/** Jobs with entries that are drafts or wait for approval. */
const jobsWithUnapprovedEntries: Lookup<boolean> = {
  name: 'jobs with unapproved entries',
  async load(transaction, tenantId, ids) {
    const has = ['time_entry', 'expense_entry'].map(
      (table) => sql`exists (select from ${sql.table(table)} e where e.tenant_id = ${tenantId} and e.job_id = job.id
        and e.active and e.status in ('DRAFT', 'SUBMITTED'))`,
    );
    const found = await transaction.all<{ id: string }>(sql`
      select id from unnest(${ids}::uuid[]) as job (id) where ${sql.join(has, sql` or `)}`);
    return new Map(found.map(({ id }) => [id, true]));
  },
};

/** Jobs with an amount billed, also without work. */
const billedJobs: Lookup<boolean> = {
  name: 'billed jobs',
  async load(transaction, tenantId, ids) {
    const found = await transaction.all<{ id: string }>(sql`
      select id from job where tenant_id = ${tenantId} and id = any(${ids}) and (billed_amount <> 0 or billed_fee_amount <> 0)`);
    return new Map(found.map(({ id }) => [id, true]));
  },
};

/** Work in progress and invoices have the client and the currency of the job. */
function checkWithoutWork({ id, values, previous }: PendingChange<'Job'>, plan: Plan): void {
  for (const field of ['clientId', 'currency'] as const) {
    if (values[field] === previous?.[field] || workOf(plan, id).length === 0) continue;
    const detail = `${field} cannot change, because the job has work in progress, billed or not.`;
    throw new Rejection('INVALID_STATE', detail, `/${field}`);
  }
}

function checkFee({ values }: PendingChange<'Job'>): void {
  const hasFee = feeTypes.includes(values.billingType);
  if (hasFee && values.feeAmount === null)
    throw invalidField('feeAmount', `feeAmount is required for the billing type ${values.billingType}.`);
  if (!hasFee && values.feeAmount !== null)
    throw invalidField(
      'feeAmount',
      `The billing type ${values.billingType} has no fee. Omit feeAmount or set it to null.`,
    );
}

/** Work in progress of the job, billed or not. */
function workOf(plan: Plan, id: string): readonly Row<'WipEntry'>[] {
  return plan.all(entityNamed('WipEntry'), 'jobId', id).filter((row) => row.status !== 'REVERSED');
}

/** The sum of the job is not sufficient: a progress bill can exceed the work by the open amount. */
function isOutstanding(row: Row<'WipEntry'>): boolean {
  return !outstandingOf(row).eq(zero);
}

function jobNumber(year: string) {
  return {
    counter: `job.job_ref.${year}`,
    entity: job,
    fields: ['jobRef', 'pmsRef'],
    format: (number: number) => `J-${year}-${String(number).padStart(5, '0')}`,
  };
}
