/** Measures aggregates over many time entries and entries of the ledger, and pages of them; see README.md beside this file. */
import {
  type AggregateRequest,
  aggregateReader,
  anyPageReader,
  millisecondsOf,
  type StoreOptions,
} from '@financial-automation/server/bench';
import { runOn } from '@financial-automation/server/machine';
import { ledgerEntry } from '@financial-automation/server/modules/billing';
import { timeEntry } from '@financial-automation/server/modules/time';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { inTurns, median, ratiosOf } from './figures.ts';
import { fillLedger, fillTimeEntries } from './made-up-rows.ts';
import { addTenant, createDatabase, openService, temporaryFolder } from './service.ts';

const { values } = readOptions({
  options: {
    rows: { type: 'string', default: '1200000' },
    rounds: { type: 'string', default: '15' },
    engine: { type: 'string', default: 'PostgreSQL,PGlite' },
    day: { type: 'string', default: '2025-11-30' },
  },
});
const [rows, rounds, warmUps] = [Number(values.rows), Number(values.rounds), 2];
const maxTimesBare = 1.5;
const budgetMs = millisecondsOf('read');

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
      where: { workDate: { _gte: '2025-01-01', _lt: '2026-01-01' } },
      groupBy: [
        { column: 'workDate', by: 'WEEK' },
        { column: 'hours', boundaries: [0, 1, 2, 4, 8] },
      ],
      measures: { hours: { function: 'SUM', column: 'hours' } },
      orderBy: [{ measure: 'hours', direction: 'desc' }],
    },
    bare: `select date_trunc('week', work_date::timestamp)::date, width_bucket(hours, array[0, 1, 2, 4, 8]::numeric[]), sum(hours)
      from time_entry where tenant_id = $tenant and work_date >= '2025-01-01' and work_date < '2026-01-01'
      group by 1, 2 order by 3 desc, 1, 2 limit 101`,
  },
};

const monthLater = Temporal.PlainDate.from(values.day).add({ days: 30 }).toString();
const asOf = { businessDate: { _lte: values.day } };
const measures = { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } } as const;
const byAge = { column: 'dueDate', daysBefore: values.day, boundaries: [1, 31, 61, 91] };
const receivables = { account: { _eq: 'RECEIVABLE' }, ...asOf };
const byClient: AggregateRequest = {
  groupBy: [{ column: 'clientId' }, byAge],
  measures,
  orderBy: [{ measure: 'open', direction: 'desc' }],
};

/** Figures of the ledger. Those that follow from invoices, payments and work are measured on demo data. */
const figuresOfLedger: Readonly<Record<string, AggregateRequest>> = {
  'receivables by client, as they were known a month later': {
    where: { ...receivables, recordedAt: { _lte: `${monthLater}T12:00:00.000Z` } },
    ...byClient,
  },
  'movements by account and month': {
    groupBy: [{ column: 'account' }, { column: 'businessDate', by: 'MONTH' }],
    measures,
  },
  'balances of all accounts': { where: asOf, groupBy: [{ column: 'account' }, { column: 'currency' }], measures },
};

await using database = await createDatabase('aggregates');
await using folder = await temporaryFolder();
if (values.engine.includes('PostgreSQL')) await measure('PostgreSQL', { databaseUrl: database.url });
if (values.engine.includes('PGlite')) await measure('PGlite', { dataDir: folder.path });

async function measure(engine: string, options: StoreOptions): Promise<void> {
  const service = await openService(options);
  const { store, vault } = service;
  const { id: tenantId } = await addTenant(service, 'bench');
  const scope = { tenantId, holds: () => true, vault };
  const paged = { ...scope, name: 'page', location: 'body' } as const;
  const figures: Record<string, object> = {};
  /** Measures one read within a limit. */
  const add = async (name: string, maxMs: number, read: Parameters<typeof store.read<unknown>>[1]) => {
    const [times = []] = await inTurns(rounds, warmUps, () => store.read(tenantId, read));
    if (median(times) > maxMs) process.exitCode = 1;
    figures[name] = { 'service, ms': median(times).toFixed(1) };
  };
  await fillTimeEntries(store, tenantId, rows);
  // As autovacuum does. PGlite has none.
  if (options.databaseUrl !== undefined) await runOn(options.databaseUrl, 'vacuum analyze time_entry');
  for (const [name, { request, bare }] of Object.entries(dashboard)) {
    const text = sql.raw(bare.replaceAll('$tenant', String(tenantId)));
    const [own = [], raw = []] = await inTurns(
      rounds,
      warmUps,
      () => store.read(tenantId, aggregateReader({ ...scope, name }, timeEntry, request)),
      () => store.system((session) => session.all(text)),
    );
    const ratio = median(ratiosOf(own, raw));
    if (ratio > maxTimesBare) process.exitCode = 1;
    figures[name] = {
      'service, ms': median(own).toFixed(1),
      'bare SQL, ms': median(raw).toFixed(1),
      ratio: ratio.toFixed(2),
    };
  }
  for (const share of [0, 0.5, 1]) {
    const page = Math.max(0, Math.floor((rows * share) / 100) - 1);
    const request = { page, pageSize: 100 };
    const { run } = anyPageReader({ ...paged, paging: 'number' }, timeEntry, request);
    await add(`page ${page} of 100 entries`, budgetMs / 10, run);
  }
  if (options.databaseUrl !== undefined) {
    await fillLedger(store, tenantId, 2 * rows);
    await runOn(options.databaseUrl, 'vacuum analyze ledger_entry, ledger_month, ledger_work, ledger_day');
    for (const [name, request] of Object.entries(figuresOfLedger))
      await add(name, budgetMs, aggregateReader({ ...scope, name }, ledgerEntry, request));
    const { run } = anyPageReader({ ...paged, paging: 'offset' }, ledgerEntry, { includeTotal: true });
    await add('a page of entries of the ledger and the number of all', budgetMs, run);
  }
  console.log(
    `\n${engine}: ${rows} time entries; the figures of twice as many entries of the ledger are as of ${values.day}`,
  );
  console.table(figures);
  await store.close();
}
