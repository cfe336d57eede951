import { type RawBuilder, sql } from 'kysely';
import { defineClockTask, type Tick } from '../../../background/clock.ts';
import { type CandidateRow, changeDueRows, type Slice } from '../../../background/due-rows.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { sum, zero } from '../../../platform/decimal.ts';
import { client } from '../../clients/index.ts';
import { formatDay, localeOf } from '../../documents/index.ts';
import { job } from '../../projects/index.ts';
import { org, taxRegion } from '../../reference/index.ts';
import { outstandingOf, wipEntry } from '../../time/index.ts';
import { type DocumentTexts, documentTexts } from '../document/document-texts.ts';
import { draftInvoice } from './draft-invoice.ts';

/** A date of a schedule since the last run. */
interface DueSchedule {
  readonly schedule: 'MONTHLY' | 'QUARTERLY' | 'ON_COMPLETION';
  /** The last day of the work to bill. */
  readonly through: string;
  /** The earliest last day of billed work for which a draft counts as one of this date, in SQL over the job `j`. */
  readonly since: RawBuilder<unknown>;
  /** SQL condition over the job `j` that selects the jobs with this date. */
  readonly applies: RawBuilder<boolean>;
}

/** The IDs of the work in progress to bill, by job. */
type WorkToBill = Lookup<readonly string[]>;

/**
 * Drafts invoices for jobs with a billing schedule: on the first day of a month or a quarter for earlier work, and on the
 * day after a job was completed. Milestones have no dates, so users create these drafts.
 */
export const draftBySchedule = defineClockTask({
  name: 'draft-by-schedule',
  every: 'day',
  async run(tick) {
    const start = progressOf(tick);
    const all = dueSchedules(tick);
    const first = Math.max(
      0,
      all.findIndex(({ schedule }) => schedule === start?.schedule),
    );
    for (const due of all.slice(first)) {
      const { schedule, through } = due;
      const work = workThrough(through);
      await changeDueRows(tick, {
        after: schedule === start?.schedule ? start : undefined,
        find: (session, { tenant }, slice) => session.all(jobsOf(tenant.id, due, slice)),
        change: (plan, id) => draftJob(plan, id, plan.lookup(work, id) ?? [], { ...due, today: tick.today }),
        keep: (transaction, { id }) => tick.keepProgress(transaction, { schedule, id }),
      });
      // The task has not finished for today, so it continues in the next minute.
      tick.signal.throwIfAborted();
    }
  },
});

/** Returns where an interrupted run continues: after a job with a schedule. */
function progressOf({ progress }: Tick): { readonly schedule: string; readonly id: string } | undefined {
  if (progress === undefined || !('schedule' in progress) || !('id' in progress)) return undefined;
  return { schedule: String(progress.schedule), id: String(progress.id) };
}

/** Returns the dates after the last run. Before the first run, no drafts are expected. */
function dueSchedules({ today, lastDay }: Tick): DueSchedule[] {
  if (lastDay === undefined) return [];
  const month = today.with({ day: 1 });
  const quarter = month.subtract({ months: (month.month - 1) % 3 });
  const periods = [
    { schedule: 'MONTHLY', start: month },
    { schedule: 'QUARTERLY', start: quarter },
  ] as const;
  const begun = periods.filter(({ start }) => Temporal.PlainDate.compare(start, lastDay) > 0);
  return [
    ...begun.map(({ schedule, start }) => {
      const through = dayBefore(start);
      return { schedule, through, since: sql`${through}::date`, applies: sql<boolean>`true` };
    }),
    {
      schedule: 'ON_COMPLETION',
      through: dayBefore(today),
      since: sql`tenant_day(j.completed_at)`,
      applies: sql`tenant_day(j.completed_at) >= ${lastDay.toString()}::date
        and tenant_day(j.completed_at) < ${today.toString()}::date`,
    },
  ];
}

function dayBefore(day: Temporal.PlainDate): string {
  return day.subtract({ days: 1 }).toString();
}

/** SQL condition of work to bill, over the work in progress `w` of a job `j`. A fixed fee covers the time. */
function billable(through: string): RawBuilder<boolean> {
  return sql`w.status in ('OPEN', 'PARTIALLY_BILLED') and w.outstanding_amount <> 0 and w.work_date <= ${through}::date
    and (w.wip_type <> 'TIME' or j.billing_type = 'TIME_AND_MATERIALS')`;
}

/**
 * Finds the next jobs with this schedule. Those with work to bill that have had no draft for this date are due. A deleted
 * draft is not created again.
 */
