import { planEngagement } from '@financial-automation/server/modules/engagements';
import { entityNamed } from '@financial-automation/server/service';
import { dateText, monthOf, type Span, yearOf } from './calendar.ts';
import { type ClientSeed, signerOf } from './clients.ts';
import type { Person } from './people.ts';
import { type BillingType, businessReturn, type JobKind, jobName, kindsFor, steps, templates } from './practice.ts';
import type { Size } from './profile.ts';
import { Random } from './random.ts';
import { idOf, rowSteps, type Step, stepsFor } from './step.ts';

/** A job, its team, and the days between which work is done. */
export interface JobSeed {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly kind: JobKind;
  readonly client: ClientSeed;
  readonly start: number;
  /** The first day of work: small jobs wait until shortly before their end. */
  readonly workStart: number;
  readonly end: number;
  /** On the last day of the data. */
  readonly status: (typeof way)[number] | 'ON_HOLD' | 'CANCELLED';
  readonly team: readonly number[];
  /** Expected hours. */
  readonly hours: number;
  readonly billingType: BillingType;
  /** In dollars: of the whole job or, if it is recurring, of a month or a quarter. */
  readonly fee: number | undefined;
  readonly fiscalYear: number;
}

type Days = Pick<JobSeed, 'start' | 'end'>;

/** The status of jobs, in the order in which they have them. */
const way = ['PLANNED', 'READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED', 'CLOSED'] as const;
const order: readonly string[] = way;
/** The shares of jobs that are due in each month: 30 percent in March and April, 18 percent in September and October. */
const dueByMonth = [6.5, 6.5, 15, 15, 6.5, 6.5, 6.5, 6.5, 9, 9, 6.5, 6.5];
/** Mean hours of a working day, with leave and internal work. */
export const hoursADay = 8.15;
/** Number of days after today until which jobs are planned. */
const plannedAhead = 390;
/** Jobs that ended more than this many days ago are closed. */
const closedAfter = 120;
/** What a fixed fee comes to, for an hour that is expected. */
const hourly = 170;

export const taskId = ({ index }: JobSeed, step: number): string => idOf('task', index * steps.length + step);

/** Creates jobs, in the order of their start. The work of large ones is as much as the staff has time for. */
export function createJobs(
  span: Span,
  { jobs: count }: Size,
  people: readonly Person[],
  clients: readonly ClientSeed[],
): JobSeed[] {
  const random = new Random(3);
  const dueDay = daysByShare(span);
  const clientFor = clientsBySize(random, span, clients);
  const drafts = Array.from({ length: count }, (_, index) => {
    const due = dueDay((index + 0.5) / count);
    const client = clientFor(due);
    // Work abroad is not by the hour: the rates of people are in dollars.
    const isAbroad = client.currency !== 'USD';
    const kind: JobKind = isAbroad ? businessReturn : random.weighted(kindsFor(client.kind));
    return { due, client, kind, isAbroad, hours: Math.min(600, random.logNormal(kind.hours, 0.7)) };
  });
  const hoursOf = (some: readonly { readonly hours: number }[]) => some.reduce((sum, { hours }) => sum + hours, 0);
  const past = drafts.filter(({ due, isAbroad }) => due < span.today + 60 && !isAbroad);
  const [large, small] = [
    past.filter(({ client }) => client.kind === 'BUSINESS'),
    past.filter(({ client }) => client.kind !== 'BUSINESS'),
  ];
  const scale = (chargeableHours(span, people) - hoursOf(small)) / hoursOf(large);
  return drafts
    .map((draft) =>
      withDays(random, span, draft.client.kind === 'BUSINESS' ? { ...draft, hours: draft.hours * scale } : draft),
    )
    .sort((one, other) => one.start - other.start)
    .map(({ client, kind, isAbroad, isFixed, hours, start, workStart, end }, index): JobSeed => {
      const isRecurring = kind.schedule !== undefined;
      const periods = kind.schedule === 'MONTHLY' ? 12 : kind.schedule === 'QUARTERLY' ? 4 : 1;
      return {
        id: idOf('job', index),
        index,
        name: jobName(kind, yearOf(kind.isAfterYearEnd ? end : start)),
        kind,
        client,
        start,
        workStart,
        end,
        status: statusOf(random, span, { start, end }, isRecurring),
        team: isAbroad ? [] : teamOf(random, people, end),
        hours,
        billingType: isRecurring ? 'RECURRING' : isFixed ? 'FIXED_FEE' : 'TIME_AND_MATERIALS',
        fee: isRecurring || isFixed ? 50 * Math.max(1, Math.round((hours * hourly) / periods / 50)) : undefined,
        fiscalYear: yearOf(end) - (kind.isAfterYearEnd ? 1 : 0),
      };
    });
}

