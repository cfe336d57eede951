import { Rejection } from '../../../contract/rejection.ts';
import { writtenByApprover } from '../../../entity/approver.ts';
import { command } from '../../../entity/command.ts';
import { defineEntity, one } from '../../../entity/entity.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import { isChanged } from '../../../entity/row-changes.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { zero } from '../../../platform/decimal.ts';
import { client, completeClientCurrency } from '../../clients/index.ts';
import { job } from '../../projects/index.ts';
import { checkNotAfterToday } from '../../reference/index.ts';
import { wipEntry } from '../../time/index.ts';
import {
  checkSameClient,
  checkSigns,
  completeLines,
  invalidLine,
  taxExemptReasonOf,
  taxRoundingOf,
} from '../invoice/invoice-lines.ts';
import { checkBillable } from '../ledger/balances.ts';
import { checkOpenDay } from '../ledger/enter.ts';
import { totalsOf } from '../rules/document.ts';
import { checkBilledRows, jobsOf, standardOf, wipIdsOf } from './billed-work.ts';
import { checkFees } from './check-fees.ts';
import { checkCredit, checkCreditedInvoice } from './credited-invoice.ts';
import { recordRevision } from './draft-invoice-history.ts';
import { postDraft } from './post-draft.ts';

type DraftChange = PendingChange<'DraftInvoice'>;

const isWrittenByApprover = writtenByApprover({
  type: 'DraftInvoice',
  table: 'draft_invoice',
  waiting: 'IN_REVIEW',
  // What the client owes, and what it may deduct.
  fields: ['lines', 'earlyPayment'],
});

/** An invoice in preparation. It reserves the work in progress of its lines until it is posted or deleted. */
export const draftInvoice = defineEntity('DraftInvoice', {
  table: 'draft_invoice',
  relations: { client: one('Client', 'clientId') },
  owned: {
    lines: {
      table: 'draft_invoice_line',
      owner: 'draft_invoice_id',
      links: { wipIds: { table: 'draft_invoice_line_wip', owner: 'line_id', column: 'wip_entry_id' } },
    },
  },
  rules: {
    complete(change, plan) {
      if (change.by === 'service') return;
      checkImport(change, plan);
      if (change.previous === undefined) completeNew(change, plan);
      completeClientCurrency(change, plan);
      // Lines are completed before they are compared: sending those of the draft again changes nothing.
      const { values, previous, input } = change;
      const isRepriced = previous !== undefined && values.pricesIncludeTax !== previous.pricesIncludeTax;
      checkSameClient(plan, values.clientId, input);
      if (input.lines !== undefined || isRepriced) setLines(change, plan);
      if (previous !== undefined && !isChanged(change.entity, previous, values)) return;
      setDates(change, plan);
      if (change.previous === undefined || change.values.status === 'DRAFT' || change.previous.status === 'DRAFT')
        completeDocument(change, plan);
    },
    beforeRemoval({ values }) {
      values.status = 'DELETED';
      values.rejectionReason = null;
    },
    afterWrite(change, plan) {
      const { values, previous } = change;
      if (values.status !== 'APPROVED' && values.status !== 'POSTED') holdWork(change, plan);
      // Posting adds the invoice, and both are one revision.
      if (values.status === 'POSTED' && values.invoiceId === null) return;
      recordRevision(plan, values, previous?.status === 'POSTED' ? { ...previous, status: 'APPROVED' } : previous);
    },
    commands: {
      // One that is approved for a later day waits for it.
      APPROVED: (plan, change) => (isForLater(plan, change) ? undefined : postDraft(plan, change)),
      POSTED: postDraft,
    },
    conditions: {
      hasLines({ values }) {
        if (values.lines.length === 0)
          throw new Rejection('INVALID_STATE', 'A draft without lines cannot go into review.', '/status');
      },
      canCredit: ({ values }, plan) => checkCredit(plan, values),
      clientIsNotArchived({ values }, plan) {
        const owner = plan.get(client, values.clientId);
        if (owner !== undefined) checkBillable(owner);
        plan.each(values.lines, ({ jobId }, index) => {
          if (jobId !== null && plan.get(job, jobId)?.active === false)
            throw invalidLine(index, 'jobId', 'The job is deleted. Nothing can be billed for it.');
        });
      },
      periodIsOpen: ({ values: { clientId, proposedInvoiceDate: day } }, plan) =>
        checkOpenDay(plan, { clientId }, { field: 'proposedInvoiceDate', day, pointer: '/status', remedy }),
      feeNotExceeded: ({ values }, plan) => checkFees(plan, values),
      invoiceDateReached(change, plan) {
        if (change.values.status === 'APPROVED' && isForLater(plan, change)) return;
        checkNotAfterToday(plan, 'proposedInvoiceDate', change.values.proposedInvoiceDate);
      },
      approverIsNotAuthor(change, plan) {
        // It was approved in the other system.
        if (plan.isImport || !isWrittenByApprover(change, plan)) return;
        throw new Rejection(
          'FORBIDDEN',
          'You cannot approve a draft whose lines or earlyPayment you wrote since its last review. Approve it as the API user of another person, or have the operator set selfApproval of the tenant to on.',
          '/status',
        );
      },
    },
    constraints: {
      draft_invoice_service_period_order: {
        code: 'VALIDATION_ERROR',
        field: 'servicePeriodEnd',
        detail: 'servicePeriodEnd must not be before servicePeriodStart.',
      },
      draft_invoice_due_date_order: {
        code: 'VALIDATION_ERROR',
        field: 'dueDate',
        detail: 'dueDate must not be before proposedInvoiceDate.',
      },
    },
  },
});

