import { sql } from 'kysely';
import { placesOf } from '../../contract/currency.ts';
import { Rejection } from '../../contract/rejection.ts';
import { valuesWith } from '../../contract/values-with.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { isChanged } from '../../entity/row-changes.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { decimals } from '../../platform/arithmetic.ts';
import { type Decimal, isBetween, parseDecimal, zero } from '../../platform/decimal.ts';
import { checkNotArchived, client, reopenClient } from '../clients/index.ts';
import { job, reopenJob, task } from '../projects/index.ts';
import { expenseCode, recordBookChange, workCode } from '../reference/index.ts';
import { outstandingOf, workAmount } from './work-amounts.ts';

type WipChange = PendingChange<'WipEntry'>;

/** The types of rows that callers can write. Rows for time and expenses are created by the approval of entries. */
const writableTypes = valuesWith<Row<'WipEntry'>['wipType']>({
  ...{ FIXED_FEE: true, PROGRESS: true, ADJUSTMENT: true },
  ...{ TIME: false, EXPENSE: false },
});

/** Work in progress: work or cost that is to be billed, or has been. */
export const wipEntry = defineEntity('WipEntry', {
  table: 'wip_entry',
  relations: { client: one('Client', 'clientId'), job: one('Job', 'jobId'), staff: one('Staff', 'staffId') },
  computed: {
    outstandingAmount: (row) => sql.ref(`${row}.outstanding_amount`),
    ageDays: (row) => {
      const [outstanding, workDate] = [sql.ref(`${row}.outstanding_amount`), sql.ref(`${row}.work_date`)];
      return sql`case when ${outstanding} = 0 then 0 else greatest(today() - ${workDate}, 0) end`;
    },
  },
  rules: {
    complete(change, plan) {
      if (change.by === 'service') return;
      if (change.previous !== undefined && !isChanged(change.entity, change.previous, change.values)) return;
      lockBalances(change, plan);
      if (change.previous === undefined) completeNew(change, plan);
      else checkChange(change.previous);
      checkCode(change, plan);
      checkAmount(change);
      writeOff(change, plan);
      if (change.previous !== undefined) recordBookChange(change, plan, change.previous.workDate);
    },
    afterWrite(change, plan) {
      const { values, previous } = change;
      // Work that was settled is outstanding again, so its job and its client are, too.
      if (previous === undefined || !outstandingOf(previous).eq(zero) || outstandingOf(values).eq(zero)) return;
      reopenJob(plan, values.jobId);
      reopenClient(plan, values.clientId);
    },
    conditions: {
      writeOffUndone() {
        // The amount determines the status.
      },
      writeOffLowered() {
        // The amount determines the status.
      },
      outstandingWrittenOff() {
        // The amount that is written off determines the status, so it is checked first.
      },
    },
  },
});

/** Locks the job and client, whose sums database triggers update, in the lock order. */
function lockBalances({ values }: WipChange, plan: Plan): void {
  const work = plan.getForUpdate(job, values.jobId);
  if (work !== undefined) plan.getForUpdate(client, work.clientId);
}

function completeNew({ values }: WipChange, plan: Plan): void {
  if (!writableTypes.includes(values.wipType))
    throw invalidField(
      'wipType',
      `The service creates rows of the type ${values.wipType} from approved entries. Write an entry instead.`,
    );
  const forJob = plan.get(job, values.jobId);
  if (forJob !== undefined && forJob.clientId !== values.clientId)
    throw invalidField('clientId', 'clientId must be the client of the job.');
  checkNotArchived(plan.get(client, values.clientId), '/clientId');
  if (forJob?.status === 'CLOSED' || forJob?.status === 'CANCELLED')
    throw new Rejection('INVALID_STATE', `The job is ${forJob.status}.`, '/jobId');
  if (values.taskId !== null && plan.get(task, values.taskId)?.jobId !== values.jobId)
    throw invalidField('taskId', 'taskId must be a task of the job.');
  values.currency = forJob?.currency ?? plan.tenant.currency;
  values.engagementId ??= forJob?.engagementId ?? null;
  values.postedAt = plan.now;
}