function withDays(
  random: Random,
  span: Span,
  { due, kind, hours, ...draft }: Pick<JobSeed, 'kind' | 'client' | 'hours'> & { due: number; isAbroad: boolean },
) {
  const isRecurring = kind.schedule !== undefined;
  const length = isRecurring ? 364 : Math.round(Math.min(320, 110 + hours + random.between(0, 120)));
  const end = Math.max(isRecurring ? due + random.between(0, 182) : due, span.firstDay + 24);
  const start = Math.max(span.firstDay, end - length);
  const isFixed = draft.isAbroad || (!isRecurring && random.chance(kind.fixed));
  const workStart = isRecurring
    ? start
    : Math.max(start, Math.round(end - Math.min(14 + hours * 0.8, isFixed ? 60 : 200)));
  return { ...draft, kind, isFixed, hours, start, workStart, end };
}

/** Returns the hours that the staff has for clients in the three years. */
function chargeableHours({ firstDay, today }: Span, people: readonly Person[]): number {
  const days = ({ lastDay }: Person) => ((Math.min(lastDay, today) - firstDay) * 5) / 7;
  return people.reduce((sum, person) => sum + days(person) * hoursADay * person.chargeable, 0);
}

/** Returns a function from a share of all jobs to the day on which it is due. */
function daysByShare({ firstDay, today }: Span): (share: number) => number {
  const days = Array.from({ length: today + plannedAhead - firstDay - 10 }, (_, index) => firstDay + 10 + index);
  const weights = days.map((day) => dueByMonth[monthOf(day) - 1] ?? 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return (share) => {
    let left = share * total;
    const place = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    return days.at(place) ?? today;
  };
}

/** Returns a function that picks a client for a job. A tenth of the clients have most of the work, and the first one has the most. */
function clientsBySize(random: Random, { today }: Span, clients: readonly ClientSeed[]): (due: number) => ClientSeed {
  const sized = clients.map((client): readonly [ClientSeed, number] => {
    const size = client.kind === 'BUSINESS' ? Math.min(random.logNormal(0.8, 1.35), 14) : random.logNormal(1.4, 0.5);
    return [client, client.index === 0 ? 6 : size];
  });
  const isThere = ({ status }: ClientSeed, due: number) =>
    status === 'ACTIVE' || (status === 'INACTIVE' && due < today - 240);
  return (due) => random.weighted(sized.filter(([client]) => isThere(client, due)));
}

/** Returns three different people, or all, who are there until a day. */
function teamOf(random: Random, people: readonly Person[], end: number): number[] {
  const there = people.filter(({ lastDay }) => lastDay >= end).map(({ index }) => index);
  return Array.from({ length: Math.min(3, there.length) }, () => there.splice(random.below(there.length), 1)[0] ?? 0);
}

function statusOf(random: Random, { today }: Span, { start, end }: Days, isRecurring: boolean): JobSeed['status'] {
  if (start >= today) return random.pick(['PLANNED', 'PLANNED', 'READY']);
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
export function taskOn({ start, end }: Days, day: number): number {
  return Math.max(0, Math.min(steps.length - 1, Math.floor(((day - start) * steps.length) / (end - start + 1))));
}

/** Steps that write jobs with their tasks, whose assignees the service assigns to the job, and the engagements of most of them. */
export function* jobSteps(jobs: readonly JobSeed[]): Generator<Step> {
  yield* rowSteps(
    'Job',
    'job',
    jobs,
    ({ name, client, kind, team, start, end, fiscalYear, hours, billingType, fee }, index) => {
      const ofKind = templates.flatMap(({ of }, place) => (of === kind ? [place] : []));
      return {
        name,
        clientId: client.id,
        jobRef: `J-${yearOf(start)}-${10_001 + index}`,
        jobTemplateId: idOf('jobTemplate', ofKind[index % ofKind.length] ?? 0),
        serviceLineId: idOf('serviceLine', kind.line),
        departmentId: idOf('department', kind.area % 7),
        officeId: idOf('office', index % 3),
        partnerId: idOf('staff', 0),
        managerId: idOf('staff', team[1] ?? 0),
        inChargeId: idOf('staff', team[0] ?? 0),
        fiscalYear,
        startDate: dateText(start),
        dueDate: dateText(end),
        billingType,
        feeAmount: fee === undefined ? null : `${fee}.00`,
        billingSchedule: billingType === 'RECURRING' ? (kind.schedule ?? null) : null,
        budgetHours: `${Math.ceil(hours)}.00`,
        priority: index % 10 === 0 ? ('HIGH' as const) : ('NORMAL' as const),
      };
    },
  );
  const tasks = jobs.flatMap((job) => steps.map(({ name }, step) => ({ job, name, step })));
  yield* rowSteps('Task', 'task', tasks, ({ job: { id, start, end, kind, team }, name, step }) => {
    const dayOf = (share: number) => dateText(Math.floor(start + (share * (end - start)) / steps.length));
    return {
      jobId: id,
      name,
      taskTypeId: idOf('taskType', kind.area * steps.length + step),
      assigneeId: idOf('staff', team[step % Math.max(1, team.length)] ?? 0),
      startDate: dayOf(step),
      dueDate: dayOf(step + 1),
      sequence: 10 * (step + 1),
      isBillable: true,
    };
  });
  yield* engagementSteps(jobs);
}

/** Most jobs have an engagement, which is signed before work begins; some letters are not signed yet. */
function* engagementSteps(jobs: readonly JobSeed[]): Generator<Step> {
  const engaged = jobs.filter(({ index, status }) => index % 3 !== 2 && status !== 'CANCELLED');
  const sent = engaged.filter(({ index, status }) => status !== 'PLANNED' || index % 2 === 0);
  const signed = sent.filter(({ status }) => status !== 'PLANNED' && status !== 'READY');
  yield* stepsFor('createEngagement', engaged, (plan, { index, id, name, kind, client, fee, billingType, ...job }) =>
    planEngagement(
      plan,
      {
        clientId: client.id,
        fiscalYear: job.fiscalYear,
        type: kind.engagement,
        name: `${name}, ${client.name}`.slice(0, 200),
        startDate: dateText(job.start),
        endDate: dateText(job.start + 365),
        partnerId: idOf('staff', 0),
        managerId: idOf('staff', 1),
        ...(fee !== undefined && { feeAmount: `${fee}.00` }),
        feeType: billingType,
        signerContactIds: [signerOf(client)],
        jobIds: [id],
      },
      { id: idOf('engagement', index), engagementRef: `E-${yearOf(job.start)}-${10_001 + index}` },
    ),
  );
  yield* stepsFor('updateEngagement', sent, (plan, { index, client }) => {
    const id = idOf('engagement', index);
    plan.update(entityNamed('Engagement'), id, { status: 'SENT' });
    if (!signed.some((one) => one.index === index)) return;
    const signers = [{ contactId: signerOf(client), status: 'SIGNED', signedAt: plan.now } as const];
    plan.set(entityNamed('Engagement'), id, { signers });
  });
}

/** Steps that bring jobs and their tasks to their last status. */
export function* progressSteps(jobs: readonly JobSeed[], { today }: Span): Generator<Step> {
  const done = jobs.flatMap((job) => {
    const isDone = job.status === 'CLOSED' || job.status === 'COMPLETED' || job.status === 'IN_REVIEW';
    const last = isDone ? steps.length : job.status === 'CANCELLED' || job.start >= today ? 0 : taskOn(job, today);
    return steps.slice(0, last).map((_step, step) => taskId(job, step));
  });
  for (const status of ['IN_PROGRESS', 'IN_REVIEW', 'COMPLETED'] as const)
    yield* stepsFor('upsertRecords', done, (plan, id) => {
      const isThere = status === 'IN_PROGRESS' && plan.get(entityNamed('Task'), id)?.status !== 'NOT_STARTED';
      if (!isThere) plan.update(entityNamed('Task'), id, { status });
    });
  for (let round = 1; round < way.length; round++)
    yield* stepsFor('upsertRecords', jobs, (plan, { id, status: last }) => {
      const current = plan.get(entityNamed('Job'), id)?.status ?? last;
      const [from, to] = [order.indexOf(current), order.indexOf(last)];
      const next = last === 'CANCELLED' || (last === 'ON_HOLD' && current === 'IN_PROGRESS') ? last : way[from + 1];
      const isThere = current === last || from === -1 || (to >= 0 && from >= to);
      if (next !== undefined && !isThere) plan.update(entityNamed('Job'), id, { status: next });
    });
}
