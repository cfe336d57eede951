import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import { command } from '../../entity/command.ts';
import { defineEntity } from '../../entity/entity.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { zero } from '../../platform/decimal.ts';
import { job } from '../projects/index.ts';
import { expenseCode } from '../reference/index.ts';
import {
  announceWork,
  beginChange,
  checkDayReached,
  checkEmployedOn,
  checkOpenJob,
  checkRemovable,
  completeDecision,
  createWip,
  entryConditions,
  entryRelations,
  lockWork,
  submitEntry,
  wipColumns,
  withdrawEntry,
} from './entries.ts';

type ExpenseChange = PendingChange<'ExpenseEntry'>;

/** The fields that callers write and that say what is billed. */
const pricedFields = ['staffId', 'jobId', 'cost', 'billableAmount', 'markupPercent'];

const { computed, searched } = wipColumns('expenseEntryId');

/** Expenses that the firm bears itself are never billed; others are work in progress once they are approved. */
const approveExpense = command('entrySubmitted', (plan, { id, values }: ExpenseChange) => {
  const { staffId, jobId, code, expenseDate: workDate, billableAmount: amount } = values;
  const work = { staffId, code, workDate, amount, wipType: 'EXPENSE', expenseEntryId: id } as const;
  if (!amount.eq(zero)) createWip(plan, jobId, work);
});

/** An expense for a job. */
export const expenseEntry = defineEntity('ExpenseEntry', {
  table: 'expense_entry',
  relations: entryRelations,
  searched,
  computed: { ...computed, amount: (row) => sql.ref(`${row}.billable_amount`) },
  rules: {
    complete,
    beforeRemoval: (change, plan) => checkRemovable(change, plan, 'expenseEntryId'),
    commands: { SUBMITTED: submitEntry, APPROVED: approveExpense, DRAFT: withdrawEntry },
    conditions: {
      ...entryConditions({
        entityType: 'ExpenseEntry',
        table: 'expense_entry',
        key: 'expenseEntryId',
        fields: pricedFields,
      }),
      dayReached: ({ values }, plan) => checkDayReached(plan, 'expenseDate', values.expenseDate),
      rateExists() {
        // An expense has an amount, not a rate.
      },
    },
  },
});

announceWork(expenseEntry, 'expenseEntryId');

function complete(change: ExpenseChange, plan: Plan): void {
  const { values, previous } = change;
  if (!beginChange(change, plan, 'expenseEntryId')) return;
  lockWork(change, plan);
  if (previous === undefined || values.staffId !== previous.staffId || values.expenseDate !== previous.expenseDate)
    checkEmployedOn(plan, values.staffId, values.expenseDate);
  checkOpenJob(change, plan);
  if (values.code !== previous?.code) checkCode(plan, values.code);
  checkMinorUnits(change, plan.get(job, values.jobId)?.currency ?? plan.tenant.currency, ['cost', 'billableAmount']);
  completeDecision(change, plan);
}

function checkCode(plan: Plan, code: string): void {
  const found = plan.find(expenseCode, 'code', code);
  if (found?.active !== true)
    throw new Rejection('REFERENCE_NOT_FOUND', `No active expense code "${code}" exists.`, '/code');
  // The text of a code that entries use must not change.
  plan.getForShare(expenseCode, found.id);
}
