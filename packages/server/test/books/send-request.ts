import { only, type WriteItem, type WriteResult } from '../modules/records.ts';
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

/** An item of a call, and the call that it belongs to. */
interface SentItem {
  readonly path: '/api/v1/records' | '/api/v1/entries';
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Whether the approver sends it. */
  readonly isDecision: boolean;
  readonly item: object;
}

/** The last day of all documents, which does not depend on the walk. */
const dueDate = '2026-06-30';

/** Sends a request, and returns the item of its response. */
export async function sendRequest(sender: Sender, request: CallerRequest): Promise<WriteItem> {
  return only(await sendRequests(sender, [request]));
}

/** Sends requests that are items of the same call, and returns those of the response. */
export async function sendRequests(sender: Sender, requests: readonly CallerRequest[]): Promise<WriteItem[]> {
  const [first, ...others] = requests.map((request) => sentItem(sender, request));
  if (first === undefined) return [];
  const { path, method, isDecision } = first;
  if (others.some((one) => one.path !== path || one.method !== method || one.isDecision !== isDecision))
    throw new Error('These requests are not items of one call.');
  const caller = isDecision ? sender.approver : sender.preparer;
  const records = [first, ...others].map(({ item }) => item);
  const { status, body } = await caller.call<WriteResult>(method, path, { records }, sender.headers);
  if (status !== 200 || body.records.length !== records.length) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.records;
}

function sentItem({ firm, idOf, closedThrough }: Sender, request: CallerRequest): SentItem {
  // The service names a credit by its ID, as all rows that it creates.
  const systemRef = isCredit(request.ref) ? idOf(request.ref) : request.ref;
  const record = (method: SentItem['method'], item: object, isDecision = false): SentItem => ({
    ...{ path: '/api/v1/records', method, isDecision },
    item: { systemRef, ...item },
  });
  const upsert = (type: string, attributes: object) => record('POST', { type, attributes });
  const update = (type: string, attributes: object, isApproval = false) =>
    record('PUT', { type, attributes }, isApproval);
  const entry = (attributes: object, more: object = {}, isDecision = false): SentItem => ({
    ...{ path: '/api/v1/entries', method: 'POST', isDecision },
    item: { type: 'TimeEntry', systemRef, ...more, attributes },
  });
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
      const { amount, hasReason } = request;
      return update('WipEntry', {
        writeOffAmount: amount,
        ...(hasReason && { writeOffReason: reason }),
        ...dated(request),
      });
    }
    case 'draft': {
      const { clientId, currency, invoiceDate } = request;
      const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: invoiceDate, dueDate };
      const owner = { clientId, ...(currency !== null && { currency }) };
      return upsert('DraftInvoice', { ...owner, ...dates, lines: lines(request.lines) });
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
      return record('DELETE', { type: 'DraftInvoice' });
    case 'import': {
      const { clientId, currency, status, invoiceDate } = request;
      const owner = { clientId, ...(currency !== null && { currency }) };
      const dates = { invoiceDate, dueDate };
      return upsert('Invoice', { pmsRef: systemRef, ...owner, status, ...dates, lines: lines(request.lines) });
    }
    case 'moveInvoice': {
      const { to: status } = request;
      const undone = { changeReason: reason };
      const [VOIDED, WRITTEN_OFF] = [{ voidReason: reason }, { writeOffReason: reason }];
      const PAID = { settleRest: true, writeOffReason: reason };
      const reasons = { POSTED: undone, PARTIALLY_PAID: undone, PAID, VOIDED, WRITTEN_OFF };
      return update('Invoice', { status, ...reasons[status], ...dated(request) });
    }
    case 'pay': {
      const { clientId, currency, method, paymentDate, amount } = request;
      const paid = { clientId, method, amount, paymentDate, currency, source: 'MANUAL' };
      return upsert('Payment', { ...paid, allocations: parts(request.allocations) });
    }
    case 'identify':
      return update('Payment', { clientId: request.clientId, ...dated(request) });
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
    case 'currency':
      return update('Client', { currency: request.currency });
    case 'close': {
      const { day } = request;
      const isReopened = closedThrough !== null && (day === null || day < closedThrough);
      return update('Org', { booksClosedThrough: day, ...(isReopened && { changeReason: reason }) });
    }
  }
}

function dated({ changeDate }: { readonly changeDate: string | null }): object {
  return changeDate === null ? {} : { changeDate };
}
