import { type Cents, halfOf, money, unitOf } from '../cents.ts';
import { type BooksRequest, currencies } from '../requests.ts';
import { draftConditions } from './drafts.ts';
import { invoiceConditions } from './invoices.ts';
import { clientConditions, hasDocuments, jobConditions } from './jobs.ts';
import { areMet, type Conditions, operationsOf, transitionsOf } from './machine.ts';
import { paymentConditions, reported } from './payments.ts';
import { found, type ModelBooks, type PaymentRow } from './rows.ts';
import { writeOffsOf } from './work.ts';

/** A change that must be accepted in the current state of a row. */
export interface Correction {
  /** The transition of the contract, or what the contract says in words. */
  readonly name: string;
  readonly request: BooksRequest;
}

/** The requests of callers, and of banks, for the transitions of a row. */
interface Subject {
  readonly machine: string;
  readonly rows: (books: ModelBooks) => ReadonlyMap<string, { readonly status: string }>;
  readonly conditions: (books: ModelBooks, ref: string) => Conditions;
  readonly request: (books: ModelBooks, ref: string, to: string) => BooksRequest;
  /** What a bank reports; undefined if it does not. */
  readonly fact?: (books: ModelBooks, ref: string, event: string) => BooksRequest | undefined;
}

const changeDate = null;
/** An approved draft is posted at once, unless it was imported for a later day, and walks import no drafts. */
const statusesOfNoWalk = ['DraftInvoiceStatus APPROVED'];

const subjects: readonly Subject[] = [
  {
    machine: 'PaymentStatus',
    rows: ({ rows }) => rows.payments,
    conditions(books, ref) {
      const row = found(books.rows.payments, ref);
      const part = partRefunded(row);
      return { ...paymentConditions(row), partRefunded: part > row.refunded && part < row.amount, allRefunded: true };
    },
    request(books, ref, to) {
      const row = found(books.rows.payments, ref);
      if (to === 'PARTIALLY_REFUNDED' || to === 'REFUNDED') {
        const all = to === 'REFUNDED' ? row.amount : partRefunded(row);
        return { kind: 'refund', ref, refundedAmount: money(all), changeDate };
      }
      if (to !== 'COMPLETED' && to !== 'FAILED' && to !== 'VOIDED' && to !== 'RETURNED') throw unknown(to);
      return { kind: 'movePayment', ref, to, changeDate };
    },
    fact({ rows }, ref, event) {
      const to = reported[event];
      // No bank reports on a credit.
      if (to === undefined || found(rows.payments, ref).method === 'CREDIT') return undefined;
      return { kind: 'reportPayment', ref, to };
    },
  },
  {
    machine: 'InvoiceStatus',
    rows: ({ rows }) => rows.invoices,
    conditions: invoiceConditions,
    request(_books, ref, to) {
      if (to !== 'POSTED' && to !== 'PARTIALLY_PAID' && to !== 'PAID' && to !== 'VOIDED' && to !== 'WRITTEN_OFF')
        throw unknown(to);
      return { kind: 'moveInvoice', ref, to, changeDate };
    },
  },
  {
    machine: 'DraftInvoiceStatus',
    rows: ({ rows }) => rows.drafts,
    conditions: (books, ref) => draftConditions(books, found(books.rows.drafts, ref)),
    request(_books, ref, to) {
      if (to === 'DELETED') return { kind: 'deleteDraft', ref };
      if (to !== 'DRAFT' && to !== 'IN_REVIEW' && to !== 'APPROVED' && to !== 'REJECTED') throw unknown(to);
      return { kind: 'moveDraft', ref, to };
    },
  },
  {
    machine: 'JobStatus',
    rows: ({ rows }) => rows.jobs,
    conditions: jobConditions,
    request: (_books, ref, to) => ({ kind: 'moveJob', ref, to }),
  },
  {
    machine: 'ClientStatus',
    rows: ({ rows }) => rows.clients,
    conditions: clientConditions,
    request: (_books, ref, to) => ({ kind: 'moveClient', ref, to }),
  },
];

