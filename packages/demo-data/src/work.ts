import { job, jobTemplate, staffJobAssignment, task, taskType } from '@financial-automation/server/modules/projects';
import { expenseCode, nonWorkCode, workCode } from '@financial-automation/server/modules/reference';
import { expenseEntry, timeEntry } from '@financial-automation/server/modules/time';
import type { Plan, RowInput } from '@financial-automation/server/service';
import { storyId } from './story-id.ts';

/** The rows that the entries of the firm refer to. */
export interface Work {
  readonly clientId: string;
  readonly staffId: string;
  readonly jobId: string;
  readonly taskIds: readonly string[];
}

/** Plans codes, task types, a job template, a job that was created from it, and one that is billed quarterly. */
export function planJobs(plan: Plan): Work {
  const [serviceLineId, clientId] = [storyId('ServiceLine', 1), storyId('Client', 1)];
  const codes = [
    ['TAX-PREP', 'Tax preparation', 'wc-tax-prep'],
    ['TAX-REV', 'Tax review', 'wc-tax-rev'],
  ] as const;
  for (const [index, [code, name, systemRef]] of codes.entries()) {
    const fields = { code, name, isBillable: true, category: 'Tax', serviceLineId };
    plan.create(workCode, fields, { id: storyId('WorkCode', index + 1), systemRef });
    const type = { displayName: name, code, isBillable: true, billingMethod: 'HOURLY', serviceLineId } as const;
    const settings = { ...type, defaultWorkCode: code, defaultRate: '180.00' };
    plan.create(taskType, settings, { id: storyId('TaskType', index + 1), systemRef: code });
  }
  const paper = { code: 'TAX-PAPER', name: 'Paper filing', isBillable: true, category: 'Tax', serviceLineId };
  plan.create(workCode, paper, { id: storyId('WorkCode', 3), systemRef: 'wc-tax-paper' });
  const vacation = { code: 'VACATION', name: 'Vacation', category: 'Leave' };
  plan.create(nonWorkCode, vacation, { id: storyId('NonWorkCode', 1), systemRef: 'nc-vacation' });
  const courier = { code: 'COURIER', name: 'Courier', isBillable: true, category: 'Delivery' };
  plan.create(expenseCode, courier, { id: storyId('ExpenseCode', 1), systemRef: 'ec-courier' });

  const [priya, owen] = [storyId('Staff', 2), storyId('Staff', 3)];
  const steps = [
    { name: 'Prepare return', taskTypeId: storyId('TaskType', 1), offsetDays: 0, budgetHours: '12.00' },
    { name: 'Review return', taskTypeId: storyId('TaskType', 2), offsetDays: 14, budgetHours: '3.00' },
  ];
  const tasks = steps.map((step, index) => ({ ...step, defaultStaffTypeId: storyId('StaffType', 3 - index) }));
  const common = { billingType: 'TIME_AND_MATERIALS', budgetHours: '16.00', serviceLineId } as const;
  const jobTemplateId = storyId('JobTemplate', 1);
  const template = { name: 'Partnership tax return', code: 'PTR-1065', ...common, durationDays: 18, tasks };
  plan.create(jobTemplate, template, { id: jobTemplateId, systemRef: template.code });
  const books = {
    name: 'Quarterly bookkeeping',
    code: 'BOOKS-Q',
    billingType: 'RECURRING',
    defaultFee: '1250.00',
  } as const;
  plan.create(jobTemplate, { ...books, durationDays: 20 }, { id: storyId('JobTemplate', 2), systemRef: books.code });

  const staffed = { clientId, partnerId: storyId('Staff', 1), managerId: priya, inChargeId: owen, fiscalYear: 2026 };
  const jobId = storyId('Job', 1);
  const year = {
    name: '2026 partnership return',
    jobRef: 'J-2026-00317',
    startDate: '2026-09-28',
    dueDate: '2026-10-16',
  };
  const partnership = { ...staffed, ...year, ...common, jobTemplateId };
  plan.create(job, partnership, { id: jobId, systemRef: 'crm-job-5520' });
  const quarter = { name: 'Quarterly bookkeeping Q3', jobRef: 'J-2026-00318', billingType: 'FIXED_FEE' } as const;
  plan.create(job, { ...staffed, ...quarter, feeAmount: '1250.00' }, { id: storyId('Job', 2) });
  plan.create(
    staffJobAssignment,
    { jobId, staffId: priya, role: 'MANAGER', allocatedHours: '4.00' },
    { id: storyId('StaffJobAssignment', 1) },
  );
  plan.create(
    staffJobAssignment,
    { jobId, staffId: owen, role: 'PREPARER', allocatedHours: '12.00' },
    { id: storyId('StaffJobAssignment', 2) },
  );
  const dueDates = ['2026-10-09', '2026-10-16'];
  const taskIds = steps.map(({ name, taskTypeId }, index) => {
    const id = storyId('Task', index + 1);
    plan.create(
      task,
      {
        jobId,
        name,
        taskTypeId,
        sequence: 10 * (index + 1),
        assigneeId: index === 0 ? owen : priya,
        dueDate: dueDates[index] ?? null,
      },
      { id },
    );
    return id;
  });
  return { clientId, jobId, staffId: owen, taskIds };
}

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
export function planEntries(plan: Plan, { staffId, jobId, taskIds }: Work): Entries {
  const daysAgo = (days: number) => Temporal.PlainDate.from(plan.today).subtract({ days }).toString();
  const [prepare = null, review = null] = taskIds;
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
  const inSeptember = {
    workDate: '2026-09-29',
    hours: '3.50',
    description: 'Trial balance and book-to-tax differences',
  };
  record('ts-2026-09-29-027-1', { ...submitted, ...inSeptember });
  record('T-102', { ...submitted, workDate: daysAgo(1), hours: '1.20', description: 'Call with the client' });
  record('T-103', { staffId, jobId, taskId: prepare, workDate: daysAgo(0), hours: '0.80' });
  record('T-104', { staffId, code: 'VACATION', workDate: daysAgo(5), hours: '8.00' });

  const courier = {
    staffId,
    jobId,
    status: 'SUBMITTED',
    code: 'COURIER',
    description: 'Courier to the client',
  } as const;
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
