/** Measures figures of the ledger: receivables and work by age as of a past day, months, and the number of entries; see README.md beside this file. */
import {
  type AggregateRequest,
  aggregateReader,
  anyPageReader,
  millisecondsOf,
} from '@financial-automation/server/bench';
import { runOn } from '@financial-automation/server/machine';
import { ledgerEntry } from '@financial-automation/server/modules/billing';
import type { Session } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { inTurns, median } from './figures.ts';
import { type Firm, openDemoFirm } from './firm.ts';
import { fillLedger } from './made-up-rows.ts';
import { addTenant, createDatabase, openService } from './service.ts';

const { values } = readOptions({
  options: {
    database: { type: 'string' },
    profile: { type: 'string' },
    rows: { type: 'string', default: '2400000' },
    rounds: { type: 'string', default: '9' },
    day: { type: 'string', default: '2025-11-30' },
  },
});
const monthLater = Temporal.PlainDate.from(values.day).add({ days: 30 }).toString();
const asOf = { businessDate: { _lte: values.day } };
const open = { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } } as const;
const byAge = { column: 'dueDate', daysBefore: values.day, boundaries: [1, 31, 61, 91] };
const receivables = { account: { _eq: 'RECEIVABLE' }, ...asOf };
const ofClients = { measures: open, orderBy: [{ measure: 'open', direction: 'desc' }] } as const;

const questions: Readonly<Record<string, AggregateRequest>> = {
  'receivables by currency and days past due': {
    where: receivables,
    groupBy: [{ column: 'currency' }, byAge],
    measures: open,
  },
  'receivables by client and days past due': {
    where: receivables,
    groupBy: [{ column: 'clientId' }, byAge],
    ...ofClients,
  },
  'receivables by client, as they were known a month later': {
    where: { ...receivables, recordedAt: { _lte: `${monthLater}T12:00:00.000Z` } },
    groupBy: [{ column: 'clientId' }, byAge],
    ...ofClients,
  },
  'unbilled work by client': {
    where: { account: { _eq: 'WIP' }, ...asOf },
    groupBy: [{ column: 'clientId' }],
    ...ofClients,
  },
  'movements by account and month': {
    groupBy: [{ column: 'account' }, { column: 'businessDate', by: 'MONTH' }],
    measures: open,
  },
  'balances of all accounts': { where: asOf, groupBy: [{ column: 'account' }, { column: 'currency' }], measures: open },
};

await using firm = await openFirm();
const { store, scope } = firm;
const figures: Record<string, object> = {};
const reads: Record<string, (session: Session) => Promise<unknown>> = Object.fromEntries(
  Object.entries(questions).map(([name, request]) => [name, aggregateReader({ ...scope, name }, ledgerEntry, request)]),
);
reads['a page of entries and the number of all'] = anyPageReader(
  { ...scope, name: 'entries', paging: 'offset', location: 'body' },
  ledgerEntry,
  { includeTotal: true },
).run;
for (const [name, read] of Object.entries(reads)) {
  const [times = []] = await inTurns(Number(values.rounds), 2, () => store.read(scope.tenantId, read));
  const share = median(times) / millisecondsOf('read');
  if (share > 1) process.exitCode = 1;
  figures[name] = { ms: median(times).toFixed(0), 'of the read budget': `${(share * 100).toFixed(0)} %` };
}
const count = await store.read(scope.tenantId, (session) =>
  session.first<{ entries: string }>(
    sql`select count(*)::text as entries from ledger_entry where tenant_id = ${scope.tenantId}`,
  ),
);
console.log(`\n${count?.entries} entries, as of ${values.day}`);
console.table(figures);

/** The demo data of a profile or of a database, or a tenant with made-up entries. */
async function openFirm(): Promise<Firm> {
  if (values.database !== undefined || values.profile !== undefined)
    return openDemoFirm(values.database, values.profile ?? 'mid');
  const database = await createDatabase('ageing');
  const service = await openService({ databaseUrl: database.url });
  const { id: tenantId } = await addTenant(service, 'bench');
  await fillLedger(service.store, tenantId, Number(values.rows));
  // As autovacuum does.
  await runOn(database.url, 'vacuum analyze ledger_entry, ledger_month');
  return {
    store: service.store,
    scope: { tenantId, vault: service.vault, holds: () => true },
    async [Symbol.asyncDispose]() {
      await service.store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