/** Whether an import has approved a draft for a day after today. */
function isForLater(plan: Plan, { values }: Pick<DraftChange, 'values'>): boolean {
  return plan.isImport && values.proposedInvoiceDate > plan.today;
}

/** What to do about a day in a closed period. */
const remedy = ' Reject the draft, return it to DRAFT, and write another proposedInvoiceDate.';

/** A draft that was posted elsewhere is an invoice there. */
function checkImport({ id, previous, input }: DraftChange, plan: Plan): void {
  if (plan.isImport && input.status === 'POSTED' && (previous?.status !== 'POSTED' || plan.isNew(id)))
    throw new Rejection(
      'INVALID_STATE',
      'A draft is not imported as POSTED. Import its invoice, with the wipIds of the lines.',
      '/status',
    );
}

function completeNew({ values, input, privateColumns }: DraftChange, plan: Plan): void {
  const { caller } = plan.origin;
  privateColumns.created_by_api_user_id = caller?.apiUserId ?? null;
  // Protected, so that the client keeps its currency.
  const owner = plan.getForShare(client, values.clientId);
  if (owner !== undefined) {
    checkBillable(owner);
    values.taxRounding = taxRoundingOf(plan, owner);
    if (input.taxExemptReason === undefined) values.taxExemptReason = taxExemptReasonOf(plan, owner);
  }
  values.draftNumber = plan.nextReference(draftNumber(plan.today.slice(0, 4)));
  if (input.preparedById === undefined) values.preparedById = caller?.staffId ?? null;
}

function draftNumber(year: string) {
  return {
    counter: `draft_invoice.draft_number.${year}`,
    entity: draftInvoice,
    fields: ['draftNumber'],
    format: (number: number) => `D-${year}-${String(number).padStart(5, '0')}`,
  };
}

/** Sets the timestamps of the draft's states, and the reason of one of them. */
function setDates({ values, previous, input }: DraftChange, plan: Plan): void {
  if (values.status !== 'REJECTED') {
    if (typeof input.rejectionReason === 'string')
      throw invalidField('rejectionReason', 'rejectionReason can be set only together with the status REJECTED.');
    values.rejectionReason = null;
  }
  if (values.status === previous?.status) return;
  if (values.status === 'IN_REVIEW') values.submittedAt = plan.now;
  if (values.status === 'REJECTED')
    Object.assign(values, { rejectedAt: plan.now, approvedAt: null, approvedById: null });
  if (values.status !== 'APPROVED') return;
  values.approvedAt = plan.now;
  if (!plan.isImport) values.approvedById = plan.origin.caller?.staffId ?? null;
}

function setLines({ values, previous }: DraftChange, plan: Plan): void {
  values.lines = completeLines(plan, plan.get(client, values.clientId), values, previous?.lines ?? []);
}

/** Calculates standard values and totals. */
function completeDocument({ values, previous, input }: DraftChange, plan: Plan): void {
  const { lines } = values;
  checkSigns(lines);
  checkCreditedInvoice(plan, values);
  const rows = plan.getManyForUpdate(wipEntry, new Set([...wipIdsOf(lines), ...wipIdsOf(previous?.lines ?? [])]));
  for (const [index, line] of lines.entries()) checkBilledRows(values, index, line, rows);
  if (previous === undefined ? input.jobIds === undefined : input.lines !== undefined && input.jobIds === undefined)
    values.jobIds = jobsOf(lines, rows);
  Object.assign(values, totalsOf(lines), standardOf(lines, rows));
}

/** Reserves the rows of added lines, and releases those of removed lines. */
function holdWork({ id, values, previous }: DraftChange, plan: Plan): void {
  const isDeleted = values.status === 'DELETED';
  const held = new Set(previous === undefined ? [] : wipIdsOf(previous.lines));
  const billed = new Set(isDeleted ? [] : wipIdsOf(values.lines));
  reserveWork(
    plan,
    id,
    [...billed].filter((row) => !held.has(row)),
  );
  (isDeleted ? releaseAll : releaseWork)(
    plan,
    [...held].filter((row) => !billed.has(row)),
  );
}

const reserveWork = command('draftLineAdded', (plan, draftInvoiceId: string, ids: readonly string[]) => {
  for (const id of ids) plan.set(wipEntry, id, { status: 'IN_DRAFT', draftInvoiceId });
});

const releaseWork = command('draftLineRemoved', release);
const releaseAll = command('draftDeleted', release);

function release(plan: Plan, ids: readonly string[]): void {
  for (const row of plan.getManyForUpdate(wipEntry, ids).values()) {
    const isUntouched = row.billedAmount.eq(zero) && row.writeUpAmount.eq(zero) && row.writeOffAmount.eq(zero);
    plan.set(wipEntry, row.id, { status: isUntouched ? 'OPEN' : 'PARTIALLY_BILLED', draftInvoiceId: null });
  }
}
