import type { components } from '@financial-automation/spec';
import { counts, payment, recordResult } from '../../src/modules/billing/payment/payment.ts';
import type { firm } from '../../src/modules/billing/testing.ts';
import { only, recordsOf, type WriteItem, type WriteResult } from '../../src/modules/records/testing.ts';
import { asOperator } from '../../src/operator/tenants.ts';
import type { TestCaller, TestService } from '../service.ts';
import { type Cents, cents } from './cents.ts';
import { creditOf } from './model.ts';
import { type BooksRequest, reason, type SentAllocation, type SentLine } from './requests.ts';

type Schemas = components['schemas'];

/** The result of a request. */
export interface BooksResult {
  readonly isAccepted: boolean;
  /** The row that the request created in addition to the one that it named. */
  readonly created: string | undefined;
  readonly item: Pick<WriteItem, 'status' | 'error'> | undefined;
}

/** The rows of a run by their refs. */
interface Refs {
  readonly entries: string[];
  readonly wips: string[];
  readonly drafts: string[];
  readonly invoices: string[];
  readonly payments: string[];
}

let runs = 0;

/** The books of separate clients, which steps change through the API. */
export class Books {
  readonly clientIds: readonly string[];
  /** A client that only scenarios use, so that it can be settled. */
  readonly quietClientId: string;
  readonly jobIds: readonly string[];
  readonly clientOfJob: ReadonlyMap<string, string>;
  readonly groupOfClient: ReadonlyMap<string, string>;
  readonly taskOfJob: ReadonlyMap<string, string>;
  /** The fees of jobs, in cents. */
  readonly feeOfJob: ReadonlyMap<string, Cents>;
  readonly refs: Refs = { entries: [], wips: [], drafts: [], invoices: [], payments: [] };
  /** The last returned states of rows, and the clients of work in progress. */
  readonly statusOf = new Map<string, string>();
  readonly clientOfWip = new Map<string, string>();
  /** The codes of rejections, to verify that a run does not only fail. */
  readonly rejections = new Map<string, number>();
  readonly #service: TestService;
  readonly #preparer: TestCaller;
  readonly #approver: TestCaller;
  readonly #staffId: string;
  readonly #idOf = new Map<string, string>();
  readonly #run: number;
  #created = 0;

  private constructor(
    run: number,
    service: TestService,
    { preparer, approver }: Pick<Awaited<ReturnType<typeof firm>>, 'preparer' | 'approver'>,
    staffId: string,
    clients: readonly { readonly id: string; readonly group: string; readonly jobIds: readonly string[] }[],
    taskOfJob: ReadonlyMap<string, string>,
    feeOfJob: ReadonlyMap<string, Cents>,
    quietClientId: string,
  ) {
    this.#run = run;
    this.#service = service;
    this.#preparer = preparer;
    this.#approver = approver;
    this.#staffId = staffId;
    this.clientIds = clients.map(({ id }) => id);
    this.jobIds = clients.flatMap(({ jobIds }) => jobIds);
    this.clientOfJob = new Map(clients.flatMap(({ id, jobIds }) => jobIds.map((jobId) => [jobId, id] as const)));
    this.groupOfClient = new Map(clients.map(({ id, group }) => [id, group]));
    this.taskOfJob = taskOfJob;
    this.feeOfJob = feeOfJob;
    this.quietClientId = quietClientId;
  }

