import { balancesOf, jobSums, taskHours } from './model/balances.ts';
import { type Correction, correctionsOf } from './model/corrections.ts';
import { changeLines, deleteDraft, moveDraft, redateDraft, writeDraft } from './model/drafts.ts';
import { importInvoice, moveInvoice } from './model/invoices.ts';
import { changeCurrency, moveClient, moveJob, reopen } from './model/jobs.ts';
import { allocate, identify, movePayment, pay, recordFact, refund } from './model/payments.ts';
import { copyOf, type Firm, type ModelBooks, type ModelRows, Rejected } from './model/rows.ts';
import { changeHours, moveEntry, recordTime, removeEntry } from './model/time.ts';
import { addWork, writeOffWork } from './model/work.ts';
import type { BooksRequest } from './requests.ts';

/** The expected books: rows by their ref, amounts in cents, and the rules in their simplest form. */
export class BooksModel implements ModelBooks {
  readonly firm: Firm;
  #rows: ModelRows;

  constructor(firm: Firm) {
    this.firm = firm;
    const withStatus = (all: ReadonlyMap<string, string>) => new Map([...all].map(([id, status]) => [id, { status }]));
    this.#rows = {
      entries: new Map(),
      wips: new Map(),
      drafts: new Map(),
      invoices: new Map(),
      payments: new Map(),
      jobs: withStatus(firm.statusOfJob),
      clients: new Map([...firm.statusOfClient].map(([id, status]) => [id, { status, currency: firm.currency }])),
      ledger: [],
      closedThrough: null,
      clock: 0,
    };
  }

  get rows(): ModelRows {
    return this.#rows;
  }

  /**
   * Applies a request.
   *
   * @param madeRef returns the ref of the row that the request creates in addition to the one that it names: the invoice
   * of a draft, the work in progress of an entry.
   * @returns whether the books accept the request; if not, nothing has changed.
   */
  request(request: BooksRequest, madeRef: () => string): boolean {
    const before = copyOf(this.#rows);
    try {
      this.#apply(request, madeRef);
    } catch (error) {
      this.#rows = before;
      if (error instanceof Rejected) return false;
      throw error;
    }
    reopen(this);
    return true;
  }

  #apply(request: BooksRequest, madeRef: () => string): void {
    switch (request.kind) {
      case 'time':
        recordTime(this, request);
        break;
      case 'hours':
        changeHours(this, request);
        break;
      case 'moveEntry':
        moveEntry(this, request, madeRef);
        break;
      case 'removeEntry':
        removeEntry(this, request);
        break;
      case 'wip':
        addWork(this, request);
        break;
      case 'writeOffWip':
        writeOffWork(this, request);
        break;
      case 'draft':
        writeDraft(this, request);
        break;
      case 'draftLines':
        changeLines(this, request);
        break;
      case 'redateDraft':
        redateDraft(this, request);
        break;
      case 'moveDraft':
        moveDraft(this, request, madeRef);
        break;
      case 'deleteDraft':
        deleteDraft(this, request);
        break;
      case 'import':
        importInvoice(this, request);
        break;
      case 'moveInvoice':
        moveInvoice(this, request);
        break;
      case 'pay':
        pay(this, request);
        break;
      case 'identify':
        identify(this, request);
        break;
      case 'movePayment':
        movePayment(this, request);
        break;
      case 'reportPayment':
        recordFact(this, request);
        break;
      case 'refund':
        refund(this, request);
        break;
      case 'allocate':
        allocate(this, request);
        break;
      case 'moveJob':
        moveJob(this, request);
        break;
      case 'moveClient':
        moveClient(this, request);
        break;
      case 'currency':
        changeCurrency(this, request);
        break;
      case 'close':
        this.#rows.closedThrough = request.day;
    }
  }

  /** The facts of banks and the corrections that the states of all rows name. */
  corrections(): Correction[] {
    return correctionsOf(this);
  }

  /** The balances, the status and the currency of a client, in the format of the API. */
  client(clientId: string) {
    return { ...balancesOf(this, clientId), ...this.#rows.clients.get(clientId) };
  }

  jobSums = (jobId: string) => jobSums(this, jobId);
  taskHours = (taskId: string) => taskHours(this, taskId);
}
