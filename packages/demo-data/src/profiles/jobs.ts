import { dateText, firstDay, instantAt, instantText, lastDay, yearOf } from './calendar.ts';
import { saveCounters } from './counters.ts';
import type { Firm } from './firm.ts';
import type { ClientSeed } from './parties.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

/** A job, its team, and the days between which work is done. */
export interface JobSeed {
  readonly id: string;
  readonly client: number;
  readonly start: number;
  readonly end: number;
  readonly status: string;
  readonly taskIds: readonly string[];
  readonly team: readonly number[];
  /** Whether it has a fixed fee. */
  readonly isFee: boolean;
  readonly fiscalYear: number;
  /** Undefined if no engagement covers it. */
  readonly engagementId: string | undefined;
}

const tasksPerJob = 6;
const taskNames = ['Collect documents', 'Bookkeeping clean-up', 'Prepare', 'First review', 'Second review', 'Deliver'];
/** Number of days after today on which the last planned jobs start. */
const plannedAhead = 190;
/** Jobs that ended more than this many days ago are closed. */
const closedAfter = 150;

/** Loads jobs, in the order of their start, with their tasks and assignments. */
export async function loadJobs(
  loader: Loader,
  profile: Profile,
  firm: Firm,
  clients: readonly ClientSeed[],
): Promise<readonly JobSeed[]> {
  const random = new Random(3);
  const jobs: JobSeed[] = [];
  const rows: EntityRow[] = [];
  const days = lastDay + plannedAhead - firstDay;
  const workers = firm.people.flatMap((person, index) => (person.rank === 'admin' ? [] : [index]));
  const numbers = new Map<number, number>();
  for (let index = 0; index < profile.jobs; index++) {
    const start = firstDay + Math.floor((index * days) / profile.jobs);
    const end = start + random.between(25, 75);
    const createdAt = instantAt(Math.min(start, lastDay) - 7, 16) + index;
    const id = rowId(30, index, createdAt);
    // A tenth of the clients have most of the jobs, and the first one has the most.
    const client = random.chance(0.025)
      ? 0
      : random.chance(0.6)
        ? random.below(Math.ceil(clients.length / 10))
        : random.below(clients.length);
    const status = statusOf(random, start, end);
    const team = Array.from({ length: 3 }, () => workers[random.below(workers.length)] ?? 0);
    const taskIds = Array.from({ length: tasksPerJob }, (_, task) => rowId(31, index * tasksPerJob + task, createdAt));
    const year = yearOf(createdAt / 86_400_000);
    const number = (numbers.get(year) ?? 1000) + 1;
    numbers.set(year, number);
    const ref = `J-${year}-${String(number).padStart(5, '0')}`;
    const isFee = index % 9 === 4;
    // Work starts when the engagement is signed, so a job that has not started has none.
    const isEngaged = index % 3 !== 2 && !['PLANNED', 'READY', 'CANCELLED'].includes(status);
    const engagementId = isEngaged ? rowId(70, index, createdAt) : undefined;
    jobs.push({
      id,
      client,
      start,
      end,
      status,
      taskIds,
      team,
      isFee,
      fiscalYear: yearOf(start),
      engagementId,
    });
    const hours = Math.min(600, Math.round(random.logNormal(10, 1.3) + 2));
    const doneAt = status === 'COMPLETED' || status === 'CLOSED' ? instantText(instantAt(end, 20)) : null;
    const at = (list: readonly string[]) => list[index % list.length] ?? null;
    rows.push([
      id,
      createdAt,
      `${taskNames[2]} ${yearOf(start)} work ${index + 1}`,
      status,
      clients[client]?.id ?? '',
      ref,
      ref,
      at(firm.templateIds),
      at(firm.serviceLineIds),
      at(firm.departmentIds),
      at(firm.officeIds),
      firm.people[0]?.id ?? null,
      firm.people[team[1] ?? 0]?.id ?? null,
      firm.people[team[0] ?? 0]?.id ?? null,
      yearOf(start),
      dateText(start),
      dateText(end),
      doneAt,
      status === 'CLOSED' ? instantText(instantAt(end + 60, 20)) : null,
      engagementId ?? null,
      isFee ? 'FIXED_FEE' : 'TIME_AND_MATERIALS',
      isFee ? `${hours * 180}.00` : null,
      `${hours}.00`,
      'USD',
      index % 10 === 0 ? 'HIGH' : 'NORMAL',
    ]);
  }
  await loader.entities(
    'job',
    [
      'name',
      'status',
      'client_id',
      'job_ref',
      'pms_ref',
      'job_template_id',
      'service_line_id',
      'department_id',
      'office_id',
      'partner_id',
      'manager_id',
      'in_charge_id',
      'fiscal_year',
      'start_date',
      'due_date',
      'completed_at',
      'closed_at',
      'engagement_id',
      'billing_type',
      'fee_amount',
      'budget_hours',
      'currency',
      'priority',
    ],
    rows,
  );
  const counters = [...numbers].map(([year, value]) => [`job.job_ref.${year}`, value] as const);
  await saveCounters(loader, counters);
  const taskColumns = [
    'name',
    'job_id',
    'task_type_id',
    'assignee_id',
    'status',
    'start_date',
    'due_date',
    'completed_at',
    'sequence',
    'is_billable',
  ];
  await loader.entities('task', taskColumns, taskRows(jobs, firm));
  const columns = ['staff_id', 'job_id', 'role', 'allocated_hours', 'start_date'];
  await loader.entities('staff_job_assignment', columns, assignmentRows(jobs, firm));
  return jobs;
}

