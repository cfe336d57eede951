import { command } from '../../../entity/command.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { enterWriteOff } from '../ledger/invoice-entries.ts';
import { invalidateLinks } from '../link/payment-link.ts';

/** The amount due is lost as bad debt, and can no longer be paid by link. */
export const writeOffInvoice = command('invoiceWrittenOff', (plan, change: PendingChange<'Invoice'>) => {
  enterWriteOff(plan, change);
  invalidateLinks(plan, change.id);
});
