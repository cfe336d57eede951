import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { draftInvoice } from './draft/draft-invoice.ts';
import { draftInvoiceHistory } from './draft/draft-invoice-history.ts';
import { invoice } from './invoice/invoice.ts';
import { listUnpaidInvoices } from './invoice/listUnpaidInvoices.ts';
import { ledgerEntry } from './ledger/ledger-entry.ts';
import { createQuickPaymentLink } from './link/createQuickPaymentLink.ts';
import { quickPaymentLink } from './link/payment-link.ts';
import { payment } from './payment/payment.ts';

export const billing = {
  listPayments: pageOf(payment),
  searchPayments: pageOf(payment),
  getPayment: byId(payment),
  aggregatePayments: aggregateOf(payment),
  createQuickPaymentLink,
  getQuickPaymentLink: byId(quickPaymentLink),
  listDraftInvoiceHistories: pageOf(draftInvoiceHistory),
  searchDraftInvoiceHistories: pageOf(draftInvoiceHistory),
  getDraftInvoice: byId(draftInvoice),
  listInvoices: pageOf(invoice),
  searchInvoices: pageOf(invoice),
  getInvoice: byId(invoice),
  aggregateInvoices: aggregateOf(invoice),
  listUnpaidInvoices,
  listLedgerEntries: pageOf(ledgerEntry),
  searchLedgerEntries: pageOf(ledgerEntry),
  getLedgerEntry: byId(ledgerEntry),
  aggregateLedgerEntries: aggregateOf(ledgerEntry),
};