function checkChange(previous: Row<'WipEntry'>): void {
  if (previous.status === 'IN_DRAFT' || previous.status === 'BILLED') {
    const holder = previous.status === 'IN_DRAFT' ? 'A draft invoice has reserved this row' : 'The row is billed';
    throw new Rejection('LOCKED', `${holder}, so it cannot change.`);
  }
  if (previous.status === 'REVERSED')
    throw new Rejection('INVALID_STATE', 'The row is REVERSED, because the approval of its entry was withdrawn.');
}

/** Rows that callers write can have any code that entries can have. */
function checkCode({ values, previous }: WipChange, plan: Plan): void {
  const { code } = values;
  if (code === null || code === previous?.code) return;
  if ([workCode, expenseCode].some((type) => plan.find(type, 'code', code)?.active === true)) return;
  throw new Rejection('REFERENCE_NOT_FOUND', `No active work code or expense code "${code}" exists.`, '/code');
}

function checkAmount(change: WipChange): void {
  const { values } = change;
  const { wipType, hours, billingRate, amount, currency } = values;
  if (wipType === 'FIXED_FEE' && amount.lt(zero))
    throw invalidField('amount', 'amount of a FIXED_FEE row is not negative. Use an ADJUSTMENT.');
  if (
    hours !== null &&
    billingRate !== null &&
    !amount.eq(workAmount(decimals(placesOf(currency)), { hours, billingRate }))
  )
    throw invalidField('amount', 'amount must be hours times billingRate, rounded half up.');
  checkMinorUnits(change, currency, ['amount']);
}

/** Rows are written off completely: the amount grows by the outstanding amount. Lowering the amount undoes that. */
function writeOff(change: WipChange, plan: Plan): void {
  const { values, previous, input } = change;
  const isReasonNew = typeof input.writeOffReason === 'string' && input.writeOffReason !== previous?.writeOffReason;
  if (previous === undefined || values.writeOffAmount.eq(previous.writeOffAmount)) {
    if (isReasonNew && values.status !== 'WRITTEN_OFF')
      throw invalidField('writeOffReason', 'writeOffReason can be set only together with writeOffAmount.');
    return;
  }
  const all = previous.writeOffAmount.plus(outstandingOf({ ...values, writeOffAmount: previous.writeOffAmount }));
  if (values.writeOffAmount.eq(all)) {
    values.status = 'WRITTEN_OFF';
    return;
  }
  const least = writtenDownByInvoices(plan, previous.id);
  if (!isBetween(values.writeOffAmount, least, previous.writeOffAmount)) {
    const undo = least.eq(previous.writeOffAmount)
      ? ''
      : ` To undo the write-off, lower it, at most to ${least.toFixed(2)}.`;
    const detail = `To write off the row, set writeOffAmount to ${all.toFixed(2)}, which covers the outstanding amount.${undo}`;
    throw invalidField('writeOffAmount', detail);
  }
  checkMinorUnits(change, values.currency, ['writeOffAmount']);
  if (isReasonNew)
    throw invalidField('writeOffReason', 'writeOffReason is the reason of a write-off. Omit it to undo one.');
  if (values.writeOffAmount.eq(least)) values.writeOffReason = null;
  const isUntouched = [values.billedAmount, values.writeUpAmount, values.writeOffAmount].every((one) => one.eq(zero));
  values.status = isUntouched ? 'OPEN' : 'PARTIALLY_BILLED';
}

/** The amount that invoices wrote down, which only voiding them undoes. */
function writtenDownByInvoices(plan: Plan, wipEntryId: string): Decimal {
  return parseDecimal(plan.lookup(writeDownsOfWork, wipEntryId) ?? '0');
}

const writeDownsOfWork: Lookup<string> = {
  name: 'write-downs of work',
  async load(transaction, tenantId, ids) {
    const rows = await transaction.all<{ id: string; amount: string }>(sql`
      select r.wip_entry_id as id, sum(r.write_off)::text as amount from wip_relief r
      join invoice i on i.tenant_id = r.tenant_id and i.id = r.invoice_id and i.status <> 'VOIDED'
      where r.tenant_id = ${tenantId} and r.wip_entry_id = any(${ids}) group by r.wip_entry_id`);
    return new Map(rows.map(({ id, amount }) => [id, amount]));
  },
};
