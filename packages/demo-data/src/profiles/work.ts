import { entityNamed, type RowInput } from '@financial-automation/server/service';
import { dateText, isWeekday, monthOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import { hoursADay, type JobSeed, taskId, taskOn } from './jobs.ts';
import { expenseCodes } from './lists.ts';
import { inTurn } from './names.ts';
import type { Person } from './people.ts';
import { leaveCodes, nonWorkCodes, steps, workCodes } from './practice.ts';
import { Random } from './random.ts';
import { idOf, rowSteps, type Step, stepsFor } from './step.ts';

/** What a person enters for a day. */
interface Entry {
  readonly person: Person;
  readonly day: number;
  /** Undefined for what is not for a client. */
  readonly job: JobSeed | undefined;
  /** Tenths of an hour, which is the tenant's increment. */
  readonly tenths: number;
  readonly status: 'APPROVED' | 'SUBMITTED' | 'DRAFT' | 'REJECTED';
  /** The number of the code of work without a client, of which only the first ones are leave. */
  readonly internal: number;
  readonly note: number;
}

/** Number of days before today whose entries are not all approved yet. */
const recent = 18;
/** How much is worked in each month: the season is from February to April. */
const seasonOf = (day: number) => [1, 1.3, 1.3, 1.3, 1, 1, 1, 1, 1, 1, 1, 0.8][monthOf(day) - 1] ?? 1;

/** Steps that record the time and expenses of the three years, and approve what is not recent. */
export function* workSteps(firm: Firm): Generator<Step> {
  yield* decided('TimeEntry', 'timeEntry', createEntries(firm), ({ person, day, job, tenths, internal, note }) => {
    const step = job === undefined ? 0 : taskOn(job, day);
    const notes = job === undefined ? [inTurn(nonWorkCodes, internal)] : inTurn(steps, step).notes;
    const code = (of: JobSeed) => inTurn(workCodes, of.kind.area * steps.length + step).code;
    const work =
      job === undefined
        ? { code: `N${100 + internal}`, isBillable: false }
        : { jobId: job.id, taskId: taskId(job, step), code: code(job) };
    const hours = (tenths / 10).toFixed(2);
    return { staffId: person.id, workDate: dateText(day), hours, description: inTurn(notes, note), ...work };
  });
  yield* decided('ExpenseEntry', 'expenseEntry', createExpenses(firm), ({ person, day, job, cents, markup }) => {
    const place = cents % expenseCodes.length;
    return {
      staffId: person,
      jobId: job.id,
      expenseDate: dateText(day),
      cost: (cents / 100).toFixed(2),
      code: inTurn(expenseCodes, place),
      description: inTurn(purposes, place),
      billableAmount: ((cents * (100 + markup)) / 10_000).toFixed(2),
      markupPercent: markup === 0 ? null : String(markup),
    };
  });
}

/** Steps that create entries, and others that approve or reject them. */
function* decided<Type extends 'TimeEntry' | 'ExpenseEntry', Item extends Pick<Entry, 'status'>>(
  type: Type,
  kind: 'timeEntry' | 'expenseEntry',
  items: readonly Item[],
  fieldsOf: (item: Item) => RowInput<Type>,
): Generator<Step> {
  const operation = 'upsertEntries';
  const created = (item: Item) => ({ ...fieldsOf(item), status: item.status === 'DRAFT' ? 'DRAFT' : 'SUBMITTED' });
  yield* rowSteps<Type, Item>(type, kind, items, created, { operation });
  const later = [...items.entries()].filter(([, { status }]) => status === 'APPROVED' || status === 'REJECTED');
  yield* stepsFor(operation, later, (plan, [index, { status }]) => {
    const reason = status === 'REJECTED' ? { rejectionReason: 'The description does not say what was done.' } : {};
    plan.untyped.update(entityNamed(type), idOf(kind, index), { status, ...reason }, {});
  });
}

function statusOf(random: Random, today: number, day: number): Entry['status'] {
  if (day < today - recent || random.chance(day < today - 8 ? 0.75 : 0.15)) return 'APPROVED';
  return random.weighted([
    ['SUBMITTED', 50],
    ['DRAFT', 40],
    ['REJECTED', 10],
  ]);
}

/** Draws what each person works on each day, in the order of days. */
function createEntries({ span, size, people, jobs }: Firm): Entry[] {
  const random = new Random(4);
  const left = jobs.map(({ hours }) => hours);
  const expected = size.entries / (((span.today - span.firstDay) * 5) / 7) / (people.length - 1);
  const entries: Entry[] = [];
  for (let day = span.firstDay; day < span.today; day++) {
    if (!isWeekday(day)) continue;
    for (const person of people) {
      if (day > person.lastDay) continue;
      const number = Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0);
      // On some days nobody works for clients, such as days of leave.
      const isAway = random.chance(0.06);
      for (let place = 0; place < number; place++) {
        const isForClient = !isAway && random.chance(person.chargeable / 0.94);
        const job = isForClient ? jobFor(random, jobs, left, person, day) : undefined;
        const tenths = Math.max(1, Math.round(((hoursADay * 10 * seasonOf(day)) / number) * (0.5 + random.next())));
        if (job !== undefined) left[job.index] = (left[job.index] ?? 0) - tenths / 10;
        const internal = isAway ? random.below(leaveCodes) : random.between(leaveCodes, nonWorkCodes.length - 1);
        const status = statusOf(random, span.today, day);
        entries.push({ person, day, job, tenths, status, internal, note: random.below(12) });
      }
    }
  }
  return entries;
}

/** Picks one of the jobs of a person by what is left to do a day; undefined without any. */
function jobFor(random: Random, jobs: readonly JobSeed[], left: readonly number[], person: Person, day: number) {
  const active = jobs.filter(
    ({ team, status, workStart, end }) =>
      team.includes(person.index) && status !== 'CANCELLED' && workStart <= day && end >= day,
  );
  if (active.length === 0) return undefined;
  // Large jobs take what is left of a day when all others are done.
  return random.weighted(
    active.map((job) => [job, Math.max(left[job.index] ?? 0, job.hours / 200) / (job.end - day + 3)] as const),
  );
}

/** By expense code. */
const purposes = ['Drive to the client', 'Filing fee', 'Certified mail', 'Hotel, audit fieldwork'] as const;

/** The firm adds a markup to some expenses. */
function createExpenses({ span: { today }, jobs }: Firm) {
  const random = new Random(7);
  const worked = jobs.filter(({ status, team, start }) => status !== 'CANCELLED' && team.length > 0 && start < today);
  return worked.map((job) => {
    const day = random.between(job.start, Math.min(job.end, today - 1));
    return {
      job,
      day,
      person: idOf('staff', job.team[0] ?? 0),
      cents: 10 * random.between(50, 4_000),
      markup: random.chance(0.1) ? 10 : 0,
      status: statusOf(random, today, day),
    };
  });
}
