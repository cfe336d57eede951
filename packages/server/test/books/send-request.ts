import { only, type WriteItem, type WriteResult } from '../../src/modules/records/testing.ts';
import type { TestCaller } from '../service.ts';
import type { BooksFirm } from './books-firm.ts';
import { isCredit } from './model/rows.ts';
import { type BooksRequest, reason, type SentAllocation, type SentLine } from './requests.ts';

/** Requests that callers send. */
export type CallerRequest = Exclude<BooksRequest, { readonly kind: 'reportPayment' }>;

interface Sender {
  readonly preparer: TestCaller;
  readonly approver: TestCaller;
  readonly firm: BooksFirm;
  readonly headers: Readonly<Record<string, string>>;
  /** The ID of a row by its ref. */
  readonly idOf: (ref: string) => string;
  /** The day through which the books are closed. */
  readonly closedThrough: string | null;
}

/** The last day of all documents, which does not depend on the walk. */
const dueDate = '2026-06-30';

/** Sends a request, and returns the item of its response. */
export async function sendRequest(sender: Sender, request: CallerRequest): Promise<WriteItem> {
  const { firm, idOf } = sender;
  // The service names a credit by its ID, as all rows that it creates.
  const systemRef = isCredit(request.ref) ? idOf(request.ref) : request.ref;
  const upsert = (type: string, attributes: object) => write(sender, 'POST', { type, systemRef, attributes });
  const update = (type: string, attributes: object, isApproval = false) =>
    write(sender, 'PUT', { type, systemRef, attributes }, isApproval);
  const entry = (attributes: object, more: object = {}, isDecision = false) =>
    writeEntry(sender, { type: 'TimeEntry', systemRef, ...more, attributes }, isDecision);
  const lines = (all: readonly SentLine[]) => all.map((line) => ({ ...line, wipIds: line.wipIds.map(idOf) }));
  const parts = (all: readonly SentAllocation[]) =>
    all.map(({ invoiceId, amount }) => ({ invoiceId: idOf(invoiceId), amount }));
  switch (request.kind) {
    case 'time': {
      const { jobId, taskId, workDate, hours, isBillable, status, reverses } = request;
      const attributes = { staffId: firm.staffId, jobId, taskId, workDate, hours, isBillable, status };
      return entry(reverses === null ? attributes : { ...attributes, reversesSystemRef: reverses });
    }
    case 'hours':
      return entry({ hours: request.hours });
    case 'moveEntry':
      return entry({ status: request.to, ...(request.to === 'REJECTED' && { rejectionReason: reason }) }, {}, true);
    case 'removeEntry':
      return entry({}, { active: false });
    case 'wip': {
      const { jobId, wipType, workDate, amount } = request;
      return upsert('WipEntry', { wipType, clientId: firm.clientOfJob.get(jobId), jobId, workDate, amount });
    }
    case 'writeOffWip': {
      const { body } = await sender.preparer.call<{ writeOffAmount: string }>('GET', `/gql/v1/wip/${idOf(systemRef)}`);
      // The reason belongs to a write-off, not to undoing one.
      const isMore = Math.abs(Number(request.amount)) > Math.abs(Number(body.writeOffAmount));
      const why = isMore ? { writeOffReason: reason } : {};
      return update('WipEntry', { writeOffAmount: request.amount, ...why, ...dated(request) });
    }
    case 'draft': {
      const { clientId, invoiceDate } = request;
      const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: invoiceDate, dueDate };
      return upsert('DraftInvoice', { clientId, ...dates, lines: lines(request.lines) });
    }
    case 'draftLines':
      return update('DraftInvoice', { lines: lines(request.lines) });
    case 'redateDraft':
      return update('DraftInvoice', { proposedInvoiceDate: request.invoiceDate });
    case 'moveDraft': {
      const attributes = { status: request.to, ...(request.to === 'REJECTED' && { rejectionReason: reason }) };
      return update('DraftInvoice', attributes, request.to === 'APPROVED');
    }
    case 'deleteDraft':
      return write(sender, 'DELETE', { type: 'DraftInvoice', systemRef });
    case 'import': {
      const { clientId, status, invoiceDate } = request;
      const dates = { invoiceDate, dueDate };
      return upsert('Invoice', { pmsRef: systemRef, clientId, status, ...dates, lines: lines(request.lines) });
    }
    case 'moveInvoice': {
      const { to: status } = request;
      const undone = { changeReason: reason };
      const [VOIDED, WRITTEN_OFF] = [{ voidReason: reason }, { writeOffReason: reason }];
      const reasons = { POSTED: undone, PARTIALLY_PAID: undone, VOIDED, WRITTEN_OFF };
      return update('Invoice', { status, ...reasons[status], ...dated(request) });
    }
    case 'pay': {
      const { clientId, method, paymentDate, amount } = request;
      const paid = { clientId, method, amount, paymentDate, currency: 'USD', source: 'MANUAL' };
      return upsert('Payment', { ...paid, allocations: parts(request.allocations) });
    }
    case 'movePayment':
      return update('Payment', { status: request.to, changeReason: reason, ...dated(request) });
    case 'refund':
      return update('Payment', { refundedAmount: request.refundedAmount, ...dated(request) });
    case 'allocate':
      return update('Payment', { allocations: parts(request.allocations), ...dated(request) });
    case 'moveJob':
      return update('Job', { status: request.to });
    case 'moveClient':
      return update('Client', { status: request.to });
    case 'close': {
      const { day } = request;
      const { closedThrough } = sender;
      const isReopened = closedThrough !== null && (day === null || day < closedThrough);
      return update('Org', { booksClosedThrough: day, ...(isReopened && { changeReason: reason }) });
    }
  }
}

function dated({ changeDate }: { readonly changeDate: string | null }): object {
  return changeDate === null ? {} : { changeDate };
}

async function write(
  { preparer, approver, headers }: Sender,
  method: string,
  item: object,
  isApproval = false,
): Promise<WriteItem> {
  const caller = isApproval ? approver : preparer;
  return itemOf(await caller.call<WriteResult>(method, '/api/v1/records', { records: [item] }, headers));
}

async function writeEntry(
  { preparer, approver, headers }: Sender,
  item: object,
  isDecision: boolean,
): Promise<WriteItem> {
  const caller = isDecision ? approver : preparer;
  return itemOf(await caller.call<WriteResult>('POST', '/api/v1/entries', { records: [item] }, headers));
}

function itemOf({ status, body }: { readonly status: number; readonly body: WriteResult }): WriteItem {
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return only(body.records);
}
