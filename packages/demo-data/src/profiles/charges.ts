import { dateText, instantAt, instantText, startOfPeriod } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';
import type { Work, WorkKind } from './time.ts';

/** Number of days before today whose expenses are not all approved yet. */
const recent = 14;

/** By expense code. */
const purposes = [
  'Drive to the client',
  'Filing fee',
  'Certified mail',
  'Train to the inventory count',
  'Payroll software',
  'Hotel, audit fieldwork',
];

/** Loads expenses, and adds billable ones and the fees of jobs to the work in progress. */
export async function loadCharges(
  loader: Loader,
  { entries }: Profile,
  firm: Firm,
  jobs: readonly JobSeed[],
  work: Work,
): Promise<void> {
  await loader.entities('expense_entry', expenseRows(Math.ceil(entries / 48), firm, jobs, work));
  addFees(firm, jobs, work);
}

function* expenseRows(count: number, firm: Firm, jobs: readonly JobSeed[], work: Work): Generator<EntityRow> {
  const { today } = firm.span;
  const random = new Random(7);
  const worked = jobs.flatMap((job, index) => (job.status !== 'CANCELLED' && job.start < today ? [index] : []));
  for (let number = 0; number < count; number++) {
    const index = worked[Math.floor((number * worked.length) / count)] ?? 0;
    const job = jobs[index];
    if (job === undefined) throw new Error('No job is available for expenses.');
    const day = random.between(job.start, Math.min(job.end, today - 1));
    const person = job.team[random.below(job.team.length)] ?? 0;
    const cost = random.between(500, 40_000);
    // The firm bears some expenses itself, and adds a markup to others.
    const markup = random.chance(0.1) ? 10 : 0;
    const amount = random.chance(0.08) ? 0 : cost + Math.round((cost * markup) / 100);
    const status =
      day < today - recent
        ? 'APPROVED'
        : random.weighted([
            ['APPROVED', 50],
            ['SUBMITTED', 25],
            ['DRAFT', 20],
            ['REJECTED', 5],
          ]);
    const isApproved = status === 'APPROVED';
    const createdAt = instantAt(day, 17) + (number % 100_000);
    const id = rowId(42, number, createdAt);
    const place = random.below(firm.expenseCodes.length);
    const code = firm.expenseCodes[place] ?? '';
    yield {
      id,
      createdAt,
      staff_id: firm.people[person]?.id ?? '',
      job_id: job.id,
      code,
      expense_date: dateText(day),
      cost: (cost / 100).toFixed(2),
      markup_percent: markup === 0 ? null : String(markup),
      billable_amount: (amount / 100).toFixed(2),
      description: number % 50 === 3 ? 'Reisekosten – Größe 4 (Übernachtung)' : (purposes[place] ?? null),
      status,
      rejection_reason: status === 'REJECTED' ? 'The receipt is missing.' : null,
      approved_by_id: isApproved ? (firm.people[0]?.id ?? null) : null,
      approved_at: isApproved ? instantText(createdAt + 3_600_000) : null,
    };
    if (isApproved && amount > 0) add(work, { kind: 'EXPENSE', job: index, day, amount, entryId: id, person, code });
  }
}

/**
 * Adds fees that are work by themselves: of fixed fees, a part that is billed in advance and taken off the bill at the end; of
 * recurring ones, that of the current period. Other fees are billed for the time that they cover.
 */
function addFees({ span: { today } }: Firm, jobs: readonly JobSeed[], work: Work): void {
  const withTime = new Set(work.jobs.filter((_job, index) => work.kinds[index] === 'TIME'));
  for (const [index, { billingType, kind, fee, status, start, end }] of jobs.entries()) {
    if (fee === undefined || status === 'CANCELLED' || !withTime.has(index)) continue;
    if (billingType === 'RECURRING') {
      const day = startOfPeriod(today, kind.schedule === 'MONTHLY' ? 1 : 3);
      if (day < today && start < day && end > today) add(work, { kind: 'FIXED_FEE', job: index, day, amount: fee });
      continue;
    }
    const [advance, day] = [Math.round(fee * 0.4), start + 5];
    if (index % 2 === 0 || day >= today) continue;
    add(work, { kind: 'FIXED_FEE', job: index, day, amount: advance });
    if (end < today) add(work, { kind: 'PROGRESS', job: index, day: end, amount: -advance });
  }
}

interface Charge {
  readonly kind: WorkKind;
  readonly job: number;
  readonly day: number;
  /** In cents. */
  readonly amount: number;
  readonly entryId?: string;
  readonly person?: number;
  readonly code?: string;
}

function add(work: Work, { kind, job, day, amount, entryId, person, code }: Charge): void {
  work.ids.push(rowId(41, work.ids.length, instantAt(day, 18)));
  work.kinds.push(kind);
  work.entryIds.push(entryId);
  work.jobs.push(job);
  work.people.push(person);
  work.days.push(day);
  work.codes.push(code);
  work.hours.push(0);
  work.rates.push(0);
  work.amounts.push(amount);
}
