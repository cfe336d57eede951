import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Books } from '../../../test/books/books.ts';
import { money } from '../../../test/books/cents.ts';
import { BooksModel } from '../../../test/books/model.ts';
import { requestOf } from '../../../test/books/request-of.ts';
import type { BooksRequest } from '../../../test/books/requests.ts';
import { everyScenario, partsOf, type Step, stepOf } from '../../../test/books/steps.ts';
import { testService } from '../../../test/service.ts';
import { findBreaches } from './ledger/invariants.ts';
import { differencesOf } from './ledger/kept-sums.ts';
import { firm } from './testing.ts';

const service = await testService();
const callers = await firm(service);
// BOOKS_RUNS=200 runs more than the suite has time for.
const runs = Number(process.env.BOOKS_RUNS ?? 6);
const hourlyRate = '187.35';

interface Real {
  readonly books: Books;
}

const breaches = () =>
  service.store.read(service.tenant.id, async (session) => [
    ...(await findBreaches(session, service.tenant.id)),
    ...(await differencesOf(session, service.tenant.id)),
  ]);

/** Sends a request to the books and to the model, which must both accept or both reject it. */
async function sendToBoth(request: BooksRequest, model: BooksModel, books: Books): Promise<void> {
  const { isAccepted, created, item } = await books.send(request);
  const expected = model.request(request, () => created ?? 'a row that was not created');
  expect(isAccepted, `${JSON.stringify(request)}: ${item?.error?.detail}`).toBe(expected);
  // Rules explain rejections. If only a constraint of the database rejects a change, a rule is missing.
  if (!isAccepted && request.kind !== 'wip')
    expect(`${item?.error?.detail}`, JSON.stringify(request)).not.toMatch(/^The value (is out of range|contradicts)/);
}

/** Initial work, so that lines have several rows to bill: amounts that cannot be divided evenly. */
function firstWork(books: Books): BooksRequest[] {
  const amounts = ['100.01', '33.35', '7.77', '-20.03'];
  return books.jobIds.flatMap((jobId) =>
    amounts.map((amount) => ({ kind: 'wip', ref: books.newRef('wip'), jobId, wipType: 'PROGRESS', amount })),
  );
}

/** A step of fast-check: the books accept exactly the steps that the model accepts. */
class StepCommand implements fc.AsyncCommand<BooksModel, Real> {
  readonly #step: Step;
  #description = '';

  constructor(step: Step) {
    this.#step = step;
  }

  check(): boolean {
    return true;
  }

  async run(model: BooksModel, { books }: Real): Promise<void> {
    this.#description = '';
    for (const part of partsOf(this.#step)) {
      const request = await requestOf(books, part);
      if (request === undefined) continue;
      this.#description += `${JSON.stringify(request)} `;
      await sendToBoth(request, model, books);
    }
  }

  toString(): string {
    return this.#description === '' ? this.#step.kind : this.#description;
  }
}

/** Compares everything that the API returns of the books with the model. */
async function compare(books: Books, model: BooksModel): Promise<void> {
  for (const id of [...books.clientIds, books.quietClientId])
    expect(await books.client(id), `client ${id}`).toMatchObject(model.client(id));
  for (const id of books.jobIds) expect(await books.project(id), `job ${id}`).toMatchObject(model.jobSums(id));
  for (const id of books.taskOfJob.values())
    expect(await books.task(id), `task ${id}`).toMatchObject({ actualHours: model.taskHours(id) });
  for (const [ref, { status, hours }] of model.entries)
    expect(await books.entry(ref), ref).toMatchObject({ status, hours: money(hours) });
  for (const [ref, row] of model.wips)
    expect(await books.wip(ref), ref).toMatchObject({
      status: row.status,
      amount: money(row.amount),
      billedAmount: money(row.billed),
      writeUpAmount: money(row.up),
      writeOffAmount: money(row.off),
      outstandingAmount: money(model.outstanding(row)),
    });
  for (const [ref, { status }] of model.drafts) expect(await books.draft(ref), ref).toMatchObject({ status });
  for (const [ref, row] of model.invoices)
    expect(await books.invoice(ref), ref).toMatchObject({
      status: row.status,
      total: money(row.total),
      amountPaid: money(row.paid),
      amountCredited: money(row.credited),
      amountPending: money(row.pending),
      amountWrittenOff: money(row.writtenOff),
      amountDue: money(model.due(row)),
    });
  for (const [ref, row] of model.payments)
    expect(await books.payment(ref), ref).toMatchObject({
      status: row.status,
      unappliedAmount: money(model.unapplied(row)),
      refundedAmount: money(row.refunded),
      allocations: row.allocations.map(({ amount }) => ({ amount: money(amount) })),
    });
}

/** Sends one of the facts and corrections that are possible now. Whatever happened before, it must be accepted. */
async function correct(pick: number, model: BooksModel, books: Books): Promise<void> {
  const possible = model.correctionsPossible();
  const request = possible[pick % Math.max(possible.length, 1)];
  if (request === undefined) return;
  const { isAccepted, item } = await books.send(request);
  expect(isAccepted, `${JSON.stringify(request)}: ${item?.error?.detail}`).toBe(true);
  expect(
    model.request(request, () => 'nothing'),
    `the model accepts ${JSON.stringify(request)}`,
  ).toBe(true);
}

test('after any sequence of time, drafts, invoices and payments, the books match a simple model', async () => {
  const accepted = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.commands([stepOf().map((step) => new StepCommand(step))], { maxCommands: 45, size: 'max' }),
      everyScenario(),
      fc.array(fc.nat({ max: 1_000 }), { minLength: 12, maxLength: 12 }),
      async (commands, scenarios, picks) => {
        const books = await Books.open(service, callers, hourlyRate);
        const model = new BooksModel({ hourlyRate: 18_735n, ...books });
        for (const request of firstWork(books)) await sendToBoth(request, model, books);
        await fc.asyncModelRun(() => ({ model, real: { books } }), commands);
        // They come last, so that no later step hides their result.
        for (const step of scenarios) await new StepCommand(step).run(model, { books });
        await compare(books, model);
        expect(await breaches()).toEqual([]);
        for (const pick of picks) await correct(pick, model, books);
        await compare(books, model);
        expect(await breaches()).toEqual([]);
        for (const { status } of [...model.invoices.values(), ...model.payments.values(), ...model.wips.values()])
          accepted.add(status);
      },
    ),
    // The seed and path of a failure reproduce it; shrinking takes many minutes.
    { numRuns: runs, endOnFailure: true },
  );
  if (process.env.BOOKS_RUNS !== undefined) console.log([...accepted].sort().join(' '));
});

test('after any concurrent requests, the books are consistent', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(stepOf(), { minLength: 8, maxLength: 18 }), { minLength: 4, maxLength: 4 }),
      async (lanes) => {
        const books = await Books.open(service, callers, hourlyRate);
        for (const request of firstWork(books)) await books.send(request);
        await Promise.all(
          lanes.map(async (steps) => {
            for (const step of steps.flatMap(partsOf)) {
              const request = await requestOf(books, step);
              if (request !== undefined) await books.send(request);
            }
          }),
        );
        expect(await breaches()).toEqual([]);
      },
    ),
    // The timing of concurrent requests cannot be reproduced, so failures are not shrunk.
    { numRuns: Math.ceil(runs / 3), endOnFailure: true },
  );
});
