import { expect } from 'vitest';
import type { TestService } from '../service.ts';
import { Books, type BooksResult, type NewEntry } from './books.ts';
import type { BooksCallers } from './books-firm.ts';
import { cents, money, unitOf } from './cents.ts';
import type { Correction } from './model/corrections.ts';
import { expectedOf, expectedRows } from './model/expected.ts';
import { described, today } from './model/ledger.ts';
import { readerOf } from './model/reader.ts';
import type { LedgerRow } from './model/rows.ts';
import { BooksModel } from './model.ts';
import { requestOf } from './request-of.ts';
import type { BooksRequest, WalkCurrency } from './requests.ts';
import type { CallerRequest } from './send-request.ts';
import { compareStatements } from './statements.ts';
import { partsOf, type Step } from './steps.ts';

/** How often each kind of fact and correction was accepted. */
export type Corrected = Map<string, number>;

const hourlyRate = '187.35';
const owners = { RECEIVABLE: 'invoiceId', CREDIT: 'paymentId', WIP: 'wipEntryId' } as const;

/** Books and their model, which change in the same way: any difference fails the test. */
export class Walk {
  readonly #books: Books;
  readonly #model: BooksModel;
  readonly #corrected: Corrected;
  readonly #rehearses: boolean;
  readonly #rehearsed = new Set<string>();
  /** The entries of the ledger that were compared, by their IDs. */
  readonly #entries = new Map<string, LedgerRow>();

  private constructor(books: Books, corrected: Corrected, rehearses: boolean) {
    this.#books = books;
    this.#model = new BooksModel({ hourlyRate: cents(hourlyRate), ...books.firm });
    this.#corrected = corrected;
    this.#rehearses = rehearses;
  }

  /**
   * Creates a firm in the tenant of the callers, whose clients have the given currencies and some work. A walk that rehearses what is
   * possible sends almost twice as many requests.
   */
  static async start(
    service: TestService,
    callers: BooksCallers,
    currencies: readonly WalkCurrency[],
    corrected: Corrected,
    rehearses: boolean,
  ): Promise<Walk> {
    const books = await openBooks(service, callers);
    const walk = new Walk(books, corrected, rehearses);
    const ofClients = books.firm.clientIds.map(
      (ref, place) => ({ kind: 'currency', ref, currency: currencies[place] ?? 'USD' }) as const,
    );
    await walk.#sendAll(ofClients);
    await walk.#sendAll(firstWork(books));
    return walk;
  }

