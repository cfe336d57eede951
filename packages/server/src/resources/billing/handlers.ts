import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { createQuickPaymentLink } from './createQuickPaymentLink.ts';
import { draftInvoice } from './draft-invoice.ts';
import { draftInvoiceHistory } from './draft-invoice-history.ts';
import { invoice } from './invoice.ts';
import { listUnpaidInvoices } from './listUnpaidInvoices.ts';
import { payment } from './payment.ts';

export const billing = {
  listPayments: pageOf(payment),
  searchPayments: pageOf(payment),
  getPayment: byId(payment),
  aggregatePayments: aggregateOf(payment),
  createQuickPaymentLink,
  listDraftInvoiceHistories: pageOf(draftInvoiceHistory),
  searchDraftInvoiceHistories: pageOf(draftInvoiceHistory),
  getDraftInvoice: byId(draftInvoice),
  listInvoices: pageOf(invoice),
  searchInvoices: pageOf(invoice),
  getInvoice: byId(invoice),
  aggregateInvoices: aggregateOf(invoice),
  listUnpaidInvoices,
};