/** Every fact of a bank, and every change that the contract names, whose conditions are met in the state of a row. */
export function correctionsOf(books: ModelBooks): Correction[] {
  const possible: Correction[] = [];
  for (const { machine, rows, conditions, request, fact } of subjects)
    for (const [ref, { status }] of rows(books))
      for (const transition of transitionsOf(machine)) {
        if (!transition.from.includes(status)) continue;
        const name = `${machine} ${status} to ${transition.to}`;
        for (const event of transition.events ?? []) {
          const reportedFact = fact?.(books, ref, event);
          if (reportedFact !== undefined) possible.push({ name: `${name} by ${event}`, request: reportedFact });
        }
        const isOpen = operationsOf(machine, transition).length > 0;
        if (isOpen && areMet(machine, transition, conditions(books, ref)))
          possible.push({ name, request: request(books, ref, transition.to) });
      }
  return [...possible, ...writeOffs(books), ...furtherCorrections(books)];
}

/** The names of all transitions that callers or banks cause, and that walks can reach. */
export function declaredCorrections(): string[] {
  const withFacts = new Set(subjects.filter(({ fact }) => fact !== undefined).map(({ machine }) => machine));
  return [...subjects.map(({ machine }) => machine), 'WipEntryStatus'].flatMap((machine) =>
    transitionsOf(machine).flatMap((transition) =>
      transition.from.flatMap((from) => {
        if (statusesOfNoWalk.includes(`${machine} ${from}`)) return [];
        const name = `${machine} ${from} to ${transition.to}`;
        const facts = withFacts.has(machine) ? (transition.events ?? []).filter((event) => event in reported) : [];
        const isOpen = operationsOf(machine, transition).length > 0;
        return [...facts.map((event) => `${name} by ${event}`), ...(isOpen ? [name] : [])];
      }),
    ),
  );
}

function writeOffs(books: ModelBooks): Correction[] {
  return [...books.rows.wips].flatMap(([ref, { status }]) =>
    writeOffsOf(books, ref).map(({ off, to }) => ({
      name: `WipEntryStatus ${status} to ${to}`,
      request: { kind: 'writeOffWip', ref, amount: money(off), hasReason: to === 'WRITTEN_OFF', changeDate } as const,
    })),
  );
}

/** What keeps the status, so that no state machine names it. */
function furtherCorrections(books: ModelBooks): Correction[] {
  const { rows } = books;
  const possible: Correction[] = [];
  for (const [ref, { currency }] of rows.clients)
    for (const other of currencies)
      if (other !== currency && !hasDocuments(books, ref))
        possible.push({ name: 'currency before documents', request: { kind: 'currency', ref, currency: other } });
  for (const [ref, { clientId, currency, status, method, amount, refunded, allocations }] of rows.payments) {
    const payer = [...rows.clients].find(([, client]) => client.currency === currency)?.[0];
    if (clientId === null && payer !== undefined)
      possible.push({ name: `identify ${status}`, request: { kind: 'identify', ref, clientId: payer, changeDate } });
    if (status !== 'COMPLETED' && status !== 'PARTIALLY_REFUNDED') continue;
    const [first, ...rest] = allocations;
    const sent = (one: typeof rest) =>
      one.map(({ invoice, amount: part }) => ({ invoiceId: invoice, amount: money(part) }));
    if (first === undefined) continue;
    possible.push({
      name: `unapply all of ${status}`,
      request: { kind: 'allocate', ref, allocations: [], changeDate },
    });
    const half = { ...first, amount: halfOf(first.amount, currency) };
    if (half.amount > 0n)
      possible.push({
        name: `unapply a part of ${status}`,
        request: { kind: 'allocate', ref, allocations: sent([half, ...rest]), changeDate },
      });
    if (status === 'PARTIALLY_REFUNDED' && method !== 'CREDIT' && amount - refunded > unitOf(currency))
      possible.push({
        name: 'refund more',
        request: { kind: 'refund', ref, refundedAmount: money(refunded + unitOf(currency)), changeDate },
      });
  }
  return possible;
}

/** What is refunded after half of the rest is refunded too. */
function partRefunded({ currency, amount, refunded }: PaymentRow): Cents {
  return refunded + halfOf(amount - refunded, currency);
}

function unknown(to: string): Error {
  return new Error(`No request of the walks leads to ${to}.`);
}
