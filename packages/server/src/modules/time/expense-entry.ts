import { sql } from 'kysely';
import { zero } from '../../contract/decimal.ts';
import { Rejection } from '../../contract/rejection.ts';
import { defineEntity } from '../../entity/entity.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import type { PendingChange } from '../../entity/rules.ts';
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
  reverseWip,
  wipColumns,
} from './entries.ts';

type ExpenseChange = PendingChange<'ExpenseEntry'>;

/** The fields that callers write and that say what is billed. */
const pricedFields = ['staffId', 'jobId', 'cost', 'billableAmount', 'markupPercent'];

const { computed, searched } = wipColumns('expenseEntryId');

/** An expense for a job. */
export const expenseEntry = defineEntity('ExpenseEntry', {
  table: 'expense_entry',
  relations: entryRelations,
  searched,
  computed: { ...computed, amount: (row) => sql.ref(`${row}.billable_amount`) },
  rules: {
    complete,
    beforeRemoval: (change, plan) => checkRemovable(change, plan, 'expenseEntryId'),
    afterWrite,
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

function afterWrite({ id, values, previous }: ExpenseChange, plan: Plan): void {
  if (values.status === previous?.status) return;
  if (previous?.status === 'APPROVED') reverseWip(plan, 'expenseEntryId', id);
  if (values.status === 'SUBMITTED' && !plan.tenant.settings.timeApproval)
    plan.update(expenseEntry, id, {}, { system: { status: 'APPROVED' }, event: 'entrySubmitted' });
  // Expenses that the firm bears itself are never billed.
  if (values.status !== 'APPROVED' || values.billableAmount.eq(zero)) return;
  const { staffId, jobId, code, expenseDate: workDate, billableAmount: amount } = values;
  createWip(plan, jobId, { staffId, code, workDate, amount, wipType: 'EXPENSE', expenseEntryId: id });
}
