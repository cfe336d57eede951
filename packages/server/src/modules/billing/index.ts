import { aggregateOf, byId, pageOf, searchOf } from '../../query/handlers.ts';
import { getInvoiceDocument } from './document/getInvoiceDocument.ts';
import { draftInvoice } from './draft/draft-invoice.ts';
import { draftInvoiceHistory } from './draft/draft-invoice-history.ts';
import { billedLine } from './invoice/billed-line.ts';
import { invoice } from './invoice/invoice.ts';
import './invoice/invoice-rules.ts';
import { listUnpaidInvoices } from './invoice/listUnpaidInvoices.ts';
import { getClientStatement } from './ledger/getClientStatement.ts';
import { journalEntry } from './ledger/journal-entry.ts';
import { ledgerEntry } from './ledger/ledger-entry.ts';
import { createQuickPaymentLink } from './link/createQuickPaymentLink.ts';
import { quickPaymentLink } from './link/payment-link.ts';
import { mail } from './mail/mail.ts';
import './mail/mail-template.ts';
import './mail/remind.ts';
import { sendInvoice } from './mail/sendInvoice.ts';
import { payment } from './payment/payment.ts';
import './payment/payment-rules.ts';

export const billing = {
  listPayments: pageOf(payment),
  searchPayments: searchOf(payment),
  getPayment: byId(payment),
  aggregatePayments: aggregateOf(payment),
  createQuickPaymentLink,
  getQuickPaymentLink: byId(quickPaymentLink),
  searchQuickPaymentLinks: searchOf(quickPaymentLink),
  listDraftInvoiceHistories: pageOf(draftInvoiceHistory),
  searchDraftInvoiceHistories: searchOf(draftInvoiceHistory),
  searchDraftInvoices: searchOf(draftInvoice),
  getDraftInvoice: byId(draftInvoice),
  listInvoices: pageOf(invoice),
  searchInvoices: searchOf(invoice),
  getInvoice: byId(invoice),
  aggregateInvoices: aggregateOf(invoice),
  listUnpaidInvoices,
  listBilledLines: pageOf(billedLine),
  searchBilledLines: searchOf(billedLine),
  aggregateBilledLines: aggregateOf(billedLine),
  getInvoiceDocument,
  sendInvoice,
  getMail: byId(mail),
  searchMails: searchOf(mail),
  getClientStatement,
  listJournalEntries: pageOf(journalEntry),
  searchJournalEntries: searchOf(journalEntry),
  aggregateJournalEntries: aggregateOf(journalEntry),
  listLedgerEntries: pageOf(ledgerEntry),
  searchLedgerEntries: searchOf(ledgerEntry),
  getLedgerEntry: byId(ledgerEntry),
  aggregateLedgerEntries: aggregateOf(ledgerEntry),
};
export { writeInvoice } from './document/write-invoice.ts';
export { draftBySchedule } from './draft/draft-by-schedule.ts';
export { draftInvoice } from './draft/draft-invoice.ts';
export { invoice } from './invoice/invoice.ts';
export { markOverdue } from './invoice/mark-overdue.ts';
export type { Breach } from './ledger/book-rule.ts';
export { foldSums } from './ledger/fold-sums.ts';
export { glMapping } from './ledger/gl-mapping.ts';
export { findBreaches } from './ledger/invariants.ts';
export type { Difference, KeptSums } from './ledger/kept-sums.ts';
export { differencesOf, keptSums, writeDays, writeSumsOfClients } from './ledger/kept-sums.ts';
export { ledgerEntry } from './ledger/ledger-entry.ts';
export { createLink } from './link/createQuickPaymentLink.ts';
export { expireLinks } from './link/expire-links.ts';
export { newLinkUrl } from './link/link-token.ts';
export { endSending, mail, startSending } from './mail/mail.ts';
export { remindClients } from './mail/remind.ts';
export { sendMail } from './mail/send-mail.ts';
export { followAttempts } from './pay/reconcile.ts';
export { paymentRoutes } from './pay/routes.ts';
export { payment } from './payment/payment.ts';
export { dueOf } from './rules/balances.ts';