  /** Takes a step, and rehearses what is possible then now and then. @returns its requests, as text */
  async take(step: Step): Promise<string> {
    const requests: string[] = [];
    for (const part of partsOf(step)) {
      const request = await requestOf(this.#books, part, readerOf(this.#model));
      if (request === undefined) continue;
      requests.push(JSON.stringify(request));
      await this.#send(request);
      if (this.#rehearses && part.pick % 5 === 0) await this.#rehearseOne(part.other);
    }
    return requests.join(' ');
  }

  /** Rehearses each kind of fact and correction that is possible now. Whatever happened before, it must be accepted. */
  async rehearseAll(pick: number): Promise<void> {
    if (!this.#rehearses) return;
    for (const possible of Map.groupBy(this.#model.corrections(), ({ name }) => name).values())
      await this.#rehearse(possible, pick);
  }

  /** Sends one of the facts and corrections that are possible now. */
  async correct(pick: number): Promise<void> {
    const possible = this.#model.corrections();
    const { name, request } = possible[pick % Math.max(possible.length, 1)] ?? {};
    if (name === undefined || request === undefined) return;
    const isAccepted = await this.#send(request);
    expect(isAccepted, `${name}: ${JSON.stringify(request)}`).toBe(true);
    this.#corrected.set(name, (this.#corrected.get(name) ?? 0) + 1);
  }

  /** Compares everything that the API returns of the books with the model. */
  async compare(): Promise<void> {
    const [books, model] = [this.#books, this.#model];
    const { rows } = model;
    const expected = expectedRows(model);
    for (const [id, client] of await books.clients()) expect(client, `client ${id}`).toMatchObject(model.client(id));
    for (const [id, job] of await books.projects()) expect(job, `job ${id}`).toMatchObject(model.jobSums(id));
    for (const id of books.firm.taskOfJob.values())
      expect(await books.task(id), `task ${id}`).toMatchObject({ actualHours: model.taskHours(id) });
    for (const [ref, row] of rows.drafts) expect(await books.draft(ref), ref).toMatchObject(expected.draft(row));
    const entries = [...(await books.entries())].filter(([, { active }]) => active);
    expectAll(new Map(entries), rows.entries, expected.entry);
    expectAll(await books.wips(), rows.wips, expected.wip);
    const invoices = await books.invoices();
    expectAll(invoices, rows.invoices, expected.invoice);
    for (const [ref, { paidDate }] of rows.invoices) expect(dayIn(invoices.get(ref)?.paidDate), ref).toBe(paidDate);
    expectAll(await books.payments(), rows.payments, expected.payment);
    expect(this.#describedIn(await books.ledger())).toEqual(rows.ledger.map(described).toSorted());
    await compareStatements(books);
    const { now, before } = await books.closedFigures();
    expect(now, `figures as of ${books.closedThrough}`).toEqual(before);
  }

  async #send(request: BooksRequest): Promise<boolean> {
    const known = this.#model.rows.ledger.length;
    const result = await this.#books.send(request);
    this.#apply(request, result);
    await this.#checkLedger(known, JSON.stringify(request));
    return result.isAccepted;
  }

  async #sendAll(requests: readonly CallerRequest[]): Promise<void> {
    const known = this.#model.rows.ledger.length;
    const results = await this.#books.sendAll(requests);
    for (const [index, result] of results.entries()) {
      const request = requests[index];
      if (request !== undefined) this.#apply(request, result);
    }
    await this.#checkLedger(known, `${requests.length} requests`);
  }

  /** Applies a request to the model, which must accept it if the books did, and agree on what became of its row. */
  #apply(request: BooksRequest, { isAccepted, created, item }: BooksResult): void {
    const expected = this.#model.request(request, () => created ?? 'a row that was not created');
    expect(isAccepted, `${JSON.stringify(request)}: ${item?.error?.detail}`).toBe(expected);
    // Rules explain rejections. If only a constraint of the database rejects a change, a rule is missing.
    if (!isAccepted && request.kind !== 'wip')
      expect(`${item?.error?.detail}`, JSON.stringify(request)).not.toMatch(/out of range|conflicts with other values/);
    if (isAccepted)
      expect(item?.attributes ?? {}, JSON.stringify(request)).toMatchObject(expectedOf(this.#model, request));
  }

  /** Compares the entries that a request caused with those of the model. */
  async #checkLedger(known: number, description: string): Promise<void> {
    const actual = this.#describedIn(await this.#books.newLedger());
    const expected = this.#model.rows.ledger.slice(known).map(described).toSorted();
    expect(actual, `entries of ${description}`).toEqual(expected);
  }

  /** Entries as texts, like those of the model. */
  #describedIn(entries: ReadonlyMap<string, NewEntry>): string[] {
    const books = this.#books;
    const rowOf = (id: string): LedgerRow => {
      const known = this.#entries.get(id);
      if (known !== undefined) return known;
      const entry = entries.get(id);
      if (entry === undefined) throw new Error(`The entry ${id} is missing.`);
      const row = {
        ...entry,
        amount: cents(entry.amount),
        businessDate: dayIn(entry.businessDate) ?? '',
        owner: books.refOf(entry[owners[entry.account]] ?? ''),
        invoice: entry.invoiceId === null ? null : books.refOf(entry.invoiceId),
        payment: entry.paymentId === null ? null : books.refOf(entry.paymentId),
        reverses: entry.reversesId === null ? null : rowOf(entry.reversesId),
      };
      this.#entries.set(id, row);
      return row;
    };
    return [...entries.keys()].map((id) => described(rowOf(id))).toSorted();
  }

  /** Rehearses a fact or a correction of a kind that the walk has not rehearsed yet. */
  async #rehearseOne(pick: number): Promise<void> {
    const possible = this.#model.corrections().filter(({ name }) => !this.#rehearsed.has(name));
    const { name } = possible[pick % Math.max(possible.length, 1)] ?? {};
    await this.#rehearse(
      possible.filter((one) => one.name === name),
      pick,
    );
  }

  async #rehearse(possible: readonly Correction[], pick: number): Promise<void> {
    const { name, request } = possible[pick % Math.max(possible.length, 1)] ?? {};
    if (name === undefined || request === undefined) return;
    const { isAccepted, item } = await this.#books.rehearse(request);
    expect(isAccepted, `${name}: ${JSON.stringify(request)}: ${item?.error?.detail}`).toBe(true);
    this.#corrected.set(name, (this.#corrected.get(name) ?? 0) + 1);
    this.#rehearsed.add(name);
  }
}

/** Creates a firm in the tenant of the callers, and opens its books. */
export function openBooks(service: TestService, callers: BooksCallers): Promise<Books> {
  return Books.open(service, callers, hourlyRate);
}

/** Initial work, so that lines have several rows to bill: amounts that cannot be divided evenly. */
export function firstWork(books: Books): CallerRequest[] {
  const amounts = ['100.01', '33.35', '7.77', '-20.03'].map(cents);
  const work = { kind: 'wip', wipType: 'PROGRESS', workDate: '2026-01-05' } as const;
  return books.firm.jobIds.flatMap((jobId) => {
    const unit = unitOf(books.currencyOf.get(books.firm.clientOfJob.get(jobId) ?? '') ?? '');
    return amounts.map((amount) => {
      return { ...work, ref: books.newRef('wip'), jobId, amount: money(amount - (amount % unit)) };
    });
  });
}

function expectAll<Row>(
  actual: ReadonlyMap<string, unknown>,
  expected: ReadonlyMap<string, Row>,
  of: (row: Row) => object,
) {
  expect([...actual.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
  for (const [ref, row] of expected) expect(actual.get(ref), ref).toMatchObject(of(row));
}

/** A day that walks do not name is the one on which they run. */
function dayIn(day: string | null | undefined): string | null {
  return day === null || day === undefined ? null : day > '2026-06-30' ? today : day;
}
