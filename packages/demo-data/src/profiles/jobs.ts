import { dateText, instantAt, instantText, monthOf, type Span, yearOf } from './calendar.ts';
import { saveCounters } from './counters.ts';
import type { Firm } from './firm.ts';
import type { ClientSeed } from './parties.ts';
import type { Person } from './people.ts';
import { type BillingType, type JobKind, jobKinds, jobName, jobsOf, steps, templates } from './practice.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

/** A job, its team, and the days between which work is done. */
export interface JobSeed {
  readonly id: string;
  readonly name: string;
  readonly kind: JobKind;
  readonly client: number;
  readonly start: number;
  /** The first day of work: small jobs wait until shortly before their end. */
  readonly workStart: number;
  readonly end: number;
  readonly status: string;
  readonly taskIds: readonly string[];
  readonly team: readonly number[];
  /** Expected hours. */
  readonly hours: number;
  readonly billingType: BillingType;
  /** In cents: of the whole job or, if it is recurring, of a month or a quarter. */
  readonly fee: number | undefined;
  readonly fiscalYear: number;
  /** Undefined if no engagement covers it. */
  readonly engagementId: string | undefined;
}

/** The shares of jobs that are due in each month: 30 percent in March and April, 18 percent in September and October. */
const dueByMonth = [6.5, 6.5, 15, 15, 6.5, 6.5, 6.5, 6.5, 9, 9, 6.5, 6.5];
/** Mean hours of a working day, with leave and internal work. */
export const hoursADay = 8.15;
/** Number of days after today until which jobs are planned. */
const plannedAhead = 390;
/** Jobs that ended more than this many days ago are closed. */
const closedAfter = 165;
/** What a fixed fee comes to, as a share of the standard value of the expected hours. */
const realization = 0.88;

/** Loads jobs. */
export async function loadJobs(
  loader: Loader,
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
): Promise<void> {
  const { span } = firm;
  const numbers = new Map<number, number>();
  const rows = jobs.map((job, index): EntityRow => {
    const { id, client, start, end, status, team, hours, kind, billingType, fee, engagementId } = job;
    const createdAt = createdAtOf(job, index, span);
    const year = yearOf(createdAt / 86_400_000);
    const number = (numbers.get(year) ?? 1000) + 1;
    numbers.set(year, number);
    const ref = `J-${year}-${String(number).padStart(5, '0')}`;
    const doneAt = status === 'COMPLETED' || status === 'CLOSED' ? instantText(instantAt(end, 20)) : null;
    const variants = templates.flatMap((template, place) => (template.of === kind ? [place] : []));
    return {
      id,
      createdAt,
      name: job.name,
      status,
      client_id: clients[client]?.id ?? '',
      job_ref: ref,
      pms_ref: ref,
      job_template_id: firm.templateIds[variants[index % variants.length] ?? 0] ?? null,
      service_line_id: firm.serviceLineIds[kind.line] ?? null,
      department_id: firm.departmentIds[kind.area] ?? null,
      office_id: firm.officeIds[index % firm.officeIds.length] ?? null,
      partner_id: firm.partnerIds[index % firm.partnerIds.length] ?? null,
      manager_id: firm.people[team[1] ?? 0]?.id ?? null,
      in_charge_id: firm.people[team[0] ?? 0]?.id ?? null,
      fiscal_year: job.fiscalYear,
      start_date: dateText(start),
      due_date: dateText(end),
      completed_at: doneAt,
      closed_at: status === 'CLOSED' ? instantText(instantAt(end + 60, 20)) : null,
      engagement_id: engagementId ?? null,
      billing_type: billingType,
      fee_amount: fee === undefined ? null : (fee / 100).toFixed(2),
      billing_schedule:
        billingType === 'RECURRING' ? (kind.schedule ?? null) : billingType === 'FIXED_FEE' ? 'ON_COMPLETION' : null,
      budget_hours: `${Math.ceil(hours)}.00`,
      currency: 'USD',
      priority: index % 10 === 0 ? 'HIGH' : 'NORMAL',
    };
  });
  await loader.entities('job', rows);
  const counters = [...numbers].map(([year, value]) => [`job.job_ref.${year}`, value] as const);
  await saveCounters(loader, counters);
}

/** Loads the tasks of jobs, and who is assigned to them. */
export async function loadTasks(loader: Loader, firm: Firm, jobs: readonly JobSeed[]): Promise<void> {
  await loader.entities('task', taskRows(jobs, firm));
  await loader.entities('staff_job_assignment', assignmentRows(jobs, firm));
}