function statusOf(random: Random, start: number, end: number): string {
  if (start > lastDay) return random.chance(0.6) ? 'PLANNED' : 'READY';
  if (random.chance(0.02)) return 'CANCELLED';
  if (end < lastDay - closedAfter) return 'CLOSED';
  if (end < lastDay) return 'COMPLETED';
  return random.weighted([
    ['IN_PROGRESS', 66],
    ['ON_HOLD', 19],
    ['IN_REVIEW', 15],
  ]);
}

/** Returns the task of a job that work is done on on a day. */
export function taskOn({ start, end }: Pick<JobSeed, 'start' | 'end'>, day: number): number {
  return Math.min(tasksPerJob - 1, Math.floor(((day - start) * tasksPerJob) / (end - start + 1)));
}

function* taskRows(jobs: readonly JobSeed[], firm: Firm): Generator<EntityRow> {
  for (const [index, job] of jobs.entries()) {
    const isDone = job.status === 'CLOSED' || job.status === 'COMPLETED' || job.status === 'IN_REVIEW';
    const current = job.start > lastDay ? -1 : taskOn(job, lastDay);
    for (const [number, id] of job.taskIds.entries()) {
      const length = (job.end - job.start) / tasksPerJob;
      const [from, to] = [Math.floor(job.start + number * length), Math.floor(job.start + (number + 1) * length)];
      const status =
        job.status === 'CANCELLED'
          ? 'CANCELLED'
          : isDone || number < current
            ? 'COMPLETED'
            : number === current
              ? 'IN_PROGRESS'
              : 'NOT_STARTED';
      const doneAt = status === 'COMPLETED' ? instantText(instantAt(Math.min(to, lastDay - 1), 20)) : null;
      const assignee = firm.people[job.team[number % job.team.length] ?? 0]?.id ?? null;
      const typeId = firm.taskTypeIds[(index + number) % firm.taskTypeIds.length] ?? '';
      const createdAt = instantAt(Math.min(job.start, lastDay) - 7, 16) + index;
      yield [
        id,
        createdAt,
        taskNames[number] ?? '',
        job.id,
        typeId,
        assignee,
        status,
        dateText(from),
        dateText(to),
        doneAt,
        10 * (number + 1),
        true,
      ];
    }
  }
}

const roles = ['IN_CHARGE', 'MANAGER', 'PREPARER'];

function* assignmentRows(jobs: readonly JobSeed[], firm: Firm): Generator<EntityRow> {
  for (const [index, job] of jobs.entries()) {
    const createdAt = instantAt(Math.min(job.start, lastDay) - 7, 16) + index;
    for (const [place, person] of job.team.entries()) {
      const id = rowId(32, index * roles.length + place, createdAt);
      yield [
        id,
        createdAt,
        firm.people[person]?.id ?? '',
        job.id,
        roles[place] ?? 'OTHER',
        '8.00',
        dateText(job.start),
      ];
    }
  }
}
