import { dateText, firstDay, instantAt, instantText, isWeekday, lastDay, monthOf, yearOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import { type JobSeed, taskOn } from './jobs.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

/** The source of a row of work in progress. */
export type WorkKind = 'TIME' | 'EXPENSE' | 'FIXED_FEE' | 'PROGRESS';

/** Work in progress as columns, because there are a million rows. */
export interface Work {
  readonly ids: string[];
  readonly kinds: WorkKind[];
  /** The time or expense entry; undefined for fees. */
  readonly entryIds: (string | undefined)[];
  readonly jobs: number[];
  /** Undefined for fees. */
  readonly people: (number | undefined)[];
  readonly days: number[];
  /** In hundredths. */
  readonly hours: number[];
  /** In cents. */
  readonly rates: number[];
  readonly amounts: number[];
}

/** Number of days before today whose entries are not all approved yet. */
const recent = 14;
const leapDay = Date.parse('2024-02-29') / 86_400_000;

/**
 * Loads the time of three years, by day and person, so that no day has more than 24 hours. Staff who work for clients
 * spend about two thirds of their entries on the jobs that they are assigned to.
 */
export async function loadTime(loader: Loader, profile: Profile, firm: Firm, jobs: readonly JobSeed[]): Promise<Work> {
  const work: Work = {
    ids: [],
    kinds: [],
    entryIds: [],
    jobs: [],
    people: [],
    days: [],
    hours: [],
    rates: [],
    amounts: [],
  };
  const columns = [
    'staff_id',
    'job_id',
    'task_id',
    'code',
    'work_date',
    'hours',
    'is_billable',
    'description',
    'status',
    'rejection_reason',
    'billing_rate',
    'amount',
    'approved_by_id',
    'approved_at',
  ];
  await loader.entities('time_entry', columns, entryRows(profile, firm, jobs, work));
  return work;
}

function* entryRows({ entries }: Profile, firm: Firm, jobs: readonly JobSeed[], work: Work): Generator<EntityRow> {
  const random = new Random(4);
  const assigned = firm.people.map((_person, index) => ({
    jobs: jobsOf(jobs, index),
    next: 0,
    active: [] as number[],
  }));
  const weekdays = Math.round(((lastDay - firstDay) * 5) / 7);
  const present = firm.people.reduce((sum, person) => sum + (person.hasLeft ? 0.6 : 1), 0);
  const perDay = entries / (weekdays * present);
  const leaves = firm.people.map((person) => (person.hasLeft ? firstDay + random.between(200, 1000) : Infinity));
  const approverId = firm.people[0]?.id ?? null;
  let count = 0;
  for (let day = firstDay; day < lastDay; day++) {
    if (!isWeekday(day)) continue;
    const season = [2, 3, 4].includes(monthOf(day)) ? 1.35 : monthOf(day) === 12 ? 0.75 : 0.96;
    for (const [index, person] of firm.people.entries()) {
      const own = assigned[index];
      if (own === undefined || day > (leaves[index] ?? 0)) continue;
      while ((jobs[own.jobs[own.next] ?? -1]?.start ?? Infinity) <= day) own.active.push(own.jobs[own.next++] ?? 0);
      own.active = own.active.filter((job) => (jobs[job]?.end ?? 0) >= day);
      const expected = perDay * season;
      const today = Math.min(9, Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0));
      for (let number = 0; number < today; number++) {
        const jobIndex = random.chance(0.85) ? own.active[random.below(own.active.length)] : undefined;
        const job = jobIndex === undefined ? undefined : jobs[jobIndex];
        const isBillable = job !== undefined;
        // Tenths of an hour, which is the tenant's increment; nine entries are less than a day.
        const hours = 10 * random.between(6, 26);
        const rate = isBillable ? (person.rates[yearOf(day) - 2023] ?? 0) : 0;
        const amount = Math.round((hours * rate) / 100);
        const isRecent = day >= lastDay - recent;
        const status = isRecent
          ? random.weighted([
              ['APPROVED', 30],
              ['SUBMITTED', 36],
              ['DRAFT', 28],
              ['REJECTED', 6],
            ])
          : 'APPROVED';
        const createdAt = instantAt(day, 15 + number) + (index % 1000);
        const id = rowId(40, count++, createdAt);
        const isApproved = status === 'APPROVED';
        yield [
          id,
          createdAt,
          person.id,
          job?.id ?? null,
          job === undefined ? null : (job.taskIds[taskOn(job, day)] ?? null),
          (isBillable ? firm.workCodes[count % 109] : firm.otherCodes[count % 31]) ?? null,
          dateText(day),
          (hours / 100).toFixed(2),
          isBillable,
          day === leapDay ? 'Work on a leap day' : isBillable ? 'Preparation and review' : 'Firm',
          status,
          status === 'REJECTED' ? 'The description does not say what was done.' : null,
          (isApproved ? rate / 100 : 0).toFixed(2),
          ((isApproved ? amount : 0) / 100).toFixed(2),
          isApproved ? approverId : null,
          isApproved ? instantText(createdAt + 3_600_000) : null,
        ];
        if (!isApproved || jobIndex === undefined) continue;
        work.ids.push(rowId(41, work.ids.length, createdAt + 3_600_000));
        work.kinds.push('TIME');
        work.entryIds.push(id);
        work.jobs.push(jobIndex);
        work.people.push(index);
        work.days.push(day);
        work.hours.push(hours);
        work.rates.push(rate);
        work.amounts.push(amount);
      }
    }
  }
}

/** Returns the jobs that a person is assigned to and that have work, in the order of their start. */
function jobsOf(jobs: readonly JobSeed[], person: number): number[] {
  return jobs.flatMap((job, index) =>
    job.team.includes(person) && job.status !== 'CANCELLED' && job.start < lastDay ? [index] : [],
  );
}
