import type { components } from '@financial-automation/spec';
import { expect } from 'vitest';
import type { Books } from './books.ts';
import { cents, money, total } from './cents.ts';

type Entry = components['schemas']['LedgerEntry'];
type Statement = components['schemas']['ClientStatementPage'];

/** Compares the statement of each client with its entries of the ledger, added up in another way. */
export async function compareStatements(books: Books): Promise<void> {
  const ledger = [...(await books.ledger()).values()].filter(({ account }) => account !== 'WIP');
  for (const [clientId, currency] of books.currencyOf) {
    const entries = ledger.filter((entry) => entry.clientId === clientId && entry.currency === currency);
    const days = entries.map(({ businessDate }) => businessDate).toSorted();
    const [from = '2026-01-01', to = from] = [
      days[Math.floor(days.length / 3)],
      days[Math.floor((2 * days.length) / 3)],
    ];
    expect(await wholeStatement(books, clientId, from, to), `statement of ${clientId}`).toEqual(
      statementOf(entries, from, to),
    );
  }
}

async function wholeStatement(books: Books, clientId: string, from: string, to: string) {
  const pages: Statement[] = [];
  do {
    pages.push(await books.statement(clientId, { from, to, pageSize: '3', ...continued(pages.at(-1)) }));
  } while (pages.at(-1)?.hasMore);
  const amounts = pages.flatMap(({ data }) => data.map(({ amount }) => amount));
  const balances = pages.flatMap(({ data }) => data.map(({ balance }) => balance));
  const { openingBalance, closingBalance, ageing } = pages[0] ?? {};
  return {
    openingBalance,
    closingBalance,
    ageing,
    amounts: amounts.toSorted(),
    lastBalance: balances.at(-1) ?? closingBalance,
  };
}

function continued(page: Statement | undefined) {
  return page?.nextCursor == null ? undefined : { cursor: page.nextCursor };
}

function statementOf(entries: readonly Entry[], from: string, to: string) {
  const until = entries.filter(({ businessDate }) => businessDate <= to);
  const owed = (rows: readonly Entry[]) => money(total(rows.map(signed)));
  const inPeriod = until.filter(({ businessDate }) => businessDate >= from);
  // The halves of an allocation within the client.
  const half = (row: Entry) =>
    JSON.stringify([row.paymentId, row.invoiceId, row.kind, row.businessDate, row.recordedAt]);
  const isInternal = (row: Entry) =>
    row.kind.endsWith('ALLOCATION') &&
    inPeriod.some((other) => other.account !== row.account && half(other) === half(row));
  const late = (row: Entry) => Temporal.PlainDate.from(row.dueDate ?? to).until(to, { largestUnit: 'days' }).days;
  const receivable = until.filter(({ account }) => account === 'RECEIVABLE');
  const aged = (least: number, most: number) =>
    owed(receivable.filter((row) => late(row) >= least && late(row) <= most));
  return {
    openingBalance: owed(until.filter(({ businessDate }) => businessDate < from)),
    closingBalance: owed(until),
    ageing: {
      notDue: aged(Number.NEGATIVE_INFINITY, 0),
      days1To30: aged(1, 30),
      days31To60: aged(31, 60),
      days61To90: aged(61, 90),
      daysOver90: aged(91, Number.POSITIVE_INFINITY),
      unappliedCredit: money(-total(until.filter(({ account }) => account === 'CREDIT').map(signed))),
    },
    amounts: inPeriod
      // The void of an invoice over nothing moves nothing.
      .filter((row) => !isInternal(row) && signed(row) !== 0n)
      .map((row) => money(signed(row)))
      .toSorted(),
    lastBalance: owed(until),
  };
}

function signed({ account, amount }: Entry): bigint {
  return account === 'RECEIVABLE' ? cents(amount) : -cents(amount);
}
