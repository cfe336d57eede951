import Big from 'big.js';
import { RowError } from '../../errors.ts';
import { contentRef, given, type PlanContext, recordPlan, systemRefOf } from '../plan.ts';
import type { Row } from '../row.ts';
import { jobOf, projectOf } from './clients.ts';

const statuses = ['DRAFT', 'SUBMITTED', 'APPROVED'] as const;

export const time = recordPlan({
  fields: [
    'key',
    'staff',
    'firstName',
    'lastName',
    'date',
    'hours',
    'start',
    'end',
    'breakMinutes',
    'job',
    'code',
    'description',
    'billable',
    'status',
  ],
  required: ['date'],
  references: { staff: 'staff', job: 'job' },
  keyOf: (row, field) => (field === 'staff' ? staffOf(row) : row.key(field)),
  plan([row], context) {
    const person = staffOf(row);
    if (person === undefined) throw new RowError(`${row.nameOf('staff')} is missing.`);
    const workDate = row.day('date');
    if (workDate === undefined) throw new RowError(`${row.nameOf('date')} is missing.`);
    const hours = hoursOf(row).toFixed(2);
    const job = row.key('job');
    const text = row.text('description', 2000);
    const content = [person, workDate, hours, job ?? '', text ?? '', row.text('start') ?? '', row.text('code') ?? ''];
    const key = row.key('key');
    const created = job === undefined ? undefined : missingJob(context, job);
    const attributes = given({
      staffId: context.idOf('staff', person),
      jobId:
        created === undefined
          ? job === undefined
            ? null
            : context.idOf('job', job)
          : { systemRef: created.systemRef },
      code: row.text('code', 20),
      workDate,
      hours,
      isBillable: row.yes('billable') ?? (job === undefined ? false : undefined),
      description: text,
      status: row.choice('status', statuses) ?? context.options.timeStatus ?? 'SUBMITTED',
    });
    const systemRef =
      key === undefined ? contentRef(context, 'time', workDate, content) : systemRefOf(context.form, 'time', key);
    return {
      record: { type: 'TimeEntry', systemRef, source: 'IMPORT', attributes },
      before: created,
    };
  },
});

/** The person of a row, by a number, an address or a name. */
function staffOf(row: Row<'staff' | 'firstName' | 'lastName'>): string | undefined {
  return (
    row.key('staff') ??
    ([row.key('firstName'), row.key('lastName')].filter((one) => one !== undefined).join(' ') || undefined)
  );
}

/** Systems that record time on customers have no jobs: those that do not exist yet are created. */
function missingJob(context: PlanContext, job: string) {
  if (context.form.projectSeparator === undefined || context.exists('job', job)) return undefined;
  return jobOf(context, job, projectOf(context, job) ?? job);
}

function hoursOf(row: Row<'hours' | 'start' | 'end' | 'breakMinutes'>): Big {
  const hours = row.hours('hours');
  if (hours !== undefined) return hours;
  const [start, end] = [row.minutes('start'), row.minutes('end')];
  if (start === undefined || end === undefined)
    throw new RowError(
      `${row.nameOf('hours')} is missing, and so is ${row.nameOf(start === undefined ? 'start' : 'end')}.`,
    );
  const pause = row.decimal('breakMinutes') ?? new Big(0);
  // An end before the start is on the next day.
  const minutes = new Big(end > start ? end - start : end - start + 24 * 60).minus(pause);
  if (minutes.lte(0)) throw new RowError(`${row.nameOf('breakMinutes')} is longer than the work.`);
  return minutes.div(60).round(2);
}
