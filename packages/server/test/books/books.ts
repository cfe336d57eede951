import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import pLimit from 'p-limit';
import { Rejection } from '../../src/contract/rejection.ts';
import { rehearse, transact } from '../../src/entity/transact.ts';
import { payment } from '../../src/modules/billing/payment/payment.ts';
import { recordResult } from '../../src/modules/billing/payment/payment-rules.ts';
import { counts } from '../../src/modules/billing/rules/balances.ts';
import type { WriteItem } from '../modules/records.ts';
import type { HttpResponse, TestService } from '../service.ts';
import { type BooksCallers, type BooksFirm, createBooksFirm } from './books-firm.ts';
import { reported } from './model/payments.ts';
import { creditOf } from './model/rows.ts';
import type { BooksRequest, SentAllocation, WalkCurrency } from './requests.ts';
import { type CallerRequest, sendRequest, sendRequests } from './send-request.ts';

type Schemas = components['schemas'];

/** The result of a request. */
export interface BooksResult {
  readonly isAccepted: boolean;
  /** The row that the request created in addition to the one that it named. */
  readonly created: string | undefined;
  readonly item: Pick<WriteItem, 'status' | 'error' | 'attributes'> | undefined;
}

/** The rows of a run by their refs. */
interface Refs {
  readonly entries: string[];
  readonly wips: string[];
  readonly drafts: string[];
  readonly invoices: string[];
  readonly payments: string[];
}

/** An entry of the ledger as it is stored. */
export type NewEntry = Pick<
  Schemas['LedgerEntry'],
  'account' | 'kind' | 'amount' | 'currency' | 'businessDate' | 'clientId' | 'reversesId' | 'isRounding' | EntryOwner
>;
type EntryOwner = 'invoiceId' | 'paymentId' | 'wipEntryId';

/** The most rows of a page. */
const pageSize = 1_000;

/** What the amounts of a step follow from: rows as the API returns them, or as the model expects them. */
export interface BooksReader {
  wip(ref: string): Read<Pick<Schemas['WipEntry'], 'jobId' | 'outstandingAmount' | 'writeOffAmount'>>;
  draft(ref: string): Read<Pick<Schemas['DraftInvoice'], 'clientId'>>;
  invoice(ref: string): Read<Pick<Schemas['Invoice'], 'clientId' | InvoiceAmount>>;
  payment(ref: string): Read<Pick<Schemas['Payment'], 'currency' | PaymentAmount> & Allocated>;
  entry(ref: string): Read<Pick<Schemas['TimeEntry'], 'jobId' | 'taskId' | 'hours' | 'isBillable'>>;
}

type InvoiceAmount = 'amountDue' | 'amountPending' | 'amountPaid' | 'amountCredited';
type PaymentAmount = 'amount' | 'refundedAmount' | 'unappliedAmount';
interface Allocated {
  readonly method: string;
  readonly allocations: readonly SentAllocation[];
}
type Read<Row> = Row | Promise<Row>;

/** The books of separate clients, which steps change through the API. */
export class Books implements BooksReader {
  readonly firm: BooksFirm;
  readonly refs: Refs = { entries: [], wips: [], drafts: [], invoices: [], payments: [] };
  /** The last returned states of rows, and the clients of work in progress. */
  readonly statusOf: Map<string, string>;
  readonly clientOfWip = new Map<string, string>();
  /** Payments whose payer is unknown. */
  readonly unidentified = new Set<string>();
  readonly currencyOf: Map<string, WalkCurrency>;
  closedThrough: string | null = null;
  readonly #service: TestService;
  readonly #callers: BooksCallers;
  readonly #idOf = new Map<string, string>();
  readonly #refOf = new Map<string, string>();
  readonly #received: string[] = [];
  #figures: unknown = [];
  /** One closing at a time. */
  readonly #closings = pLimit(1);
  #lastEntry = '00000000-0000-0000-0000-000000000000';
  #created = 0;

  private constructor(service: TestService, callers: BooksCallers, firm: BooksFirm) {
    this.#service = service;
    this.#callers = callers;
    this.firm = firm;
    this.statusOf = new Map(firm.statusOfJob);
    this.currencyOf = new Map([...firm.statusOfClient.keys()].map((id) => [id, firm.currency]));
  }

