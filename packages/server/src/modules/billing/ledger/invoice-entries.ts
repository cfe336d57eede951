import { zero } from '../../../contract/decimal.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { isCreditNote } from '../invoice/credit-note.ts';
import { checkOpenDay, dayOfChange, enter, entriesOf, type Kind, lastOf } from './enter.ts';

/** Enters what a change of an invoice changes of the amount due, except for payments, which enter both of their halves. */
export function enterInvoice({ id, values, previous, input }: PendingChange<'Invoice'>, plan: Plan): void {
  if (!isEntered(values)) return;
  const { clientId, currency, dueDate, total } = values;
  const shared = { account: 'RECEIVABLE', clientId, currency, dueDate, invoiceId: id } as const;
  // The approval of a draft has checked its day.
  if (previous === undefined && values.draftInvoiceId === null)
    checkOpenDay(plan, clientId, { field: 'invoiceDate', day: values.invoiceDate });
  // A credit note is a credit of the client, which its payment enters.
  if (isCreditNote(values)) return;
  if (!isEntered(previous))
    enter(plan, { ...shared, kind: 'INVOICE', amount: total, businessDate: values.invoiceDate });
  const writtenOff = values.amountWrittenOff.minus(previous?.amountWrittenOff ?? zero);
  const change = (kind: Kind, amount: typeof total, undoes: Kind | undefined, reason: string | null) => {
    const entries = entriesOf(plan, 'RECEIVABLE', id);
    const undone = undoes === undefined ? undefined : lastOf(entries, undoes);
    const businessDate = dayOfChange(plan, { clientId, given: input.changeDate, change: amount, entries, undone });
    enter(plan, { ...shared, kind, amount, businessDate, reversesId: undone?.id ?? null, reason });
  };
  if (writtenOff.gt(zero)) change('WRITE_OFF', zero.minus(writtenOff), undefined, values.writeOffReason);
  if (writtenOff.lt(zero))
    change('RECOVERY', zero.minus(writtenOff), 'WRITE_OFF', input.changeReason ?? values.voidReason);
  if (values.status === 'VOIDED' && isEntered(previous) && previous.status !== 'VOIDED')
    change('VOID', zero.minus(total), 'INVOICE', values.voidReason);
}

/** Invoices that wait to be posted are not in the books, and those that were voided meanwhile never were. */
function isEntered(row: Row<'Invoice'> | undefined): row is Row<'Invoice'> {
  return row !== undefined && row.postedAt !== null;
}