function jobsOf(
  tenantId: number,
  { schedule, through, since, applies }: DueSchedule,
  { after, limit }: Slice,
): RawBuilder<CandidateRow> {
  const afterId = after === undefined ? sql`true` : sql`id > ${after.id}`;
  return sql`
    select j.id, j.active and j.billing_type <> 'NON_BILLABLE' and ${applies}
      and (select sum(w.outstanding_amount) from wip_entry w
        where w.tenant_id = j.tenant_id and w.job_id = j.id and ${billable(through)}) > 0
      and not exists (select from draft_invoice d
        where d.tenant_id = j.tenant_id and d.client_id = j.client_id and j.id = any(d.job_ids)
          and d.created_by_api_user_id is null and d.bill_through_date >= ${since}) is true as "isDue"
    from (
      select * from job
      where tenant_id = ${tenantId} and billing_schedule = ${schedule} and ${afterId}
      order by id limit ${limit}) j
    order by j.id`;
}

function workThrough(through: string): WorkToBill {
  return {
    name: `work to bill through ${through}`,
    async load(transaction, tenantId, jobIds) {
      const rows = await transaction.all<{ id: string; jobId: string }>(sql`
        select w.id, w.job_id as "jobId" from wip_entry w
        join job j on j.tenant_id = w.tenant_id and j.id = w.job_id
        where w.tenant_id = ${tenantId} and w.job_id = any(${jobIds}) and ${billable(through)}
        order by w.work_date, w.id`);
      return new Map(
        [...Map.groupBy(rows, ({ jobId }) => jobId)].map(([jobId, ofJob]) => [jobId, ofJob.map(({ id }) => id)]),
      );
    },
  };
}

function draftJob(
  plan: Plan,
  jobId: string,
  wipIds: readonly string[],
  { through, today }: { readonly through: string; readonly today: Temporal.PlainDate },
): void {
  const work = plan.get(job, jobId);
  const found = plan.getManyForUpdate(wipEntry, wipIds);
  // Another draft may have reserved it in the meantime.
  const rows = [...found.values()].filter(({ status }) => status === 'OPEN' || status === 'PARTIALLY_BILLED');
  if (work === undefined || !sum(rows.map(outstandingOf)).gt(zero)) return;
  const owner = plan.get(client, work.clientId);
  // Jobs from before this was required can have another currency than their client; their work cannot be billed.
  if (owner?.currency !== work.currency) return;
  plan.create(draftInvoice, {
    clientId: work.clientId,
    currency: work.currency,
    billThroughDate: through,
    proposedInvoiceDate: today.toString(),
    dueDate: today.add({ days: owner.paymentTermsDays }).toString(),
    lines: linesOf(work, rows, {
      texts: documentTexts[owner.documentLanguage].work,
      day: formatDay(through, localeOf(owner.documentLanguage, plan.get(org, owner.orgId)?.country)),
      taxable: isTaxable(plan, owner),
    }),
  });
}

function isTaxable(plan: Plan, owner: Row<'Client'> | undefined): boolean {
  if (owner?.taxCodeId != null) return true;
  const region = owner?.taxRegionId ?? null;
  return region !== null && plan.get(taxRegion, region)?.appliesToServices === true;
}

type WipType = Row<'WipEntry'>['wipType'];

/** In the order of the lines. */
const lineTypes: readonly (readonly [WipType, Row<'DraftInvoice'>['lines'][number]['lineType']])[] = [
  ['TIME', 'TIME'],
  ['EXPENSE', 'EXPENSE'],
  ['FIXED_FEE', 'FIXED_FEE'],
  ['PROGRESS', 'PROGRESS'],
  ['ADJUSTMENT', 'OTHER'],
];

/** Maximum number of rows of a line. */
const rowsOfLine = 1_000;

/**
 * Creates a line for each type of work, which bills all outstanding amounts. Reviewers of the draft can write it up or
 * down.
 */
function linesOf(
  { id, name }: Row<'Job'>,
  rows: readonly Row<'WipEntry'>[],
  { texts, day, taxable }: { readonly texts: DocumentTexts['work']; readonly day: string; readonly taxable: boolean },
) {
  return lineTypes.flatMap(([wipType, lineType]) => {
    const ofType = rows.filter((row) => row.wipType === wipType);
    const parts = Array.from({ length: Math.ceil(ofType.length / rowsOfLine) }, (_, index) =>
      ofType.slice(index * rowsOfLine, (index + 1) * rowsOfLine),
    );
    return parts.map((part) => ({
      lineType,
      jobId: id,
      description: texts[wipType].replace('{day}', day).replace('{job}', () => name),
      quantity: '1',
      unitAmount: sum(part.map(outstandingOf)).toFixed(2),
      taxable,
      wipIds: part.map((row) => row.id),
    }));
  });
}
