import type { Handler } from '../context.ts';
import type { OperationId } from '../contract/handler.ts';
import { Problem } from '../http/problem.ts';
import { createToken } from './authentication/createToken.ts';
import { clients } from './clients/handlers.ts';
import { contacts } from './contacts/handlers.ts';
import { records } from './records/handlers.ts';

/** Stands for a handler that is still to be written: 501. `pnpm --filter server run todo` lists where it stands. */
export async function notImplemented(): Promise<never> {
  throw new Problem('NOT_IMPLEMENTED', 'This operation is in the contract and not in the service yet.');
}

/** Every operation of the contract and what does it. One that is missing, or has another shape, does not compile. */
export const handlers: { readonly [Id in OperationId]: Handler<Id> } = {
  createToken,
  ...clients,
  ...contacts,
  ...records,
  listJobs: notImplemented,
  getJob: notImplemented,
  listJobTemplates: notImplemented,
  listProjects: notImplemented,
  searchProjects: notImplemented,
  getProject: notImplemented,
  createProjectsFromTemplate: notImplemented,
  assignStaff: notImplemented,
  removeStaff: notImplemented,
  listStaff: notImplemented,
  searchStaff: notImplemented,
  getStaff: notImplemented,
  createStaff: notImplemented,
  updateStaff: notImplemented,
  createStaffTypes: notImplemented,
  lookupStaffTypes: notImplemented,
  listTaskTypes: notImplemented,
  searchTaskTypes: notImplemented,
  getTask: notImplemented,
  searchTasks: notImplemented,
  listWip: notImplemented,
  searchWip: notImplemented,
  getWip: notImplemented,
  listCodeTypes: notImplemented,
  getCodeSchema: notImplemented,
  upsertCodes: notImplemented,
  lookupCodes: notImplemented,
  listEntryTypes: notImplemented,
  getEntrySchema: notImplemented,
  upsertEntries: notImplemented,
  lookupEntries: notImplemented,
  listEngagements: notImplemented,
  searchEngagements: notImplemented,
  getEngagement: notImplemented,
  updateEngagement: notImplemented,
  createEngagement: notImplemented,
  createEngagementBatch: notImplemented,
  getEngagementBatchStatus: notImplemented,
  listEngagementDocuments: notImplemented,
  listEventCatalog: notImplemented,
  listEventSubscriptions: notImplemented,
  createEventSubscription: notImplemented,
  getEventSubscription: notImplemented,
  deactivateEventSubscription: notImplemented,
  updateEventSubscription: notImplemented,
  reactivateEventSubscription: notImplemented,
  listDeliveries: notImplemented,
  getWebhookSecret: notImplemented,
  generateTestSignature: notImplemented,
  validateTestSignature: notImplemented,
  listPayments: notImplemented,
  searchPayments: notImplemented,
  getPayment: notImplemented,
  createQuickPaymentLink: notImplemented,
  listDraftInvoiceHistories: notImplemented,
  searchDraftInvoiceHistories: notImplemented,
  getDraftInvoice: notImplemented,
  listInvoices: notImplemented,
  searchInvoices: notImplemented,
  getInvoice: notImplemented,
  listUnpaidInvoices: notImplemented,
  listFiles: notImplemented,
  getFile: notImplemented,
};

/** A handler, whichever operation it belongs to; `app.ts` looks it up by the operation that it found. */
export type AnyHandler = (
  context: object,
  input: { readonly path: unknown; readonly query: unknown; readonly body: unknown },
) => Promise<{ readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }>;
