import { dateText, instantAt, instantText, isLeapDay, isWeekday, monthOf, yearOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import { hoursADay, type JobSeed, taskOn } from './jobs.ts';
import { codesOfArea, leaveCodes, nonWorkCodes, steps, workCodes } from './practice.ts';
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
  readonly codes: (string | undefined)[];
  /** In hundredths. */
  readonly hours: number[];
  /** In cents. */
  readonly rates: number[];
  readonly amounts: number[];
}

/** Number of days before today whose entries are not all approved yet. */
const recent = 28;

/**
 * Loads the time of three years, by day and person, so that no day has more than 24 hours. Staff work for clients in the share
 * of their hours that their rank has, and more on the jobs that have more left to do.
 */
export async function loadTime(loader: Loader, profile: Profile, firm: Firm, jobs: readonly JobSeed[]): Promise<Work> {
  const work: Work = {
    ids: [],
    kinds: [],
    entryIds: [],
    jobs: [],
    people: [],
    days: [],
    codes: [],
    hours: [],
    rates: [],
    amounts: [],
  };
  await loader.entities('time_entry', entryRows(profile, firm, jobs, work));
  return work;
}

function seasonOf(day: number): number {
  const month = monthOf(day);
  return month >= 2 && month <= 4 ? 1.3 : month === 12 ? 0.72 : 0.93;
}

function* entryRows({ entries }: Profile, firm: Firm, jobs: readonly JobSeed[], work: Work): Generator<EntityRow> {
  const { firstDay, today } = firm.span;
  const random = new Random(4);
  const left = jobs.map(({ hours }) => hours);
  const assigned = firm.people.map((_person, index) => ({
    jobs: jobsOf(firm, jobs, index),
    next: 0,
    active: [] as number[],
  }));
  const present = firm.people.reduce((sum, { lastDay }) => sum + Math.min(lastDay, today) - firstDay, 0);
  const perDay = entries / ((present * 5) / 7);
  let count = 0;
  for (let day = firstDay; day < today; day++) {
    if (!isWeekday(day)) continue;
    const season = seasonOf(day);
    for (const [index, person] of firm.people.entries()) {
      const own = assigned[index];
      if (own === undefined || day > person.lastDay) continue;
      while ((jobs[own.jobs[own.next] ?? -1]?.workStart ?? Infinity) <= day) own.active.push(own.jobs[own.next++] ?? 0);
      own.active = own.active.filter((job) => (jobs[job]?.end ?? 0) >= day);
      const expected = perDay * season;
      const number = Math.max(1, Math.min(9, Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0)));
      // On some days nobody works for clients, such as days of leave.
      const isAway = random.chance(0.06);
      // Tenths of an hour, which is the tenant's increment. Nine entries are less than a day.
      const mean = (hoursADay * 10 * season) / Math.max(1, expected);
      for (let place = 0; place < number; place++) {
        const entry = drawEntry(random, firm, jobs, left, { day, person: index, isAway, active: own.active, mean });
        const row = entryRow(entry, firm, jobs, count++, place);
        yield row;
        addWork(work, entry, row);
      }
    }
  }
}

/** What a person enters for a day. */
interface Entry {
  readonly day: number;
  readonly person: number;
  /** Undefined for what is not for a client. */
  readonly jobIndex: number | undefined;
  /** In hundredths. */
  readonly hours: number;
  /** In cents. */
  readonly rate: number;
  readonly amount: number;
  readonly status: 'APPROVED' | 'SUBMITTED' | 'DRAFT' | 'REJECTED';
  /** The place of the task in its job. */
  readonly step: number;
  readonly code: string | undefined;
  /** The code of work without a client, of which only the first ones are leave. */
  readonly internal: number;
  readonly description: string | null;
}

