import { expenseEntry, timeEntry } from '@financial-automation/server/modules/time';
import type { Plan, RowInput } from '@financial-automation/server/service';
import { dayFrom } from './billing.ts';
import { storyId } from './story-id.ts';

/** Descriptions of approved work on the return, with the number of days ago and the hours. */
const approvedWork = [
  ['Trial balance', 70, '2.50'],
  ['Fixed assets and depreciation', 68, '3.00'],
  ['Bank reconciliations', 61, '4.20'],
  ['Partner capital accounts', 54, '2.00'],
  ['Guaranteed payments', 47, '1.50'],
  ['Review of estimates', 40, '3.60'],
  ['Multistate nexus', 33, '2.80'],
  ['Book-to-tax differences', 9, '4.00'],
] as const;

/** The IDs of entries. */
export interface Entries {
  readonly approved: readonly string[];
  readonly rejected: string;
  readonly expense: string;
}

/** Plans submitted entries, and some drafts. */
export function planEntries(plan: Plan): Entries {
  const daysAgo = (days: number) => dayFrom(plan, -days);
  const [staffId, jobId] = [storyId('Staff', 3), storyId('Job', 1)];
  const [prepare, review] = [storyId('Task', 1), storyId('Task', 2)];
  const submitted = { staffId, jobId, taskId: prepare, status: 'SUBMITTED' } as const;
  const record = (systemRef: string, fields: RowInput<'TimeEntry'>, key: { readonly id?: string } = {}) =>
    plan.create(timeEntry, fields, { systemRef, ...key }).row.id;
  const approved = approvedWork.map(([description, days, hours], index) => {
    const taskId = index === 0 ? review : prepare;
    const key = index === 0 ? { id: storyId('TimeEntry', 1) } : {};
    return record(`T-${index + 1}`, { ...submitted, taskId, workDate: daysAgo(days), hours, description }, key);
  });
  const apportionment = { workDate: daysAgo(2), hours: '7.50', description: 'State apportionment' };
  const rejected = record('T-101', { ...submitted, ...apportionment });
  // The examples approve and change these, and search for work of their month.
  const description = 'Trial balance and book-to-tax differences';
  const inSeptember = { workDate: '2026-09-29', hours: '3.50', description };
  record('ts-2026-09-29-027-1', { ...submitted, ...inSeptember });
  record('T-102', { ...submitted, workDate: daysAgo(1), hours: '1.20', description: 'Call with the client' });
  record('T-103', { staffId, jobId, taskId: prepare, workDate: daysAgo(0), hours: '0.80' });
  record('T-104', { staffId, code: 'VACATION', workDate: daysAgo(5), hours: '8.00' });

  const trip = { code: 'COURIER', description: 'Courier to the client' };
  const courier = { staffId, jobId, status: 'SUBMITTED', ...trip } as const;
  const expenses = [
    ['E-1', { expenseDate: daysAgo(9), cost: '42.00', billableAmount: '42.00' }],
    ['E-2', { expenseDate: daysAgo(1), cost: '18.50', billableAmount: '18.50' }],
    ['ex-2026-09-29-027-1', { expenseDate: '2026-09-29', cost: '42.00', billableAmount: '42.00' }],
  ] as const;
  const [expense = ''] = expenses.map(
    ([systemRef, fields], index) =>
      plan.create(expenseEntry, { ...courier, ...fields }, { systemRef, id: storyId('ExpenseEntry', index + 1) }).row
        .id,
  );
  return { approved, rejected, expense };
}

/** Approves most time entries and one expense, and rejects one entry; the others remain submitted. */
export function planDecisions(plan: Plan, { approved, rejected, expense }: Entries): void {
  for (const id of approved) plan.update(timeEntry, id, { status: 'APPROVED' });
  plan.update(timeEntry, rejected, { status: 'REJECTED', rejectionReason: 'Split the hours by state.' });
  plan.update(expenseEntry, expense, { status: 'APPROVED' });
}
