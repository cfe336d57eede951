import { parseDecimal } from '../../../platform/decimal.ts';
import { formatAmount, formatDay, formatPercent } from '../../documents/index.ts';
import { discountOf, lastDayOf } from '../rules/early-payment.ts';
import type { DocumentStyle } from './document-texts.ts';
import type { InvoiceFace } from './invoice-document.ts';

/** The discount for early payment in words, with what is to be paid then; undefined if there is none. */
export function earlyPaymentTerms(face: InvoiceFace, { texts, locale }: DocumentStyle): string | undefined {
  const { invoiceDate, currency } = face;
  if (face.earlyPayment === null) return undefined;
  const { withinDays, percent } = face.earlyPayment;
  const total = parseDecimal(face.total);
  const reduced = total.minus(discountOf(total, { percent: parseDecimal(percent) }, currency)).toFixed(2);
  return texts.earlyPaymentTerms
    .replace('{percent}', formatPercent(percent, locale))
    .replace('{day}', formatDay(lastDayOf(invoiceDate, { withinDays }), locale))
    .replace('{amount}', formatAmount(reduced, currency, locale));
}
