/**
 * Measures aggregates over many time entries beside hand-written SQL, and pages of the same entries by number, on PostgreSQL and on
 * PGlite. It fails where an aggregate takes more than 1.5 times as long as the bare SQL, or a page more than a tenth of the time limit of a
 * read.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Vault } from '@financial-automation/server/platform/auth/vault';
import { aggregateReader } from '@financial-automation/server/query/aggregate';
import type { AggregateRequest } from '@financial-automation/server/query/aggregate-request';
import { anyPageReader } from '@financial-automation/server/query/read';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import '@financial-automation/server/app/handlers';
import { isMarked } from '@financial-automation/server/app/mark-pages';
import { millisecondsOf } from '@financial-automation/server/contract/durations';
import { timeEntry } from '@financial-automation/server/modules/time';
import type { Session } from '@financial-automation/server/platform/store/session';
import { openStore, type Store, type StoreOptions } from '@financial-automation/server/platform/store/store';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { inTurns, median } from './figures.ts';
import { createDatabase } from './postgres.ts';

const { values } = readOptions({
  options: {
    aggregates: { type: 'boolean' },
    rows: { type: 'string', default: '1200000' },
    rounds: { type: 'string', default: '15' },
    engine: { type: 'string', default: 'PostgreSQL,PGlite' },
  },
});
const [rows, rounds] = [Number(values.rows), Number(values.rounds)];
const maxTimesBare = 1.5;
const maxPageMs = millisecondsOf('read') / 10;
const vault = new Vault(randomBytes(32));

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

let isSlow = false;
await using database = await createDatabase('aggregates');
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
try {
  const engines: Readonly<Record<string, StoreOptions>> = {
    PostgreSQL: { databaseUrl: database.url },
    PGlite: { dataDir: join(folder, 'data') },
  };
  for (const [engine, options] of Object.entries(engines))
    if (values.engine.split(',').includes(engine)) await measureEngine(engine, options);
  if (isSlow) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measureEngine(engine: string, options: StoreOptions): Promise<void> {
  // Whatever it takes is to be measured, and not to be cut off.
  const store = await openStore({ ...options, limits: { read: 600_000, statement: 3_600_000 } });
  try {
    const tenantId = await createTenant(store);
    await fill(store, tenantId);
    // As autovacuum does. PGlite has none.
    if (options.databaseUrl !== undefined) await runOn(options.databaseUrl, 'vacuum analyze time_entry');
    const figures: Record<string, unknown> = {};
    for (const { name, request, bare } of aggregates) {
      const read = aggregateReader({ tenantId, holds: () => true, vault, name }, timeEntry, request);
      const text = sql.raw(bare.replaceAll('$tenant', String(tenantId)));
      const [service = [], raw = []] = await inTurns(
        rounds,
        2,
        () => store.read(tenantId, read),
        () => store.system((session) => session.all(text)),
      );
      const ratio = median(service.map((time, index) => time / (raw[index] ?? Number.NaN)));
      isSlow ||= ratio > maxTimesBare;
      figures[name] = {
        'service, ms': median(service).toFixed(1),
        'bare SQL, ms': median(raw).toFixed(1),
        ratio: ratio.toFixed(2),
      };
    }
    for (const share of [0, 0.5, 1]) {
      const page = Math.max(0, Math.floor((rows * share) / 100) - 1);
      const scope = { tenantId, holds: () => true, vault, name: 'page', paging: 'number', location: 'body' } as const;
      const { run } = anyPageReader(scope, timeEntry, { page, pageSize: 100 });
      const [times = []] = await inTurns(rounds, 2, () => store.read(tenantId, run));
      isSlow ||= median(times) > maxPageMs;
      figures[`page ${page} of 100 entries`] = { 'service, ms': median(times).toFixed(1) };
    }
    console.log(`\n${engine}: ${rows} time entries`);
    console.table(figures);
  } finally {
    await store.close();
  }
}

async function createTenant(store: Store): Promise<number> {
  const tenant = await store.system((transaction) =>
    transaction.first<{ id: number }>(
      sql`insert into tenant (name, display_name, time_zone) values ('bench', 'Bench', 'America/New_York') returning id`,
    ),
  );
  if (tenant === undefined) throw new Error('The tenant was not created.');
  return tenant.id;
}

/** Writes entries to their table, without the rows that they refer to. */
async function fill(store: Store, tenantId: number): Promise<void> {
  const id = (group: string, count: number) =>
    `('01900000-0000-7000-${group}-' || lpad(to_hex(n % ${count}), 12, '0'))::uuid`;
  const statements = [
    `do $$ declare one record; begin
      for one in select conname from pg_constraint where contype = 'f' and conrelid = 'time_entry'::regclass
      loop execute format('alter table time_entry drop constraint %I', one.conname); end loop; end $$`,
    'alter table time_entry disable trigger user',
    'alter table time_entry no force row level security',
    // Without indexes that none of these reads uses, which would take most of the time.
    `do $$ declare one text; begin
      for one in select indexname from pg_indexes where tablename = 'time_entry' and indexname like '%\\_index'
        and indexname <> 'time_entry_work_date_index'
      loop execute 'drop index ' || quote_ident(one); end loop; end $$`,
    `insert into time_entry (tenant_id, id, system_ref, staff_id, job_id, work_date, hours, is_billable, status, approved_at,
        billing_rate, amount)
      select ${tenantId}, r.id, r.id::text, ${id('a000', 200)}, ${id('9000', 6_000)},
        date '2023-11-01' + (n * 1095.0 / ${rows})::integer, (1 + n % 32) * 0.25, n % 10 <> 0,
        case when n % 50 = 0 then 'SUBMITTED' else 'APPROVED' end, case when n % 50 = 0 then null else now() end,
        case when n % 10 <> 0 then 150 + n % 7 * 10 else 0 end,
        round((1 + n % 32) * 0.25 * case when n % 10 <> 0 then 150 + n % 7 * 10 else 0 end, 2)
      from (select n, uuidv7() as id from generate_series(1, ${rows}) n) r`,
    'analyze time_entry',
  ];
  for (const statement of statements) await store.system((transaction: Session) => transaction.all(sql.raw(statement)));
  // As the clock does once a day.
  while (!(await store.write(tenantId, (transaction) => isMarked(transaction, tenantId, 'time_entry'))));
}