  static async open(service: TestService, callers: BooksCallers, hourlyRate: string): Promise<Books> {
    return new Books(service, callers, await createBooksFirm(callers, hourlyRate));
  }

  /** Sends a request. @throws Error if the response is not one that the contract declares for it. */
  async send(request: BooksRequest): Promise<BooksResult> {
    if (request.kind === 'reportPayment') return this.#report(request, transact);
    if (request.kind === 'close') return this.#closings(() => this.#close(request));
    return this.#resultOf(request, await sendRequest(this.#sender({}), request));
  }

  /** Sends requests that are items of the same call. */
  async sendAll(requests: readonly CallerRequest[]): Promise<BooksResult[]> {
    const items = await sendRequests(this.#sender({}), requests);
    const results: BooksResult[] = [];
    for (const [index, request] of requests.entries()) {
      const item = items[index];
      if (item !== undefined) results.push(await this.#resultOf(request, item));
    }
    return results;
  }

  async #resultOf(request: CallerRequest, item: WriteItem): Promise<BooksResult> {
    const isAccepted = item.status !== 'FAILED';
    return { isAccepted, created: isAccepted ? await this.#keep(request, item) : undefined, item };
  }

  /** Does all that `send` does; then nothing of it remains. */
  async rehearse(request: BooksRequest): Promise<BooksResult> {
    if (request.kind === 'reportPayment') return this.#report(request, rehearse);
    const item = await sendRequest(this.#sender({ 'Dry-Run': 'true' }), request);
    return { isAccepted: item.status !== 'FAILED', created: undefined, item };
  }

  #sender(headers: Readonly<Record<string, string>>) {
    const { preparer, approver } = this.#callers;
    const idOf = (ref: string) => this.#id(ref);
    return { preparer, approver, firm: this.firm, headers, idOf, closedThrough: this.closedThrough };
  }

  wip = (ref: string) => this.#read<Schemas['WipEntry']>(`/gql/v1/wip/${this.#id(ref)}`);
  draft = (ref: string) => this.#read<Schemas['DraftInvoice']>(`/gql/v1/draft_invoice/${this.#id(ref)}`);
  invoice = (ref: string) => this.#read<Schemas['Invoice']>(`/gql/v1/invoice/${this.#id(ref)}`);
  payment = (ref: string) => this.#read<Schemas['Payment']>(`/gql/v1/payment/${this.#id(ref)}`);
  task = (id: string) => this.#read<Schemas['Task']>(`/v1/task/${id}`);
  entry = (ref: string) => this.#read<Schemas['TimeEntry']>(`/gql/v1/time_entry/${this.#id(ref)}`);

  /** All rows of the walk, as the API returns them. */
  clients = () => this.#all<Schemas['Client']>('clients', { id: { _in: this.#clientIds } });
  projects = () => this.#all<Schemas['Project']>('projects', { clientId: { _in: this.#clientIds } });
  entries = () => this.#all<Schemas['TimeEntry']>('time_entries', { staffId: { _eq: this.firm.staffId } });
  wips = () => this.#all<Schemas['WipEntry']>('wips', { clientId: { _in: this.#clientIds } });
  invoices = () => this.#all<Schemas['Invoice']>('invoices', { clientId: { _in: this.#clientIds } });
  payments = () =>
    this.#all<Schemas['Payment']>('payments', { _or: [{ clientId: { _in: this.#clientIds } }, this.#unknown('id')] });
  ledger = () =>
    this.#all<Schemas['LedgerEntry']>('ledger_entries', {
      _or: [{ clientId: { _in: this.#clientIds } }, { clientId: { _is_null: true }, ...this.#unknown('paymentId') }],
    });

  statement = (clientId: string, query: Readonly<Record<string, string>>) =>
    this.#read<Schemas['ClientStatementPage']>(`/api/v1/clients/${clientId}/statement?${new URLSearchParams(query)}`);

  /** The entries that were recorded after those that this returned before. */
  async newLedger(): Promise<Map<string, NewEntry>> {
    const { tenant } = this.#callers.preparer;
    const rows = await this.#service.store.read(tenant.id, (session) =>
      session.all<NewEntry & { readonly id: string }>(sql`
        select id, account, kind, amount::text as amount, currency, business_date::text as "businessDate",
          client_id as "clientId", invoice_id as "invoiceId", payment_id as "paymentId", wip_entry_id as "wipEntryId",
          reverses_id as "reversesId", is_rounding as "isRounding"
        from ledger_entry
        where tenant_id = ${tenant.id} and (client_id = any(${this.#clientIds}) or client_id is null and payment_id = any(${this.#received}))
          and id > ${this.#lastEntry} order by id`),
    );
    this.#lastEntry = rows.at(-1)?.id ?? this.#lastEntry;
    return new Map(rows.map(({ id, ...row }) => [id, row]));
  }

  /** The balances as of the closed day, now and when it was closed: they must be the same. */
  async closedFigures(): Promise<{ readonly now: unknown; readonly before: unknown }> {
    // Another caller can close another day meanwhile.
    const before = this.#figures;
    return { now: await this.#figuresOf(this.closedThrough), before };
  }

  /** Another closing before the figures are read would allow others to change them. */
  async #close(request: CallerRequest & { readonly kind: 'close' }): Promise<BooksResult> {
    const { day } = request;
    // Figures as of a day that is still closed are those of when it was closed first.
    const isReopened = this.closedThrough !== null && (day === null || day < this.closedThrough);
    if (isReopened) await this.#checkFigures();
    const result = await this.#resultOf(request, await sendRequest(this.#sender({}), request));
    if (!result.isAccepted) return result;
    this.#figures = await this.#figuresOf(day);
    this.closedThrough = day;
    return result;
  }

  /** @throws Error if figures as of the closed day have changed since it was closed */
  async #checkFigures(): Promise<void> {
    const { now, before } = await this.closedFigures();
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    throw new Error(`Figures as of ${this.closedThrough} changed: ${JSON.stringify(before)} to ${JSON.stringify(now)}`);
  }

  async #figuresOf(day: string | null): Promise<unknown> {
    if (day === null) return [];
    const { status, body } = await this.#callers.preparer.call<Schemas['AggregatePage']>(
      'POST',
      '/gql/v1/ledger_entries/aggregate',
      {
        where: {
          _or: [
            { clientId: { _in: this.#clientIds } },
            { clientId: { _is_null: true }, ...this.#unknown('paymentId') },
          ],
          businessDate: { _lte: day },
        },
        groupBy: ['account', 'invoiceId', 'paymentId', 'wipEntryId'].map((column) => ({ column })),
        measures: { balance: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
        pageSize,
      },
    );
    if (status !== 200 || body.hasMore) throw new Error(`${status}: ${JSON.stringify(body).slice(0, 500)}`);
    return body.data;
  }

  /** Records what a bank reports. */
  async #report(
    { ref, to }: BooksRequest & { kind: 'reportPayment' },
    run: typeof transact | typeof rehearse,
  ): Promise<BooksResult> {
    const { store, vault } = this.#service.service;
    const { tenant } = this.#callers.preparer;
    const origin = { tenant, caller: undefined, operation: 'test', requestId: 'test', vault };
    try {
      await run(store, origin, (unit) =>
        unit.plan((plan) => {
          const row = plan.getForUpdate(payment, this.#id(ref));
          if (row === undefined || row.status === to) return;
          if (to === 'REFUNDED' && !counts(row.status))
            throw new Rejection('INVALID_STATE', 'The payment does not count.');
          if (Object.values(reported).includes(to)) recordResult(plan, row.id, { status: to });
        }),
      );
      return { isAccepted: true, created: undefined, item: undefined };
    } catch (error) {
      if (error instanceof Rejection) return { isAccepted: false, created: undefined, item: undefined };
      throw error;
    }
  }

  /** Stores the IDs of the rows that a request created. @returns the ref of the one that it did not name */
  async #keep(request: CallerRequest, { id, attributes }: WriteItem): Promise<string | undefined> {
    const { kind, ref } = request;
    if (kind === 'currency') this.currencyOf.set(ref, request.currency);
    this.statusOf.set(ref, String(attributes?.status));
    if (kind === 'deleteDraft') this.statusOf.set(ref, 'DELETED');
    if (kind === 'removeEntry') this.refs.entries.splice(this.refs.entries.indexOf(ref), 1);
    const lists = { time: 'entries', wip: 'wips', draft: 'drafts', import: 'invoices', pay: 'payments' } as const;
    const list = Object.entries(lists).find(([created]) => created === kind)?.[1];
    if (list !== undefined && id != null) {
      this.refs[list].push(ref);
      this.#idOf.set(ref, id);
      this.#refOf.set(id, ref);
    }
    if (kind === 'pay' && request.clientId === null && id != null) {
      this.unidentified.add(ref);
      this.#received.push(id);
    }
    if (kind === 'identify') this.unidentified.delete(ref);
    if (kind === 'wip') this.clientOfWip.set(ref, String(attributes?.clientId));
    if (kind === 'moveEntry') {
      const created = this.#keepCreated('wips', attributes?.wipId);
      const jobId = String(attributes?.jobId);
      if (created !== undefined) this.clientOfWip.set(created, this.firm.clientOfJob.get(jobId) ?? '');
      return created;
    }
    const invoiceId = kind === 'moveDraft' ? this.#keepCreated('invoices', attributes?.invoiceId) : undefined;
    if (invoiceId !== undefined && String(attributes?.total).startsWith('-')) await this.#keepCredit(invoiceId);
    return invoiceId;
  }

  /** Payments of the walk whose payer is or was unknown: others of the tenant have no client either. */
  #unknown = (field: string) => ({ [field]: { _in: this.#received } });

  /** Stores the ID of the payment that is the credit of a credit note. */
  async #keepCredit(note: string): Promise<void> {
    const credits = await this.#all<Schemas['Payment']>('payments', { creditNoteId: { _eq: note } });
    const [credit] = credits.values();
    if (credit === undefined) throw new Error(`The credit note ${note} has no credit.`);
    const ref = creditOf(note);
    this.refs.payments.push(ref);
    this.statusOf.set(ref, credit.status);
    this.#idOf.set(ref, credit.id);
    this.#refOf.set(credit.id, ref);
  }

  #keepCreated(list: 'wips' | 'invoices', id: unknown): string | undefined {
    if (typeof id !== 'string' || this.refs[list].includes(id)) return undefined;
    this.refs[list].push(id);
    this.statusOf.set(id, list === 'wips' ? 'OPEN' : 'POSTED');
    return id;
  }

