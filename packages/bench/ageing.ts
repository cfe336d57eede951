/**
 * Measures receivables and work by age as of a past day, which sum up entries of the ledger, on PostgreSQL: on the demo data of a large
 * firm, or on as many made-up entries. It fails where one takes longer than a read may take.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import '@financial-automation/server/app/handlers';
import { millisecondsOf } from '@financial-automation/server/contract/durations';
import { ledgerEntry } from '@financial-automation/server/modules/billing';
import { Vault } from '@financial-automation/server/platform/auth/vault';
import { openStore, type Store } from '@financial-automation/server/platform/store/store';
import { aggregateReader } from '@financial-automation/server/query/aggregate';
import type { AggregateRequest } from '@financial-automation/server/query/aggregate-request';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { inTurns, median } from './figures.ts';
import { openMidFirm } from './mid-firm.ts';
import { createDatabase } from './postgres.ts';

const { values } = readOptions({
  options: {
    ageing: { type: 'boolean' },
    database: { type: 'string' },
    profile: { type: 'string' },
    rows: { type: 'string', default: '2400000' },
    rounds: { type: 'string', default: '9' },
    day: { type: 'string', default: '2025-11-30' },
  },
});
const rounds = Number(values.rounds);
const asOf = { businessDate: { _lte: values.day } };
const open = { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } } as const;
const byOpen = [{ measure: 'open', direction: 'desc' }] as const;
const byAge = { column: 'dueDate', daysBefore: values.day, boundaries: [1, 31, 61, 91] };
const receivables = { account: { _eq: 'RECEIVABLE' }, ...asOf };

const questions: Readonly<Record<string, AggregateRequest>> = {
  'receivables by currency and days past due': {
    where: receivables,
    groupBy: [{ column: 'currency' }, byAge],
    measures: open,
  },
  'receivables by client and days past due': {
    where: receivables,
    groupBy: [{ column: 'clientId' }, byAge],
    measures: open,
    orderBy: byOpen,
  },
  'receivables by client, as they were known a month later': {
    where: { ...receivables, recordedAt: { _lte: `${dayAfter(values.day, 30)}T12:00:00.000Z` } },
    groupBy: [{ column: 'clientId' }, byAge],
    measures: open,
    orderBy: byOpen,
  },
  'unbilled work by client': {
    where: { account: { _eq: 'WIP' }, ...asOf },
    groupBy: [{ column: 'clientId' }],
    measures: open,
    orderBy: byOpen,
  },
  'balances of all accounts': { where: asOf, groupBy: [{ column: 'account' }, { column: 'currency' }], measures: open },
};

const firm = await openFirm();
try {
  const figures: Record<string, unknown> = {};
  for (const [name, request] of Object.entries(questions)) {
    const aggregate = aggregateReader({ ...firm.scope, name }, ledgerEntry, request);
    const [times = []] = await inTurns(rounds, 2, () => firm.store.read(firm.scope.tenantId, aggregate));
    const share = median(times) / millisecondsOf('read');
    if (share > 1) process.exitCode = 1;
    figures[name] = { ms: median(times).toFixed(0), 'of the read budget': `${(share * 100).toFixed(0)} %` };
  }
  const count = await firm.store.read(firm.scope.tenantId, (session) =>
    session.first<{ entries: string }>(
      sql`select count(*)::text as entries from ledger_entry where tenant_id = ${firm.scope.tenantId}`,
    ),
  );
  console.log(`\n${count?.entries} entries, as of ${values.day}`);
  console.table(figures);
} finally {
  await firm.close();
}

/** The demo data of a profile or of a database, or a tenant with made-up entries. */
async function openFirm() {
  if (values.database !== undefined || values.profile !== undefined)
    return openMidFirm(values.database, values.profile ?? 'mid');
  const database = await createDatabase('ageing');
  const { url } = database;
  // Whatever it takes is to be measured, and not to be cut off.
  const store = await openStore({ databaseUrl: url, limits: { read: 600_000, statement: 3_600_000 } });
  const tenant = await store.system((transaction) =>
    transaction.first<{ id: number }>(
      sql`insert into tenant (name, display_name, time_zone) values ('bench', 'Bench', 'America/New_York') returning id`,
    ),
  );
  const tenantId = tenant?.id ?? 0;
  await fill(store, tenantId, Number(values.rows));
  // As autovacuum does.
  await runOn(url, 'vacuum analyze ledger_entry');
  return {
    store,
    scope: { tenantId, holds: () => true, vault: new Vault(randomBytes(32)) },
    async close() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/**
 * Fills the ledger straight, without the rows that entries refer to: three years of work of which nearly all is billed 45 days
 * later, and invoices of which nearly all are paid after 20 to 79 days.
 */
async function fill(store: Store, tenantId: number, rows: number): Promise<void> {
  const id = (group: string, number: string) =>
    `('01900000-0000-7000-${group}-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
  const [works, invoices] = [Math.round(rows * 0.44), Math.round(rows * 0.04)];
  const day = (count: number) => `date '2023-11-01' + (n * 1050.0 / ${count})::integer`;
  const entries = (select: string) => `
    insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id,
      invoice_id, payment_id, wip_entry_id, due_date)
    select ${tenantId}, uuidv7(), account, kind, amount, 'USD', day, day + interval '15 hours', ${id('8000', 'n % 1500')}, job_id,
      invoice_id, payment_id, wip_entry_id, due_date from (${select}) e`;
  const statements = [
    `do $$ declare one record; begin
      for one in select conname from pg_constraint where contype = 'f' and conrelid = 'ledger_entry'::regclass
      loop execute format('alter table ledger_entry drop constraint %I', one.conname); end loop; end $$`,
    'alter table ledger_entry disable trigger user',
    'alter table ledger_entry no force row level security',
    // Indexes that none of these reads uses would take most of the time.
    `do $$ declare one text; begin
      for one in select indexname from pg_indexes where tablename = 'ledger_entry' and indexname ~ '(invoice|payment|wip_entry|job)_id_index'
      loop execute 'drop index ' || quote_ident(one); end loop; end $$`,
    entries(`
      select n, 'WIP' as account, kind, sign * (50 + n % 400) * 1.25 as amount, ${day(works)} + later as day, ${id('9000', 'n % 6000')} as job_id,
        null::uuid as invoice_id, null::uuid as payment_id, ${id('a000', 'n')} as wip_entry_id, null::date as due_date
      from generate_series(1, ${works}) n, (values ('WORK', 1, 0), ('BILLED', -1, 45)) k (kind, sign, later)
      where kind = 'WORK' or n % 20 <> 0`),
    entries(`
      select n, account, kind, sign * (500 + n % 4000) * 1.25 as amount,
        ${day(invoices)} + case when kind = 'INVOICE' then 0 else 20 + n % 60 end as day, null::uuid as job_id,
        case when kind <> 'PAYMENT' then ${id('b000', 'n')} end as invoice_id,
        case when kind <> 'INVOICE' then ${id('c000', 'n')} end as payment_id, null::uuid as wip_entry_id,
        case when account = 'RECEIVABLE' then ${day(invoices)} + 30 end as due_date
      from generate_series(1, ${invoices}) n,
        (values ('RECEIVABLE', 'INVOICE', 1), ('CREDIT', 'PAYMENT', 1), ('RECEIVABLE', 'ALLOCATION', -1), ('CREDIT', 'ALLOCATION', -1))
          k (account, kind, sign)
      where kind = 'INVOICE' or n % 20 <> 0`),
  ];
  for (const statement of statements) await store.system((transaction) => transaction.all(sql.raw(statement)));
}

function dayAfter(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}