function drawEntry(
  random: Random,
  { span, people }: Firm,
  jobs: readonly JobSeed[],
  /** The hours left of each job, which the entry reduces. */
  left: number[],
  {
    day,
    person,
    isAway,
    active,
    mean,
  }: {
    readonly day: number;
    readonly person: number;
    readonly isAway: boolean;
    readonly active: readonly number[];
    readonly mean: number;
  },
): Entry {
  const { chargeable = 0, rates = [] } = people[person] ?? {};
  const isForClient = !isAway && random.chance(chargeable / 0.94);
  const jobIndex = isForClient ? jobFor(random, jobs, left, active, day) : undefined;
  const job = jobIndex === undefined ? undefined : jobs[jobIndex];
  const usual = 10 * Math.max(1, Math.min(80, Math.round(mean * (0.5 + random.next()))));
  const open = Math.max(30, Math.ceil((left[jobIndex ?? -1] ?? 0) * 10) * 10);
  const hours = job === undefined || job.hours > 12 ? usual : Math.min(usual, open);
  const rate = job === undefined ? 0 : (rates[yearOf(day) - span.firstYear] ?? 0);
  const isApproved = day < span.today - recent || random.chance(day < span.today - 8 ? 0.75 : 0.15);
  const status = isApproved
    ? 'APPROVED'
    : random.weighted([
        ['SUBMITTED', 50],
        ['DRAFT', 40],
        ['REJECTED', 10],
      ]);
  const step = job === undefined ? 0 : taskOn(job, day);
  const code = job === undefined ? undefined : workCodes[job.kind.area * codesOfArea + step]?.code;
  const internal = isAway ? random.below(leaveCodes) : random.between(leaveCodes, nonWorkCodes.length - 1);
  const notes = job === undefined ? [nonWorkCodes[internal] ?? ''] : (steps[step]?.notes ?? []);
  if (jobIndex !== undefined) left[jobIndex] = (left[jobIndex] ?? 0) - hours / 100;
  const description = isLeapDay(day) ? 'Work on a leap day' : (notes[random.below(notes.length)] ?? null);
  const amount = Math.round((hours * rate) / 100);
  return { day, person, jobIndex, hours, rate, amount, status, step, code, internal, description };
}

function entryRow(
  { day, person, jobIndex, hours, rate, amount, status, step, code, internal, description }: Entry,
  { people, partnerIds }: Firm,
  jobs: readonly JobSeed[],
  number: number,
  place: number,
): EntityRow {
  const job = jobs[jobIndex ?? -1];
  const createdAt = instantAt(day, 15 + place) + (person % 1000);
  const isApproved = status === 'APPROVED';
  return {
    id: rowId(40, number, createdAt),
    createdAt,
    staff_id: people[person]?.id ?? '',
    job_id: job?.id ?? null,
    task_id: job === undefined ? null : (job.taskIds[step] ?? null),
    code: code ?? `N${100 + internal}`,
    work_date: dateText(day),
    hours: (hours / 100).toFixed(2),
    is_billable: job !== undefined,
    description,
    status,
    rejection_reason: status === 'REJECTED' ? 'The description does not say what was done.' : null,
    billing_rate: (isApproved ? rate / 100 : 0).toFixed(2),
    amount: ((isApproved ? amount : 0) / 100).toFixed(2),
    approved_by_id: isApproved ? partnerIds[0] : null,
    approved_at: isApproved ? instantText(createdAt + 3_600_000) : null,
  };
}

/** Adds the work in progress of an entry, if it is approved and for a client. */
function addWork(
  work: Work,
  { day, person, jobIndex, hours, rate, amount, status, code }: Entry,
  { id, createdAt }: EntityRow,
): void {
  if (status !== 'APPROVED' || jobIndex === undefined) return;
  work.ids.push(rowId(41, work.ids.length, createdAt + 3_600_000));
  work.kinds.push('TIME');
  work.entryIds.push(id);
  work.jobs.push(jobIndex);
  work.people.push(person);
  work.days.push(day);
  work.codes.push(code);
  work.hours.push(hours);
  work.rates.push(rate);
  work.amounts.push(amount);
}

/** Picks one of the jobs of a person by what is left to do a day; undefined without any. */
function jobFor(
  random: Random,
  jobs: readonly JobSeed[],
  left: readonly number[],
  active: readonly number[],
  day: number,
): number | undefined {
  let total = 0;
  const sums = active.map((index) => {
    const { end = day, hours = 0 } = jobs[index] ?? {};
    // Large jobs take what is left of a day when all others are done.
    total += Math.max(left[index] ?? 0, hours > 12 ? hours / 200 : 0) / (end - day + 3);
    return total;
  });
  const chosen = random.next() * total;
  const place = sums.findIndex((sum) => sum > chosen);
  return place === -1 ? undefined : active[place];
}

/** Returns the jobs that a person is assigned to and that have work, in the order in which their work starts. */
function jobsOf({ span }: Firm, jobs: readonly JobSeed[], person: number): number[] {
  const places = jobs.flatMap((job, index) =>
    job.team.includes(person) && job.status !== 'CANCELLED' && job.workStart < span.today ? [index] : [],
  );
  return places.sort((one, other) => (jobs[one]?.workStart ?? 0) - (jobs[other]?.workStart ?? 0));
}