  get #clientIds(): string[] {
    return [...this.firm.groupOfClient.keys()];
  }

  async #read<Body>(path: string): Promise<Body> {
    const { status, body } = await this.#callers.preparer.call<Body>('GET', path);
    if (status !== 200) throw new Error(`${path} ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  async #all<Row extends { readonly id: string }>(resource: string, where: object): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    for (let cursor: string | null = null; ; ) {
      const page: HttpResponse<{ readonly data: Row[]; readonly nextCursor: string | null }> =
        await this.#callers.preparer.call('POST', `/gql/v1/${resource}/search`, {
          where,
          pageSize,
          ...(cursor === null ? {} : { cursor }),
        });
      const { status, body } = page;
      if (status !== 200) throw new Error(`${resource} ${status}: ${JSON.stringify(body)}`);
      for (const row of body.data) rows.set(this.refOf(row.id), row);
      cursor = body.nextCursor;
      if (cursor === null) return rows;
    }
  }

  /** A row that the service created is named by its ID. */
  #id(ref: string): string {
    return this.#idOf.get(ref) ?? ref;
  }

  /** Returns the ref of a row by its ID. */
  refOf(id: string): string {
    return this.#refOf.get(id) ?? id;
  }

  /** Returns an unused ref. */
  newRef(kind: string): string {
    this.#created += 1;
    return `${kind}-${this.firm.number}-${this.#created}`;
  }
}
