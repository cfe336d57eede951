/** Measures figures of the ledger as of past days on demo data; see README.md beside this file. */
import { type AggregateRequest, aggregateReader } from '@financial-automation/server/bench';
import { ledgerEntry } from '@financial-automation/server/modules/billing';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { openDemoData } from './demo-data.ts';
import { inTurns, median, spread } from './figures.ts';
import { millisecondsUsedBy } from './processor-time.ts';

const { values } = readOptions({
  options: {
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    rounds: { type: 'string', default: '5' },
    limit: { type: 'string', default: '100' },
    order: { type: 'string', default: 'amount' },
  },
});

/** What a request whose groups begin with a column adds for its order, by the name of the order. */
const orders: Readonly<Record<string, (column: string) => Partial<AggregateRequest>>> = {
  amount: () => ({ orderBy: [{ measure: 'open', direction: 'desc' }] }),
  'lowest amount': () => ({ orderBy: [{ measure: 'open', direction: 'asc' }] }),
  id: () => ({}),
  'last id': (column) => ({ orderBy: [{ column, direction: 'desc' }] }),
  name: (id) => {
    const column = `${id.replace(/Id$/, '')}.name`;
    return id.endsWith('Id') ? { with: [column], orderBy: [{ column, direction: 'asc' }] } : {};
  },
};

const order = orders[values.order] ?? unknownOrder();
await using data = await openDemoData(values);
const { store, scope } = data;
const { tenantId } = scope;
const times: Record<string, Record<string, string>> = {};
for (const [label, day] of Object.entries(await pastDays()))
  for (const [name, request] of Object.entries(figuresAsOf(day))) {
    const used: number[] = [];
    const [clock = []] = await inTurns(Number(values.rounds), 1, () =>
      store.read(tenantId, async (session) => {
        const backend = await session.first<{ pid: number }>(sql`select pg_backend_pid() as pid`);
        const before = millisecondsUsedBy(backend?.pid ?? 0);
        await aggregateReader({ ...scope, name }, ledgerEntry, request)(session);
        used.push(millisecondsUsedBy(backend?.pid ?? 0) - before);
      }),
    );
    // The first read only warms up.
    used.shift();
    if (median(used) > Number(values.limit)) process.exitCode = 1;
    times[name] = { ...times[name], [`${label}, ${day}`]: `${spread(used, 0)}, clock ${median(clock).toFixed(0)}` };
  }
console.log('\nProcessor time of the database, and time of the clock, in milliseconds');
console.table(times);

function unknownOrder(): never {
  throw new Error(`The order is one of ${Object.keys(orders).join(', ')}.`);
}

/** Days at both ends of the ledger and between. */
async function pastDays(): Promise<Readonly<Record<string, string>>> {
  const ends = await store.read(tenantId, (session) =>
    session.first<{ first: string; last: string }>(sql`
      select min(business_date)::text as first, max(business_date)::text as last from ledger_day where tenant_id = ${tenantId}`),
  );
  if (ends === undefined) throw new Error('The ledger is empty.');
  const [first, last] = [Temporal.PlainDate.from(ends.first), Temporal.PlainDate.from(ends.last)];
  const days = {
    'first month': first.add({ days: 25 }),
    middle: first.add({ days: Math.floor(first.until(last).total('days') / 2) }),
    'a year ago': last.subtract({ years: 1 }),
    '100 days ago': last.subtract({ days: 100 }),
    'a week ago': last.subtract({ days: 7 }),
  };
  return Object.fromEntries(Object.entries(days).map(([label, day]) => [label, day.toString()]));
}

/** Requests of 100 groups in the order of `--order`. */
function figuresAsOf(day: string): Readonly<Record<string, AggregateRequest>> {
  const [client, job] = [{ column: 'clientId' }, { column: 'jobId' }];
  const currency = { column: 'currency' };
  const pastDue = { column: 'dueDate', daysBefore: day, boundaries: [1, 31, 61, 91] };
  const age = { column: 'workDate', daysBefore: day, boundaries: [0, 31, 61, 91] };
  const entries = { entries: { function: 'COUNT' } } as const;
  const oldest = { oldest: { function: 'MIN', column: 'workDate' } } as const;
  const first = { first: { function: 'MIN', column: 'businessDate' } } as const;
  const of =
    (account: string) =>
    (groupBy: NonNullable<AggregateRequest['groupBy']>, more: object = {}): AggregateRequest => ({
      where: { account: { _eq: account }, businessDate: { _lte: day } },
      groupBy,
      measures: { open: { function: 'SUM', column: 'amount' }, ...more },
      ...order(groupBy[0]?.column ?? ''),
    });
  const [receivables, credit, work] = [of('RECEIVABLE'), of('CREDIT'), of('WIP')];
  return {
    'receivables by client': receivables([client]),
    'receivables by client and age': receivables([client, pastDue]),
    'receivables by client and age, with the number of entries': receivables([client, pastDue], entries),
    'receivables by currency and age, with the number of entries': receivables([currency, pastDue], entries),
    'credit by client': credit([client]),
    'credit by client, with the number of entries': credit([client], entries),
    'credit by client, with its first day': credit([client], first),
    'unbilled work by client': work([client]),
    'unbilled work by client, with the number of entries': work([client], entries),
    'unbilled work by client, with its oldest day': work([client], oldest),
    'unbilled work by client and age': work([client, age]),
    'unbilled work by client and age, with the number of entries': work([client, age], entries),
    'unbilled work by client and age, with its oldest day': work([client, age], oldest),
    'unbilled work by job': work([job]),
    'unbilled work by job, with the number of entries': work([job], entries),
    'unbilled work by job, with its oldest day': work([job], oldest),
    'unbilled work by client and job, with the number of entries': work([client, job], entries),
    'unbilled work by currency and age, with its oldest day': work([currency, age], oldest),
  };
}
