import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BooksCallers } from '../../../test/books/books-firm.ts';
import { declaredCorrections } from '../../../test/books/model/corrections.ts';
import { requestOf } from '../../../test/books/request-of.ts';
import { currencies } from '../../../test/books/requests.ts';
import { partsOf, type Step, someScenarios, stepOf } from '../../../test/books/steps.ts';
import { type Corrected, firstWork, openBooks, Walk } from '../../../test/books/walk.ts';
import { firm } from '../../../test/modules/billing.ts';
import { testService } from '../../../test/service.ts';
import { findBreaches } from './ledger/invariants.ts';
import { differencesOf } from './ledger/kept-sums.ts';

// With other work on the machine, a read takes many times as long.
const service = await testService({ config: { readBudget: 60_000 } });
// BOOKS_RUNS=10000 runs more than the suite has time for. BOOKS_SEED repeats the walks of a seed that a failure names.
const runs = Number(process.env.BOOKS_RUNS ?? 1);
const seed = Number(process.env.BOOKS_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Walks that are taken at the same time, which keeps both the service and the database busy. */
const walkerCount = Math.min(4, Math.ceil(runs / 5));
/** Checks of the invariants read all rows of a tenant, and its tokens expire. */
const walksPerTenant = 5;
/** One walk of so many rehearses what is possible, which is almost half of its requests: each kind is possible in most walks. */
const walksPerRehearsal = 4;
/** With other work on the machine, a walk takes many times as long. */
const timeout = 600_000 + runs * 20_000;

/** Takes walks one after the other, in tenants of their own. */
class Walker {
  readonly #number: number;
  #walks = 0;
  #callers: BooksCallers | undefined;

  constructor(number: number) {
    this.#number = number;
  }

  get rehearses(): boolean {
    return this.#walks % walksPerRehearsal === 1;
  }

  async callers(): Promise<BooksCallers> {
    if (this.#callers === undefined || this.#walks % walksPerTenant === 0) {
      await this.check();
      if (runs >= 100) console.log(`Walker ${this.#number}: ${this.#walks} walks`);
      const tenant = await service.addTenant(`walks_${this.#number}_${this.#walks}`);
      this.#callers = await firm({ ...service, signIn: ({ roles }) => service.signIn({ roles, tenant }) });
    }
    this.#walks += 1;
    return this.#callers;
  }

  /** Checks all invariants of the books in the tenant. */
  async check(): Promise<void> {
    if (this.#callers === undefined) return;
    const { id } = this.#callers.preparer.tenant;
    const breaches = await service.store.read(id, async (session) => [
      ...(await findBreaches(session, id)),
      ...(await differencesOf(session, id)),
    ]);
    expect(breaches).toEqual([]);
  }
}

/** A step of fast-check: the books accept exactly the steps that the model accepts. */
class StepCommand implements fc.AsyncCommand<object, Walk> {
  readonly #step: Step;
  #description = '';

  constructor(step: Step) {
    this.#step = step;
  }

  check(): boolean {
    return true;
  }

  async run(_model: object, walk: Walk): Promise<void> {
    this.#description = await walk.take(this.#step);
  }

  toString(): string {
    return this.#description === '' ? this.#step.kind : this.#description;
  }
}

/** How often each kind of fact and correction was accepted. */
const corrected: Corrected = new Map();

test('after any sequence of time, drafts, invoices and payments, the books match a simple model', {
  timeout,
}, async () => {
  const started = performance.now();
  let hasFailed = false;
  const walkers = Array.from({ length: walkerCount }, async (_, number) => {
    const walker = new Walker(number);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('USD', ...currencies), { minLength: 3, maxLength: 3 }),
        fc.commands([stepOf().map((step) => new StepCommand(step))], { maxCommands: 45, size: 'max' }),
        someScenarios(),
        fc.array(fc.nat({ max: 1_000 }), { minLength: 12, maxLength: 12 }),
        async (ofClients, commands, scenarios, picks) => {
          // The other walkers end with the one that failed.
          if (hasFailed) return;
          try {
            const callers = await walker.callers();
            const walk = await Walk.start(service, callers, ofClients, corrected, walker.rehearses);
            await fc.asyncModelRun(() => ({ model: {}, real: walk }), commands);
            // They come last, so that no later step hides their result.
            for (const step of scenarios) await walk.take(step);
            await walk.compare();
            await walk.rehearseAll(picks[0] ?? 0);
            for (const pick of picks) await walk.correct(pick);
            await walk.compare();
          } catch (error) {
            hasFailed = true;
            throw error;
          }
        },
      ),
      // The seed and path of a failure reproduce it; shrinking takes many minutes.
      { numRuns: Math.ceil(runs / walkerCount), seed: seed + number, endOnFailure: true },
    );
    await walker.check();
  });
  const failed = (await Promise.allSettled(walkers)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  if (process.env.BOOKS_RUNS === undefined) return;
  const missing = declaredCorrections().filter((name) => !corrected.has(name));
  const minutes = (performance.now() - started) / 60_000;
  console.log(`${runs} walks in ${minutes.toFixed(1)} min, seed ${seed}`, Object.fromEntries([...corrected].sort()));
  console.log('not reached:', missing);
  // So many walks reach every transition that the contract declares.
  if (runs >= 500) expect(missing).toEqual([]);
});

test('after any concurrent requests, the books are consistent', { timeout }, async () => {
  const walker = new Walker(walkerCount);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(stepOf(), { minLength: 8, maxLength: 18 }), { minLength: 4, maxLength: 4 }),
      async (callers) => {
        const books = await openBooks(service, await walker.callers());
        await books.sendAll(firstWork(books));
        await Promise.all(
          callers.map(async (steps) => {
            for (const step of steps.flatMap(partsOf)) {
              const request = await requestOf(books, step);
              if (request !== undefined) await books.send(request);
            }
          }),
        );
        await walker.check();
      },
    ),
    // The timing of concurrent requests cannot be reproduced, so failures are not shrunk.
    { numRuns: Math.ceil(runs / 3), endOnFailure: true },
  );
});
