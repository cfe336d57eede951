import { dateText, instantAt, instantText, lastDay } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';
import type { Work, WorkKind } from './time.ts';

/** Number of days before today whose expenses are not all approved yet. */
const recent = 14;

/** Loads expenses, and adds billable ones and the fees of jobs to the work in progress. */
export async function loadCharges(
  loader: Loader,
  { entries }: Profile,
  firm: Firm,
  jobs: readonly JobSeed[],
  work: Work,
): Promise<void> {
  const columns = [
    'staff_id',
    'job_id',
    'code',
    'expense_date',
    'cost',
    'markup_percent',
    'billable_amount',
    'description',
    'status',
    'rejection_reason',
    'approved_by_id',
    'approved_at',
  ];
  await loader.entities('expense_entry', columns, expenseRows(Math.ceil(entries / 48), firm, jobs, work));
  addFees(jobs, work);
}

function* expenseRows(count: number, firm: Firm, jobs: readonly JobSeed[], work: Work): Generator<EntityRow> {
  const random = new Random(7);
  const worked = jobs.flatMap((job, index) => (job.status !== 'CANCELLED' && job.start < lastDay ? [index] : []));
  for (let number = 0; number < count; number++) {
    const index = worked[Math.floor((number * worked.length) / count)] ?? 0;
    const job = jobs[index];
    if (job === undefined) throw new Error('No job is available for expenses.');
    const day = random.between(job.start, Math.min(job.end, lastDay - 1));
    const person = job.team[random.below(job.team.length)] ?? 0;
    const cost = random.between(500, 40_000);
    // The firm bears some expenses itself, and adds a markup to others.
    const markup = random.chance(0.1) ? 10 : 0;
    const amount = random.chance(0.08) ? 0 : cost + Math.round((cost * markup) / 100);
    const status =
      day < lastDay - recent
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
    yield [
      id,
      createdAt,
      firm.people[person]?.id ?? '',
      job.id,
      firm.expenseCodes[work.ids.length % firm.expenseCodes.length] ?? '',
      dateText(day),
      (cost / 100).toFixed(2),
      markup === 0 ? null : String(markup),
      (amount / 100).toFixed(2),
      number % 50 === 3 ? 'Reisekosten – Größe 4 (Übernachtung)' : 'Paid for the client',
      status,
      status === 'REJECTED' ? 'The receipt is missing.' : null,
      isApproved ? (firm.people[0]?.id ?? null) : null,
      isApproved ? instantText(createdAt + 3_600_000) : null,
    ];
    if (isApproved && amount > 0) add(work, { kind: 'EXPENSE', job: index, day, amount, entryId: id, person });
  }
}

/** Adds the fixed fees of jobs in two stages; some were billed in advance, which the second stage offsets. */
function addFees(jobs: readonly JobSeed[], work: Work): void {
  for (const [index, { isFee, status, start, end }] of jobs.entries()) {
    if (!isFee || status === 'CANCELLED') continue;
    const amount = 5_000 * (20 + (index % 60));
    for (const [stage, day] of [start + 10, Math.min(start + 24, end)].entries()) {
      if (day >= lastDay) continue;
      add(work, { kind: 'FIXED_FEE', job: index, day, amount });
      if (stage === 1 && index % 3 === 1) add(work, { kind: 'PROGRESS', job: index, day, amount: -amount / 4 });
    }
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
}

function add(work: Work, { kind, job, day, amount, entryId, person }: Charge): void {
  work.ids.push(rowId(41, work.ids.length, instantAt(day, 18)));
  work.kinds.push(kind);
  work.entryIds.push(entryId);
  work.jobs.push(job);
  work.people.push(person);
  work.days.push(day);
  work.hours.push(0);
  work.rates.push(0);
  work.amounts.push(amount);
}