/** Creates jobs, in the order of their start. */
export function createJobs({ jobs: count }: Profile, firm: Firm, clients: readonly ClientSeed[]): JobSeed[] {
  const { span } = firm;
  const random = new Random(3);
  const dueDays = daysByShare(span);
  const nextClient = clientsBySize(random, span, clients);
  const drafts = Array.from({ length: count }, (_, index) => {
    const due = dueDays((index + 0.5) / count);
    const client = nextClient(due);
    const kind: JobKind = random.weighted(jobsOf[clients[client]?.kind ?? 'INDIVIDUAL']);
    const hours = Math.min(600, random.logNormal(kind.hours, kind === jobKinds.audit ? 0.6 : 0.75));
    return { due, client, kind, hours };
  });
  // The work of large jobs is as much as the staff has time for.
  const isLarge = ({ client }: { readonly client: number }) => clients[client]?.kind === 'BUSINESS';
  const isPast = ({ due }: { readonly due: number }) => due < span.today + 60;
  const hoursOf = (some: readonly { readonly hours: number }[]) => some.reduce((sum, { hours }) => sum + hours, 0);
  const small = hoursOf(drafts.filter((job) => isPast(job) && !isLarge(job)));
  const scale = (chargeableHours(firm) - small) / hoursOf(drafts.filter((job) => isPast(job) && isLarge(job)));
  const jobs = drafts.map((draft) => {
    const { due, client, kind } = draft;
    const hours = isLarge(draft) ? draft.hours * scale : draft.hours;
    const isRecurring = kind.schedule !== undefined;
    const length = isRecurring ? 364 : Math.round(Math.min(320, 110 + hours + random.between(0, 120)));
    const end = Math.max(isRecurring ? due + random.between(0, 182) : due, span.firstDay + 24);
    const start = Math.max(span.firstDay, end - length);
    const isFixed = !isRecurring && random.chance(kind.fixed);
    const worked = Math.min(14 + hours * 0.8, isFixed ? 60 : 200);
    const workStart = isRecurring ? start : Math.max(start, Math.round(end - worked));
    return { client, kind, hours, start, workStart, end, isRecurring, isFixed };
  });
  jobs.sort((one, other) => one.start - other.start);
  const hourly = blendedRate(firm) * realization;
  return jobs.map(({ client, kind, hours, start, workStart, end, isRecurring, isFixed }, index) => {
    const status = statusOf(random, span, start, end, isRecurring);
    const createdAt = createdAtOf({ start }, index, span);
    // Work starts when the engagement is signed, so a job that has not started has none.
    const isEngaged = index % 3 !== 2 && !['PLANNED', 'READY', 'CANCELLED'].includes(status);
    const periods = kind.schedule === 'MONTHLY' ? 12 : kind.schedule === 'QUARTERLY' ? 4 : 1;
    const fee =
      isRecurring || isFixed ? 5_000 * Math.max(1, Math.round((hours * hourly) / periods / 5_000)) : undefined;
    return {
      id: rowId(30, index, createdAt),
      name: jobName(kind, yearOf(kind.isAfterYearEnd ? end : start)),
      kind,
      client,
      start,
      workStart,
      end,
      status,
      taskIds: steps.map((_step, task) => rowId(31, index * steps.length + task, createdAt)),
      team: teamOf(random, firm, end),
      hours,
      billingType: isRecurring ? 'RECURRING' : isFixed ? 'FIXED_FEE' : 'TIME_AND_MATERIALS',
      fee,
      fiscalYear: yearOf(end) - (kind.isAfterYearEnd ? 1 : 0),
      engagementId: isEngaged ? rowId(70, index, createdAt) : undefined,
    };
  });
}

/** Returns the hours that the staff has for clients in the three years. */
function chargeableHours({ people, span: { firstDay, today } }: Firm): number {
  const days = ({ lastDay }: Person) => ((Math.min(lastDay, today) - firstDay) * 5) / 7;
  return people.reduce((sum, person) => sum + days(person) * hoursADay * person.chargeable, 0);
}

/** Returns the mean rate of an hour, in cents. */
function blendedRate({ people }: Firm): number {
  const working = people.filter(({ chargeable }) => chargeable > 0);
  const weight = working.reduce((sum, { chargeable }) => sum + chargeable, 0);
  return working.reduce((sum, { chargeable, rates }) => sum + chargeable * (rates[1] ?? 0), 0) / weight;
}

function createdAtOf({ start }: Pick<JobSeed, 'start'>, index: number, { today }: Span): number {
  return instantAt(Math.min(start, today) - 7, 16) + index;
}

/** Returns a function from a share of all jobs to the day on which it is due. */
function daysByShare({ firstDay, today }: Span): (share: number) => number {
  const sums: number[] = [];
  let total = 0;
  for (let day = firstDay + 10; day < today + plannedAhead; day++) {
    total += dueByMonth[monthOf(day) - 1] ?? 0;
    sums.push(total);
  }
  return (share) => firstDay + 10 + placeIn(sums, share * total);
}

