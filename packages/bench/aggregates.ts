/** Measures aggregates over many time entries, and pages of them by number, beside hand-written SQL; see README.md beside this file. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AggregateRequest,
  aggregateReader,
  anyPageReader,
  millisecondsOf,
  type StoreOptions,
} from '@financial-automation/server/bench';
import { runOn } from '@financial-automation/server/machine';
import { timeEntry } from '@financial-automation/server/modules/time';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { inTurns, median, ratiosOf } from './figures.ts';
import { fillTimeEntries } from './made-up-rows.ts';
import { addTenant, createDatabase, openService } from './service.ts';

const { values } = readOptions({
  options: {
    rows: { type: 'string', default: '1200000' },
    rounds: { type: 'string', default: '15' },
    engine: { type: 'string', default: 'PostgreSQL,PGlite' },
  },
});
const [rows, rounds] = [Number(values.rows), Number(values.rounds)];
const maxTimesBare = 1.5;
const maxPageMs = millisecondsOf('read') / 10;

/** Aggregates of a dashboard, each beside hand-written SQL. */
const aggregates: readonly { readonly name: string; readonly request: AggregateRequest; readonly bare: string }[] = [
  {
    name: 'hours by person and month',
    request: {
      groupBy: [{ column: 'staffId' }, { column: 'workDate', by: 'MONTH' }],
      measures: { hours: { function: 'SUM', column: 'hours' } },
    },
    bare: `select staff_id, date_trunc('month', work_date::timestamp)::date as month, sum(hours) from time_entry
      where tenant_id = $tenant group by 1, 2 order by 1, 2 limit 101`,
  },
  {
    name: 'value and average by status',
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
  {
    name: 'one year by week and size',
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
];

await using database = await createDatabase('aggregates');
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
try {
  if (values.engine.includes('PostgreSQL')) await measure('PostgreSQL', { databaseUrl: database.url });
  if (values.engine.includes('PGlite')) await measure('PGlite', { dataDir: join(folder, 'data') });
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure(engine: string, options: StoreOptions): Promise<void> {
  const service = await openService(options);
  const { store, vault } = service;
  const { id: tenantId } = await addTenant(service, 'bench');
  await fillTimeEntries(store, tenantId, rows);
  // As autovacuum does. PGlite has none.
  if (options.databaseUrl !== undefined) await runOn(options.databaseUrl, 'vacuum analyze time_entry');
  const scope = { tenantId, holds: () => true, vault };
  const figures: Record<string, object> = {};
  for (const { name, request, bare } of aggregates) {
    const text = sql.raw(bare.replaceAll('$tenant', String(tenantId)));
    const [own = [], raw = []] = await inTurns(
      rounds,
      2,
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
    const { run } = anyPageReader({ ...scope, name: 'page', paging: 'number', location: 'body' }, timeEntry, {
      page,
      pageSize: 100,
    });
    const [times = []] = await inTurns(rounds, 2, () => store.read(tenantId, run));
    if (median(times) > maxPageMs) process.exitCode = 1;
    figures[`page ${page} of 100 entries`] = { 'service, ms': median(times).toFixed(1) };
  }
  console.log(`\n${engine}: ${rows} time entries`);
  console.table(figures);
  await store.close();
}