  /**
   * Creates two clients of one group, the first of them with two jobs, a client without a group, and one without jobs. The
   * first job has a fixed fee, and the last one a task.
   */
  static async open(
    service: TestService,
    { preparer, approver, records, newClient, newJob }: Awaited<ReturnType<typeof firm>>,
    hourlyRate: string,
  ): Promise<Books> {
    const number = ++runs;
    const { id: clientGroupId } = await records.make('ClientGroup', { name: `Group ${number}` });
    const { id: staffTypeId } = await records.make('StaffType', {
      name: `T ${number}`,
      code: `T${number}`,
      rank: 2,
      isBillable: true,
    });
    const rates = { billingRate: hourlyRate, averageRate: '1.00', currency: 'USD', effectiveFromDate: '2020-01-01' };
    const name = { staffRef: `B-${number}`, firstName: 'B', lastName: 'B', email: `b${number}@firm.example` };
    const staff = await preparer.handle('createStaff', {
      body: { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates },
    });
    const clients = [];
    for (const [jobs, group] of [
      [2, clientGroupId],
      [1, clientGroupId],
      [1, null],
    ] as const) {
      const { id } = await newClient({ clientGroupId: group });
      const jobIds = [];
      for (let job = 0; job < jobs; job++) jobIds.push(await newJob(id));
      clients.push({ id, group: group ?? id, jobIds });
    }
    const first = clients[0]?.jobIds[0] ?? '';
    const [feeAmount, billingType] = ['2000.00', 'FIXED_FEE'];
    await records.update([{ type: 'Job', systemRef: first, attributes: { billingType, feeAmount } }]);
    const feeOfJob = new Map([[first, cents(feeAmount)]]);
    const last = clients.at(-1)?.jobIds.at(-1) ?? '';
    const type = { displayName: `Type ${number}`, code: `TT${number}`, isBillable: true, billingMethod: 'HOURLY' };
    const { id: taskTypeId } = await records.make('TaskType', type);
    const { id: taskId } = await records.make('Task', { name: 'Task', jobId: last, taskTypeId, sequence: 0 });
    const quiet = await newClient();
    const taskOfJob = new Map([[last, taskId]]);
    return new Books(number, service, { preparer, approver }, staff.body.id, clients, taskOfJob, feeOfJob, quiet.id);
  }

