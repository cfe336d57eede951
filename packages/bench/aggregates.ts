/** Measures aggregates over the time entries and the ledger of a large firm, and pages of them; see README.md beside this file. */
import {
  type AggregateRequest,
  aggregateReader,
  anyPageReader,
  isMarked,
  millisecondsOf,
} from '@financial-automation/server/bench';
import { ledgerEntry } from '@financial-automation/server/modules/billing';
import { timeEntry } from '@financial-automation/server/modules/time';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { openDemoData } from './demo-data.ts';
import { inTurns, median, ratiosOf } from './figures.ts';

const { values } = readOptions({
  options: {
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    engine: { type: 'string', default: 'PostgreSQL' },
    rounds: { type: 'string', default: '15' },
  },
});
const [rounds, warmUps] = [Number(values.rounds), 2];
const maxTimesBare = 1.5;
const budgetMs = millisecondsOf('read');
/** A day of the past, and the one a year before. */
const past = Temporal.Now.plainDateISO().subtract({ days: 30 });
const [day, yearBefore] = [past.toString(), past.subtract({ years: 1 }).toString()];

/** Aggregates of a dashboard over time entries, each beside hand-written SQL. */
const dashboard: Readonly<Record<string, { readonly request: AggregateRequest; readonly bare: string }>> = {
  'hours by person and month': {
    request: {
      groupBy: [{ column: 'staffId' }, { column: 'workDate', by: 'MONTH' }],
      measures: { hours: { function: 'SUM', column: 'hours' } },
    },
    bare: `select staff_id, date_trunc('month', work_date::timestamp)::date as month, sum(hours) from time_entry
      where tenant_id = $tenant group by 1, 2 order by 1, 2 limit 101`,
  },
  'value and average by status': {
    request: {
      groupBy: [{ column: 'status' }, { column: 'isBillable' }],
      measures: {
        entries: { function: 'COUNT' },
        value: { function: 'SUM', column: 'amount' },
        mean: { function: 'AVERAGE', column: 'amount' },
      },
    },
    bare: `select status, is_billable, count(*), sum(amount), round(avg(amount), 4) from time_entry
      where tenant_id = $tenant group by 1, 2 order by 1, 2 limit 101`,
  },
  'one year by week and size': {
    request: {
      where: { workDate: { _gte: yearBefore, _lt: day } },
      groupBy: [
        { column: 'workDate', by: 'WEEK' },
        { column: 'hours', boundaries: [0, 1, 2, 4, 8] },
      ],
      measures: { hours: { function: 'SUM', column: 'hours' } },
      orderBy: [{ measure: 'hours', direction: 'desc' }],
    },
    bare: `select date_trunc('week', work_date::timestamp)::date, width_bucket(hours, array[0, 1, 2, 4, 8]::numeric[]), sum(hours)
      from time_entry where tenant_id = $tenant and work_date >= '${yearBefore}' and work_date < '${day}'
      group by 1, 2 order by 3 desc, 1, 2 limit 101`,
  },
};

const asOf = { businessDate: { _lte: day } };
const measures = { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } } as const;

/** Figures of the ledger that no balance or sum has ready, and balances; `--past-days` measures those of clients and jobs. */
const figuresOfLedger: Readonly<Record<string, AggregateRequest>> = {
  'receivables by client and age, as they are known now': {
    where: { account: { _eq: 'RECEIVABLE' }, ...asOf, recordedAt: { _lte: new Date().toISOString() } },
    groupBy: [{ column: 'clientId' }, { column: 'dueDate', daysBefore: day, boundaries: [1, 31, 61, 91] }],
    measures,
    orderBy: [{ measure: 'open', direction: 'desc' }],
  },
  'movements by account and month': {
    groupBy: [{ column: 'account' }, { column: 'businessDate', by: 'MONTH' }],
    measures,
  },
  'balances of all accounts': { where: asOf, groupBy: [{ column: 'account' }, { column: 'currency' }], measures },
};

await using data = await openDemoData(values);
const { store, scope } = data;
const { tenantId } = scope;
const figures: Record<string, object> = {};
const paged = { ...scope, name: 'page', location: 'body' } as const;

for (const [name, { request, bare }] of Object.entries(dashboard)) {
  const text = sql.raw(bare.replaceAll('$tenant', String(tenantId)));
  const [own = [], raw = []] = await inTurns(
    rounds,
    warmUps,
    () => store.read(tenantId, aggregateReader({ ...scope, name }, timeEntry, request)),
    () => store.read(tenantId, (session) => session.all(text)),
  );
  const ratio = median(ratiosOf(own, raw));
  if (ratio > maxTimesBare) process.exitCode = 1;
  const [service, hand] = [median(own).toFixed(1), median(raw).toFixed(1)];
  figures[name] = { 'service, ms': service, 'bare SQL, ms': hand, ratio: ratio.toFixed(2) };
}
const found = await store.read(tenantId, (session) =>
  session.first<{ rows: number }>(sql`select count(*)::integer as rows from time_entry where tenant_id = ${tenantId}`),
);
// As the clock does once a day.
while (!(await store.write(tenantId, (transaction) => isMarked(transaction, tenantId, 'time_entry'))));
for (const share of [0, 0.5, 1]) {
  const page = Math.max(0, Math.floor(((found?.rows ?? 0) * share) / 100) - 1);
  const { run } = anyPageReader({ ...paged, paging: 'number' }, timeEntry, { page, pageSize: 100 });
  await measure(`page ${page} of 100 time entries`, budgetMs / 10, run);
}
for (const [name, request] of Object.entries(figuresOfLedger))
  await measure(name, budgetMs, aggregateReader({ ...scope, name }, ledgerEntry, request));
const { run } = anyPageReader({ ...paged, paging: 'offset' }, ledgerEntry, { includeTotal: true });
await measure('a page of entries of the ledger and the number of all', budgetMs, run);
console.table(figures);

/** Measures one read within a limit. */
async function measure(name: string, maxMs: number, read: Parameters<typeof store.read<unknown>>[1]): Promise<void> {
  const [times = []] = await inTurns(rounds, warmUps, () => store.read(tenantId, read));
  if (median(times) > maxMs) process.exitCode = 1;
  figures[name] = { 'service, ms': median(times).toFixed(1) };
}