/** Returns the first place whose sum is above a value, by bisection. */
function placeIn(sums: readonly number[], value: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns a function that picks a client for a job. A tenth of the clients have most of the work, and the first one has the most. */
function clientsBySize(random: Random, { today }: Span, clients: readonly ClientSeed[]): (due: number) => number {
  const sums: number[] = [];
  let total = 0;
  for (const [index, { kind }] of clients.entries()) {
    const size = kind === 'BUSINESS' ? Math.min(random.logNormal(0.8, 1.35), 14) : random.logNormal(1.4, 0.5);
    total += index === 0 ? Math.max(6, clients.length * 0.018) : size;
    sums.push(total);
  }
  return (due) => {
    for (let attempt = 0; attempt < 50; attempt++) {
      const index = placeIn(sums, random.next() * total);
      const { status, since } = clients[index] ?? { status: 'PROSPECT', since: 0 };
      if (since < due && (status === 'ACTIVE' || (status === 'INACTIVE' && due < today - 240))) return index;
    }
    return 0;
  };
}

/** Returns three different people who work for clients and are there until a day; small firms may have fewer. */
function teamOf(random: Random, { people }: Firm, end: number): number[] {
  const workers = people.flatMap(({ rank, lastDay }, index) => (rank === 'admin' || lastDay < end ? [] : [index]));
  return Array.from(
    { length: Math.min(3, workers.length) },
    () => workers.splice(random.below(workers.length), 1)[0] ?? 0,
  );
}

function statusOf(random: Random, { today }: Span, start: number, end: number, isRecurring: boolean): string {
  if (start >= today) return random.chance(0.6) ? 'PLANNED' : 'READY';
  if (random.chance(0.02)) return 'CANCELLED';
  if (end < today - closedAfter) return 'CLOSED';
  // Recurring work never waits.
  if (isRecurring && end >= today) return 'IN_PROGRESS';
  // Some are late.
  if (end < today - 30 || (end < today && random.chance(0.45))) return 'COMPLETED';
  return random.weighted([
    ['IN_PROGRESS', 66],
    ['ON_HOLD', 19],
    ['IN_REVIEW', 15],
  ]);
}

/** Returns the task of a job that work is done on on a day. */
export function taskOn({ start, end }: Pick<JobSeed, 'start' | 'end'>, day: number): number {
  return Math.max(0, Math.min(steps.length - 1, Math.floor(((day - start) * steps.length) / (end - start + 1))));
}

function* taskRows(jobs: readonly JobSeed[], firm: Firm): Generator<EntityRow> {
  const { today } = firm.span;
  for (const [index, job] of jobs.entries()) {
    const isDone = job.status === 'CLOSED' || job.status === 'COMPLETED' || job.status === 'IN_REVIEW';
    const current = job.start >= today ? -1 : taskOn(job, today);
    for (const [number, id] of job.taskIds.entries()) {
      const length = (job.end - job.start) / steps.length;
      const [from, to] = [Math.floor(job.start + number * length), Math.floor(job.start + (number + 1) * length)];
      const status =
        job.status === 'CANCELLED'
          ? 'CANCELLED'
          : isDone || number < current
            ? 'COMPLETED'
            : number === current
              ? 'IN_PROGRESS'
              : 'NOT_STARTED';
      const doneAt = status === 'COMPLETED' ? instantText(instantAt(Math.min(to, today - 1), 20)) : null;
      const assignee = firm.people[job.team[number % job.team.length] ?? 0]?.id ?? null;
      const typeId = firm.taskTypeIds[job.kind.area * steps.length + number] ?? '';
      const createdAt = createdAtOf(job, index, firm.span);
      yield {
        id,
        createdAt,
        name: steps[number]?.name ?? '',
        job_id: job.id,
        task_type_id: typeId,
        assignee_id: assignee,
        status,
        start_date: dateText(from),
        due_date: dateText(to),
        completed_at: doneAt,
        sequence: 10 * (number + 1),
        is_billable: true,
      };
    }
  }
}

const roles = ['IN_CHARGE', 'MANAGER', 'PREPARER'];

function* assignmentRows(jobs: readonly JobSeed[], firm: Firm): Generator<EntityRow> {
  for (const [index, job] of jobs.entries()) {
    const createdAt = createdAtOf(job, index, firm.span);
    for (const [place, person] of job.team.entries()) {
      const id = rowId(32, index * roles.length + place, createdAt);
      yield {
        id,
        createdAt,
        staff_id: firm.people[person]?.id ?? '',
        job_id: job.id,
        role: roles[place] ?? 'OTHER',
        allocated_hours: '8.00',
        start_date: dateText(job.start),
      };
    }
  }
}
