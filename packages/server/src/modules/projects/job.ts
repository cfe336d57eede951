import { Rejection } from '../../contract/rejection.ts';
import { command } from '../../entity/command.ts';
import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { checkNotArchived, client, completeClientCurrency } from '../clients/index.ts';

/** A piece of work for a client. */
export const job = defineEntity('Job', {
  table: 'job',
  sumsUp: ['time_entry', 'wip_entry', 'invoice'],
  relations: { client: one('Client', 'clientId') },
  rules: {
    complete,
    conditions: {
      reviewIsAutomatic(_change, plan) {
        if (!plan.tenant.settings.reviewCompletedJobs)
          throw new Rejection('INVALID_STATE', 'This tenant moves jobs to review manually.', '/status');
      },
    },
  },
});

addRules(client, {
  /** The jobs of a client have its currency. */
  afterWrite({ values: { id, currency }, previous }, plan) {
    if (previous === undefined || currency === previous.currency) return;
    plan.each(plan.all(job, 'clientId', id), (one) => plan.update(job, one.id, {}, { system: { currency } }));
  },
});

/** Whether all work on the job has ended. */
export function isFinished(found: Row<'Job'> | undefined): boolean {
  return found === undefined || !found.active || found.status === 'CLOSED' || found.status === 'CANCELLED';
}

function complete(change: PendingChange<'Job'>, plan: Plan): void {
  const { values, input, previous } = change;
  if (previous === undefined) {
    values.jobRef ??= plan.nextReference(jobNumber(plan.today.slice(0, 4)));
    if (input.pmsRef === undefined) values.pmsRef = values.jobRef;
  }
  // Jobs of a client that has left can be imported.
  if (values.clientId !== previous?.clientId && !plan.isImport)
    checkNotArchived(plan.get(client, values.clientId), '/clientId');
  completeClientCurrency(change, plan);
  checkFee(change);
  checkMinorUnits(change, values.currency, ['feeAmount', 'budgetAmount']);
  checkDateOrder(change, 'periodStartDate', 'periodEndDate');
  checkDateOrder(change, 'startDate', 'dueDate');
  if (values.status === previous?.status) return;
  if (values.status === 'COMPLETED' && previous?.status !== 'CLOSED') values.completedAt = plan.now;
  if (values.status === 'IN_PROGRESS') values.completedAt = null;
  values.closedAt = values.status === 'CLOSED' ? plan.now : null;
}

/** Reopens a closed or deleted job whose work in progress is outstanding again. */
export const reopenJob = command('workReturned', (plan, id: string) => {
  const row = plan.getForUpdate(job, id);
  if (row === undefined || (row.active && row.status !== 'CLOSED')) return;
  plan.set(job, id, { active: true, ...(row.status === 'CLOSED' && { status: 'COMPLETED' }) });
});

function checkFee({ entity, values: { billingType, feeAmount } }: PendingChange<'Job'>): void {
  if (feeAmount === null && entity.fields.get('feeAmount')?.onlyFor.billingType?.includes(billingType))
    throw invalidField('feeAmount', `feeAmount is required for the billing type ${billingType}.`);
}

function jobNumber(year: string) {
  return {
    counter: `job.job_ref.${year}`,
    entity: job,
    fields: ['jobRef', 'pmsRef'],
    format: (number: number) => `J-${year}-${String(number).padStart(5, '0')}`,
  };
}
