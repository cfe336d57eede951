import { isInMinorUnits } from '../../../contract/currency.ts';
import { Rejection } from '../../../contract/rejection.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import { checkMinorUnits, wholeAmountOnly } from '../../../entity/minor-units.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row, RowInput } from '../../../entity/row.ts';
import { isChanged } from '../../../entity/row-changes.ts';
import { addRules, type PendingChange } from '../../../entity/rules.ts';
import { decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { checkClientCurrency, client, clientGroup, reopenClient } from '../../clients/index.ts';
import { checkNotAfterToday, openStatuses, recordBookChange } from '../../reference/index.ts';
import { invoice } from '../invoice/invoice.ts';
import { lockBalances } from '../ledger/balances.ts';
import { enterIdentified } from '../ledger/payment-entries.ts';
import { counts, dueOf, held, isCreditNote, isOpen, unapplied } from '../rules/balances.ts';
import { type Allocation, sumOf, takeNewest } from './allocations.ts';
import { clientOf, completePayer, currencyOf, identify } from './payer.ts';
import { payment } from './payment.ts';
import {
  applyPayment,
  completePayment,
  failPayment,
  refundPayment,
  returnPayment,
  voidPayment,
} from './payment-commands.ts';

type PaymentChange = PendingChange<'Payment'>;
type PaymentRow = Row<'Payment'>;
/** An allocation as a caller writes it. */
type AllocationInput = Pick<Allocation, 'invoiceId' | 'amount'>;

/** Sources that callers cannot write, and who creates these payments. */
const createdByService: Readonly<Partial<Record<PaymentRow['source'], string>>> = {
  QUICK_PAYMENT_LINK: 'the payment page',
  CREDIT_NOTE: 'the approval of a credit note',
};

addRules(payment, {
  complete(change, plan) {
    const invoices = lockInvoices(change, plan);
    const { clientId } = change.values;
    const clientIds = invoices.map((row) => row.clientId);
    lockBalances(plan, clientId === null ? clientIds : [clientId, ...clientIds]);
    if (change.previous === undefined) completeNew(change, plan);
    else if (change.by === 'caller') completeChange(change, plan);
  },
  afterWrite,
  commands: {
    PENDING: applyPayment,
    COMPLETED: completePayment,
    FAILED: failPayment,
    RETURNED: returnPayment,
    PARTIALLY_REFUNDED: refundPayment,
    REFUNDED: refundPayment,
    VOIDED: voidPayment,
  },
  conditions: {
    partRefunded({ values }) {
      if (!values.refundedAmount.gt(zero) || values.refundedAmount.gte(values.amount))
        throw invalidField('refundedAmount', 'refundedAmount must be more than zero and less than amount.');
    },
    allRefunded({ values }) {
      if (!values.refundedAmount.eq(values.amount))
        throw invalidField('refundedAmount', 'refundedAmount must equal amount.');
    },
  },
});

function completeNew(change: PaymentChange, plan: Plan): void {
  const { values, input } = change;
  if (change.by === 'caller') completePayer(change, plan);
  values.currency ??= currencyOf(values, plan);
  if (change.by === 'caller') {
    checkNotAfterToday(plan, 'paymentDate', values.paymentDate);
    checkCurrency(change, plan);
    const maker = createdByService[values.source];
    if (maker !== undefined)
      throw invalidField('source', `Only ${maker} creates payments with this source. Use another one.`);
    values.status = input.status ?? (values.method === 'ACH' ? 'PENDING' : 'COMPLETED');
    const hasSettled = plan.isImport && values.status === 'COMPLETED';
    if ((values.status === 'PENDING') !== (values.method === 'ACH') && !hasSettled)
      throw new Rejection(
        'INVALID_STATE',
        'A new ACH payment is PENDING, and a payment by any other method is COMPLETED.',
        '/status',
      );
  }
  values.paymentNumber = plan.nextReference(paymentNumber(plan.today.slice(0, 4)));
  values.pmsRef ??= values.paymentNumber;
  values.allocations = completeAllocations(change, values.allocations, plan);
  values.unappliedAmount = unappliedOf(values);
  if (counts(values.status)) values.settledAt = plan.now;
}

/** Payments are in the currency of their client, or of an invoice of the client from before this was required. */
function checkCurrency(change: PaymentChange, plan: Plan): void {
  const { clientId, currency, allocations } = change.values;
  const paid = plan.each(allocations, ({ invoiceId }) => plan.get(invoice, invoiceId));
  if (!paid.some((row) => row?.clientId === clientId && row.currency === currency))
    checkClientCurrency(clientOf(change.values, plan), currency);
  checkMinorUnits(change, currency, ['amount']);
}

function paymentNumber(year: string) {
  return {
    counter: `payment.payment_number.${year}`,
    entity: payment,
    fields: ['paymentNumber', 'pmsRef'],
    format: (number: number) => `PAY-${year}-${String(number).padStart(5, '0')}`,
  };
}

/** Locks the invoices of the change, which come before clients in the lock order. */
function lockInvoices({ values, previous }: PaymentChange, plan: Plan): readonly Row<'Invoice'>[] {
  const ids = [...(previous?.allocations ?? []), ...values.allocations].map(({ invoiceId }) => invoiceId);
  return [...plan.getManyForUpdate(invoice, new Set(ids)).values()];
}

/** Applies a change by a caller: a result, a refund, a void, or allocations of the unapplied amount. */
function completeChange(change: PaymentChange, plan: Plan): void {
  const { entity, values, previous } = change;
  if (previous === undefined) return;
  // A feed that repeats what it knew of an unknown payer changes nothing.
  values.clientId ??= previous.clientId;
  values.allocations = withKnownParts(values.allocations, previous.allocations);
  if (!isChanged(entity, previous, values)) return;
  if (values.clientId !== previous.clientId) identify(change, plan);
  if (!values.refundedAmount.eq(previous.refundedAmount)) refund(change, plan);
  else if (values.status !== previous.status) changeStatus(values, previous, plan);
  else reallocate(change, plan);
  recordBookChange(change, plan, previous.paymentDate);
}

/** Takes a refund from the unapplied amount first, then from the newest allocations. */
function refund({ values, previous }: PaymentChange, plan: Plan): void {
  if (previous === undefined) return;
  if (!counts(previous.status) || previous.status === 'REFUNDED')
    throw new Rejection(
      'INVALID_STATE',
      `The payment is ${previous.status}. There is nothing to refund.`,
      '/refundedAmount',
    );
  const more = values.refundedAmount.minus(previous.refundedAmount);
  if (more.lt(zero)) throw invalidField('refundedAmount', 'refundedAmount cannot decrease.');
  if (values.refundedAmount.gt(values.amount))
    throw invalidField('refundedAmount', 'refundedAmount must not be more than amount.');
  if (!values.refundedAmount.eq(values.amount))
    checkMinorUnits({ values, previous }, values.currency, ['refundedAmount']);
  if (values.allocations !== previous.allocations)
    throw invalidField('allocations', 'A refund reduces the allocations itself. Omit allocations.');
  const status = values.refundedAmount.eq(values.amount) ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
  // Callers also send the status that they read.
  if (values.status === previous.status) values.status = status;
  else if (values.status !== 'PARTIALLY_REFUNDED' && values.status !== 'REFUNDED')
    throw invalidField('refundedAmount', `Send the refund and the status ${values.status} in two records.`);
  const ofUnapplied = previous.unappliedAmount.lt(more) ? previous.unappliedAmount : more;
  values.allocations = takeNewest(previous.allocations, more.minus(ofUnapplied)).left;
  values.unappliedAmount = unappliedOf(values);
  values.refundedAt = plan.now;
}

function changeStatus(values: PendingChange<'Payment'>['values'], previous: PaymentRow, plan: Plan): void {
  const outcome = outcomeOf(previous, values.status, plan);
  const isEmpty = values.allocations.length === 0 && outcome.allocations.length === 0;
  if (values.allocations !== previous.allocations && !isEmpty)
    throw invalidField('allocations', `Send the allocations and the status ${values.status} in two records.`);
  Object.assign(values, outcome);
}

/** The state of a payment after its result, or after it is returned, refunded in full or voided. */
function outcomeOf(row: PaymentRow, status: PaymentRow['status'], plan: Plan) {
  const result = {
    allocations: status === 'COMPLETED' ? row.allocations.map((one) => ({ ...one, allocatedAt: plan.now })) : [],
    ...(status === 'COMPLETED' && { settledAt: plan.now, failureCode: null, failureMessage: null }),
    ...(status === 'RETURNED' && { returnedAt: plan.now }),
    ...(status === 'REFUNDED' && { refundedAmount: row.amount, refundedAt: plan.now }),
  };
  return { ...result, unappliedAmount: unappliedOf({ ...row, ...result, status }) };
}

function unappliedOf({
  status,
  amount,
  refundedAmount: refunded,
  allocations,
}: Pick<PaymentRow, 'status' | 'amount' | 'refundedAmount' | 'allocations'>): Decimal {
  return unapplied(decimals(), { status, amount, refunded, allocated: sumOf(allocations) });
}

/** Records a payment that the service receives, such as one by link. */
export function receivePayment(plan: Plan, values: RowInput<'Payment'>): PaymentRow {
  const { row } = plan.insert(payment, values);
  applyPayment(plan, { id: row.id, values: row, previous: undefined, input: {} });
  return row;
}

/** Records the result that a processor reports. */
export function recordResult(
  plan: Plan,
  id: string,
  result: Pick<PaymentRow, 'status'> & Partial<Pick<PaymentRow, 'failureCode' | 'failureMessage' | 'feeAmount'>>,
): void {
  const row = plan.getForUpdate(payment, id);
  if (row === undefined) throw new Error(`Payment ${id} not found.`);
  plan.set(payment, id, { ...outcomeOf(row, result.status, plan), ...result });
}

/** Changes the allocations of a payment. Money that is no longer allocated is unapplied. */
function reallocate(change: PaymentChange, plan: Plan): void {
  const { values, previous } = change;
  if (previous === undefined || values.allocations === previous.allocations) return;
  if (previous.status !== 'COMPLETED' && previous.status !== 'PARTIALLY_REFUNDED')
    throw new Rejection(
      'INVALID_STATE',
      `The payment is ${previous.status}. Its allocations cannot change.`,
      '/allocations',
    );
  values.allocations = completeAllocations(change, values.allocations, plan);
  values.unappliedAmount = unappliedOf(values);
}

/** Allocations that a caller sends again keep their stored fields. */
function withKnownParts(input: readonly Allocation[], known: readonly Allocation[]): readonly Allocation[] {
  const complete = input.map((allocation) => {
    const same = known.find((one) => one.invoiceId === allocation.invoiceId && one.amount.eq(allocation.amount));
    return same ?? allocation;
  });
  const parts = new Set(complete);
  // In any order, as a source that sends the whole payment has them.
  const isSame = complete.length === known.length && known.every((one) => parts.has(one));
  return isSame ? known : complete;
}

/** @throws Rejection if an allocation is to an invoice that the payment cannot cover, or exceeds its amount due. */
function completeAllocations(
  { values, previous }: PaymentChange,
  input: readonly (AllocationInput & Partial<Allocation>)[],
  plan: Plan,
): Allocation[] {
  const invoices = plan.getManyForUpdate(invoice, new Set(input.map(({ invoiceId }) => invoiceId)));
  const seen = new Set<string>();
  const complete = input.map(({ invoiceId, amount }, index): Allocation => {
    if (seen.has(invoiceId)) throw invalidAllocation(index, 'invoiceId', 'Another allocation has the same invoice.');
    seen.add(invoiceId);
    const target = invoices.get(invoiceId);
    const before = previous?.allocations.find((allocation) => allocation.invoiceId === invoiceId);
    const more = amount.minus(before?.amount ?? zero);
    if (before?.amount.eq(amount) !== true && !isInMinorUnits(amount, values.currency))
      throw invalidAllocation(index, 'amount', wholeAmountOnly(values.currency));
    if (target !== undefined && more.gt(zero)) checkAllocation(plan, values, target, more, index);
    const at = values.status === 'PENDING' ? null : more.gt(zero) ? plan.now : (before?.allocatedAt ?? plan.now);
    return {
      invoiceId,
      invoiceNumber: target?.invoiceNumber ?? null,
      amount,
      allocatedAt: at,
      date: before?.date ?? null,
    };
  });
  if (sumOf(complete).gt(values.amount.minus(values.refundedAmount)))
    throw invalidField('allocations', 'The allocations exceed the amount of the payment.');
  return complete;
}

function checkAllocation(plan: Plan, paid: PaymentRow, target: Row<'Invoice'>, amount: Decimal, index: number): void {
  if (target.currency !== paid.currency)
    throw invalidAllocation(
      index,
      'invoiceId',
      `The invoice is in ${target.currency}, the payment in ${paid.currency}.`,
    );
  if (paid.clientId === null)
    throw new Rejection(
      'INVALID_STATE',
      'The payer is unknown. Set clientId first.',
      `/allocations/${index}/invoiceId`,
    );
  if (target.clientId !== paid.clientId) {
    const [payer, billed] = [plan.get(client, paid.clientId), plan.get(client, target.clientId)];
    const groupId = payer?.clientGroupId ?? null;
    const isOfGroup = groupId !== null && groupId === billed?.clientGroupId && plan.get(clientGroup, groupId)?.active;
    if (payer === undefined || billed === undefined || isOfGroup !== true)
      throw invalidAllocation(
        index,
        'invoiceId',
        'The invoice belongs to another client that is not in the same active client group.',
      );
    if (payer.orgId !== billed.orgId)
      throw invalidAllocation(
        index,
        'invoiceId',
        'The invoice is of another org, whose books are separate. Record what was paid to that org as a payment of its own.',
      );
  }
  if (!isOpen(target))
    throw new Rejection(
      'INVALID_STATE',
      `The invoice is ${isCreditNote(target) ? 'a credit note' : target.status}. Allocate to one that is ${openStatuses.join(' or ')}.`,
      `/allocations/${index}/invoiceId`,
    );
  const payable = dueOf(target).minus(target.amountPending);
  if (amount.gt(payable))
    throw new Rejection(
      'INVALID_STATE',
      `At most ${payable.toFixed(2)} can be allocated to the invoice: the amount due, less pending payments.`,
      `/allocations/${index}/amount`,
    );
}

function invalidAllocation(index: number, field: string, detail: string): Rejection {
  return new Rejection('VALIDATION_ERROR', detail, `/allocations/${index}/${field}`);
}

function afterWrite(change: PaymentChange, plan: Plan): void {
  const { values, previous } = change;
  const isMoved = values.clientId !== previous?.clientId || !heldOf(values).eq(heldOf(previous));
  if (values.clientId !== null && isMoved && !heldOf(values).eq(zero)) reopenClient(plan, values.clientId);
  enterIdentified(plan, change);
  // The other changes of a state have commands of their own.
  if (change.by === 'service' || previous?.status !== values.status) return;
  (values.refundedAmount.eq(previous.refundedAmount) ? applyPayment : refundPayment)(plan, change);
}

/** The amount that the firm holds for the client, or has lost on the payment. */
function heldOf(row: PaymentRow | undefined): Decimal {
  return row === undefined ? zero : held(decimals(), { status: row.status, unapplied: row.unappliedAmount });
}
