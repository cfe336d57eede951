import { type RawBuilder, sql } from 'kysely';
import { fieldsOf, membersOf } from '../../contract/fields.ts';
import { embedMany, embedOne } from '../../entity/embed.ts';
import { defineEntity, many, one } from '../../entity/entity.ts';

/** A job with its figures, its client, its staff and the status of its tasks. It is the same row as the job. */
export const project = defineEntity('Project', {
  table: 'job',
  writable: false,
  relations: {
    client: one('Client', 'clientId'),
    staffAssignments: many('StaffJobAssignment', 'jobId', { activeOnly: true }),
  },
  embeds: {
    client: embedOne('Client', 'clientId', { onChange: 'label' }),
    staffAssignments: embedMany('StaffJobAssignment', 'jobId', { onChange: 'label', activeOnly: true }),
  },
  computed: {
    taskCounts,
    percentComplete,
    standardAmount,
    realizationPercent,
    // Null without a fee.
    feeRemaining: (row) => sql`${sql.ref(`${row}.fee_amount`)} - ${sql.ref(`${row}.billed_fee_amount`)}`,
    // Null without a budget.
    budgetRemainingHours: (row) => sql`${sql.ref(`${row}.budget_hours`)} - ${sql.ref(`${row}.actual_hours`)}`,
  },
});

/** The standard value of relieved work, and fees without work. */
function standardAmount(row: string): RawBuilder<unknown> {
  const [work, fees] = [sql.ref(`${row}.billed_work_amount`), sql.ref(`${row}.fee_without_work_amount`)];
  return sql`(${work} + ${sql.ref(`${row}.write_off_amount`)} - ${sql.ref(`${row}.write_up_amount`)} + ${fees})`;
}

/** The billed amount as a percentage of the standard amount; 0 if either is not positive. */
function realizationPercent(row: string): RawBuilder<unknown> {
  const billed = sql.ref(`${row}.billed_amount`);
  const standard = standardAmount(row);
  return sql`case when ${billed} > 0 and ${standard} > 0
    then trim_scale(least(round(100 * ${billed} / ${standard}, 4), 999999999.9999)) else 0 end`;
}

function taskCounts(row: string): RawBuilder<unknown> {
  const field = fieldsOf('Project').find(({ name }) => name === 'taskCounts');
  const statuses = field === undefined ? [] : membersOf(field).map(({ name }) => name);
  const counts = statuses.map(
    (status) => sql`${sql.lit(status)}, count(*) filter (where t.status = ${sql.lit(status)})`,
  );
  return sql`(select json_build_object(${sql.join(counts)}) from ${activeTasks(row)})`;
}

/** The percentage of completed tasks, without cancelled ones; 100 for a completed job. */
function percentComplete(row: string): RawBuilder<unknown> {
  return sql`case when ${sql.ref(`${row}.status`)} in ('COMPLETED', 'CLOSED') then 100 else (
    select coalesce(trim_scale(round(100.0 * count(*) filter (where t.status = 'COMPLETED')
      / nullif(count(*) filter (where t.status <> 'CANCELLED'), 0), 4)), 0)
    from ${activeTasks(row)}) end`;
}

function activeTasks(row: string): RawBuilder<unknown> {
  return sql`task t where t.tenant_id = ${sql.ref(`${row}.tenant_id`)} and t.job_id = ${sql.ref(`${row}.id`)} and t.active`;
}
