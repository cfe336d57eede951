import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { addRules } from '../../entity/rules.ts';
import {
  checkNothingUnfinished,
  unapprovedEntries,
  unfinishedRows,
  unpostedDrafts,
} from '../../entity/unfinished-rows.ts';
import { zero } from '../../platform/decimal.ts';
import { job } from '../projects/index.ts';
import { wipEntry } from './wip-entry.ts';
import { outstandingOf } from './work-amounts.ts';

/** What the work on a job, and what is billed of it, mean for the job. */
addRules(job, {
  isFixed: ({ id }, plan) => workOf(plan, id).length > 0,
  beforeRemoval({ id }, plan) {
    if (workOf(plan, id).some(isOutstanding))
      throw new Rejection('INVALID_STATE', 'The job has work in progress. Bill or write it off first.');
    checkNothingUnfinished(plan, unfinishedOfJob, id, 'job');
  },
  conditions: {
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
});

const unfinishedOfJob = unfinishedRows('Job', [
  ...unapprovedEntries('job_id'),
  { ...unpostedDrafts, refers: sql`t.job_ids @> array[k.id]` },
]);

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

/** Work in progress of the job, billed or not. */
function workOf(plan: Plan, id: string): readonly Row<'WipEntry'>[] {
  return plan.all(wipEntry, 'jobId', id).filter((row) => row.status !== 'REVERSED');
}

/** The sum of the job is not sufficient: a progress bill can exceed the work by the open amount. */
function isOutstanding(row: Row<'WipEntry'>): boolean {
  return !outstandingOf(row).eq(zero);
}