  /** Sends a request. @throws Error if the response is not one that the contract declares for it. */
  async send(request: BooksRequest): Promise<BooksResult> {
    if (request.kind === 'returnPayment') return this.#returnPayment(request.ref);
    const item = await this.#write(request);
    const isAccepted = item.status !== 'FAILED';
    if (!isAccepted) {
      const code = `${request.kind} ${item.error?.code}`;
      this.rejections.set(code, (this.rejections.get(code) ?? 0) + 1);
    }
    return { isAccepted, created: isAccepted ? await this.#keep(request, item) : undefined, item };
  }

  wip = (ref: string) => this.#read<Schemas['WipEntry']>(`/gql/v1/wip/${this.#id(ref)}`);
  draft = (ref: string) => this.#read<Schemas['DraftInvoice']>(`/gql/v1/draft_invoice/${this.#id(ref)}`);
  invoice = (ref: string) => this.#read<Schemas['Invoice']>(`/gql/v1/invoice/${this.#id(ref)}`);
  payment = (ref: string) => this.#read<Schemas['Payment']>(`/gql/v1/payment/${this.#id(ref)}`);
  client = (id: string) => this.#read<Schemas['Client']>(`/gql/v1/client/${id}`);
  task = (id: string) => this.#read<Schemas['Task']>(`/v1/task/${id}`);
  project = (id: string) => this.#read<Schemas['Project']>(`/gql/v1/project/${id}`);

  /** Returns an entry: a write that changes nothing returns it. */
  async entry(ref: string): Promise<Readonly<Record<string, unknown>>> {
    const response = await this.#preparer.call<WriteResult>('POST', '/api/v1/entries', {
      records: [{ type: 'TimeEntry', systemRef: ref, attributes: {} }],
    });
    const { attributes } = only(response.body.records);
    if (attributes === null || attributes === undefined) throw new Error(`${ref}: ${JSON.stringify(response.body)}`);
    return attributes;
  }

  async #write(request: Exclude<BooksRequest, { readonly kind: 'returnPayment' }>): Promise<WriteItem> {
    // A row that the service created has its ID as its systemRef.
    const systemRef = this.#systemRef(request.ref);
    const [preparer, approver] = [recordsOf(this.#preparer), recordsOf(this.#approver)];
    const place = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
    switch (request.kind) {
      case 'time': {
        const { jobId, taskId, workDate, hours, isBillable, status, reverses } = request;
        const attributes = { staffId: this.#staffId, jobId, taskId, workDate, hours, isBillable, status };
        return this.#writeEntry(
          systemRef,
          reverses === null ? attributes : { ...attributes, reversesSystemRef: reverses },
        );
      }
      case 'hours':
        return this.#writeEntry(systemRef, { hours: request.hours });
      case 'moveEntry':
        return this.#writeEntry(
          systemRef,
          { status: request.to, ...(request.to === 'REJECTED' ? { rejectionReason: reason } : {}) },
          { caller: this.#approver },
        );
      case 'removeEntry':
        return this.#writeEntry(systemRef, {}, { active: false });
      case 'wip': {
        const { jobId, wipType, amount } = request;
        const clientId = this.clientOfJob.get(jobId);
        return only(
          await preparer.upsert([
            { type: 'WipEntry', systemRef, attributes: { wipType, clientId, jobId, workDate: '2026-01-05', amount } },
          ]),
        );
      }
      case 'writeOffWip': {
        const row = await this.wip(systemRef);
        // The reason belongs to a write-off, not to undoing one.
        const isMore = Math.abs(Number(request.amount)) > Math.abs(Number(row.writeOffAmount));
        const attributes = { writeOffAmount: request.amount, ...(isMore ? { writeOffReason: reason } : {}) };
        return only(await preparer.update([{ type: 'WipEntry', systemRef, attributes }]));
      }
      case 'draft': {
        const attributes = { clientId: request.clientId, ...place, lines: this.#withIds(request.lines) };
        return only(await preparer.upsert([{ type: 'DraftInvoice', systemRef, attributes }]));
      }
      case 'draftLines':
        return only(
          await preparer.update([
            { type: 'DraftInvoice', systemRef, attributes: { lines: this.#withIds(request.lines) } },
          ]),
        );
      case 'moveDraft': {
        const attributes = { status: request.to, ...(request.to === 'REJECTED' ? { rejectionReason: reason } : {}) };
        const caller = request.to === 'APPROVED' ? approver : preparer;
        return only(await caller.update([{ type: 'DraftInvoice', systemRef, attributes }]));
      }
      case 'deleteDraft':
        return only(await preparer.remove([{ type: 'DraftInvoice', systemRef }]));
      case 'import': {
        const { clientId, status, lines } = request;
        const dates = { invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
        const attributes = { pmsRef: systemRef, clientId, status, ...dates, lines: this.#withIds(lines) };
        return only(await preparer.upsert([{ type: 'Invoice', systemRef, attributes }]));
      }
      case 'moveInvoice': {
        const { to: status } = request;
        const undone = { changeReason: reason };
        const [VOIDED, WRITTEN_OFF] = [{ voidReason: reason }, { writeOffReason: reason }];
        const reasons = { POSTED: undone, PARTIALLY_PAID: undone, VOIDED, WRITTEN_OFF };
        return only(
          await preparer.update([{ type: 'Invoice', systemRef, attributes: { status, ...reasons[status] } }]),
        );
      }
      case 'pay': {
        const { clientId, method, amount, allocations } = request;
        const attributes = { clientId, method, amount, paymentDate: '2026-02-01', currency: 'USD', source: 'MANUAL' };
        const sent = { ...attributes, allocations: this.#withInvoices(allocations) };
        return only(await preparer.upsert([{ type: 'Payment', systemRef, attributes: sent }]));
      }
      case 'movePayment':
        return only(
          await preparer.update([
            { type: 'Payment', systemRef, attributes: { status: request.to, changeReason: reason } },
          ]),
        );
      case 'archiveClient':
        return only(await preparer.update([{ type: 'Client', systemRef, attributes: { status: 'ARCHIVED' } }]));
      case 'refund': {
        const { refundedAmount } = request;
        return only(await preparer.update([{ type: 'Payment', systemRef, attributes: { refundedAmount } }]));
      }
      case 'allocate': {
        const allocations = this.#withInvoices(request.allocations);
        return only(await preparer.update([{ type: 'Payment', systemRef, attributes: { allocations } }]));
      }
    }
  }

  async #writeEntry(
    systemRef: string,
    attributes: object,
    { caller = this.#preparer, ...more }: { readonly caller?: TestCaller; readonly active?: false } = {},
  ): Promise<WriteItem> {
    const records = [{ type: 'TimeEntry', systemRef, ...more, attributes }];
    const { status, body } = await caller.call<WriteResult>('POST', '/api/v1/entries', { records });
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return only(body.records);
  }

  /** Only the processor returns payments, so no caller can send it. */
  async #returnPayment(ref: string): Promise<BooksResult> {
    const { service, tenant } = this.#service;
    const isAccepted = await asOperator(service, tenant, 'test', (unit) =>
      unit.plan((plan) => {
        const row = plan.getForUpdate(payment, this.#id(ref));
        if (row === undefined || !counts(row.status)) return false;
        recordResult(plan, row.id, { status: 'RETURNED' }, 'paymentReturned');
        return true;
      }),
    );
    return { isAccepted, created: undefined, item: undefined };
  }

  /** Stores the IDs of the rows that a request created. @returns the ref of the one that it did not name */
  async #keep({ kind, ref }: BooksRequest, { id, attributes }: WriteItem): Promise<string | undefined> {
    this.statusOf.set(ref, String(attributes?.status));
    if (kind === 'deleteDraft') this.statusOf.set(ref, 'DELETED');
    if (kind === 'removeEntry') this.refs.entries.splice(this.refs.entries.indexOf(ref), 1);
    const lists = { time: 'entries', wip: 'wips', draft: 'drafts', import: 'invoices', pay: 'payments' } as const;
    const list = Object.entries(lists).find(([created]) => created === kind)?.[1];
    if (list !== undefined && id != null) {
      this.refs[list].push(ref);
      this.#idOf.set(ref, id);
    }
    if (kind === 'wip') this.clientOfWip.set(ref, String(attributes?.clientId));
    if (kind === 'moveEntry') {
      const created = this.#keepCreated('wips', attributes?.wipId);
      if (created !== undefined) this.clientOfWip.set(created, this.clientOfJob.get(String(attributes?.jobId)) ?? '');
      return created;
    }
    const invoiceId = kind === 'moveDraft' ? this.#keepCreated('invoices', attributes?.invoiceId) : undefined;
    if (invoiceId !== undefined && String(attributes?.total).startsWith('-')) await this.#keepCredit(invoiceId);
    return invoiceId;
  }

  /** Stores the ID of the payment that is the credit of a credit note. */
  async #keepCredit(note: string): Promise<void> {
    const { body } = await this.#preparer.call<Schemas['PaymentPage']>('POST', '/gql/v1/payments/search', {
      where: { creditNoteId: { _eq: note } },
    });
    const [credit] = body.data;
    if (credit === undefined) throw new Error(`The credit note ${note} has no credit.`);
    const ref = creditOf(note);
    this.refs.payments.push(ref);
    this.statusOf.set(ref, credit.status);
    this.#idOf.set(ref, credit.id);
  }

  #keepCreated(list: 'wips' | 'invoices', id: unknown): string | undefined {
    if (typeof id !== 'string' || this.refs[list].includes(id)) return undefined;
    this.refs[list].push(id);
    this.statusOf.set(id, list === 'wips' ? 'OPEN' : 'POSTED');
    return id;
  }

  #withIds(lines: readonly SentLine[]): readonly SentLine[] {
    return lines.map((line) => ({ ...line, wipIds: line.wipIds.map((ref) => this.#id(ref)) }));
  }

  #withInvoices(allocations: readonly SentAllocation[]): readonly SentAllocation[] {
    return allocations.map(({ invoiceId, amount }) => ({ invoiceId: this.#id(invoiceId), amount }));
  }

  async #read<Body>(path: string): Promise<Body> {
    const { status, body } = await this.#preparer.call<Body>('GET', path);
    if (status !== 200) throw new Error(`${path} ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** The credit of a credit note has no key of a caller. */
  #systemRef(ref: string): string {
    return ref.startsWith(creditOf('')) ? this.#id(ref) : ref;
  }

  /** A row that the service created is named by its ID. */
  #id(ref: string): string {
    return this.#idOf.get(ref) ?? ref;
  }

  /** Returns the ref of a row by its ID. */
  refOf(id: string): string {
    return [...this.#idOf].find(([, known]) => known === id)?.[0] ?? id;
  }

  /** Returns an unused ref. */
  newRef(kind: string): string {
    this.#created += 1;
    return `${kind}-${this.#run}-${this.#created}`;
  }
}
