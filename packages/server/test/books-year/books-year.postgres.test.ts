import { expect, test } from 'vitest';
import { testDatabase } from '../database.ts';
import { runOn } from '../postgres-server.ts';
import { testService } from '../service.ts';
import { auditBooks } from './audit.ts';
import { runYear } from './run-year.ts';

const database = await testDatabase();
const service = await testService({ database });
const { store, tenant } = service;
const approver = await service.signIn({ roles: ['API_ADMIN', 'CLNT_R'] });
const year = Temporal.Now.plainDateISO(tenant.timeZone).year - 1;

test('after two months of a firm, all sums are those of the rows, and the audit finds each one that is changed', async () => {
  const size = { staff: 2, clients: 8, jobs: 12, entries: 240, months: 2 };
  const done = await runYear({ preparer: service, approver, year, size });
  const audit = () =>
    store.read(tenant.id, (session) =>
      auditBooks({ ...done, query: (query) => session.all(query), tenantId: tenant.id }),
    );
  const comparisons = await audit();
  expect(comparisons.flatMap(({ name, differences }) => differences.map((text) => `${name}: ${text}`))).toEqual([]);
  expect(comparisons.reduce((sum, { figures }) => sum + figures, 0)).toBeGreaterThan(100);

  await runOn(
    database.databaseUrl ?? '',
    ...['client', 'job', 'payment_allocation', 'ledger_entry', 'invoice_line_tax'].flatMap(unprotected),
    // Figures are those of the sums, to which a wrong entry is added like any other.
    'alter table ledger_entry enable trigger ledger_entry_sum_by_day',
    `set app.tenant_id = '${tenant.id}'`,
    ...mistakes,
  );
  const wrong = (await audit()).filter(({ differences }) => differences.length > 0).map(({ name }) => name);
  expect(wrong).toEqual(
    expect.arrayContaining([
      'unbilledWip of clients',
      'wipAmount of jobs',
      'amountPaid of invoices',
      'tax of the report by month',
      'trial balance',
      'entries that the firm has entered, by account, kind and month',
      `figures as of ${year}-01-31, when it was closed and now`,
      'halves of allocations without the other half',
    ]),
  );
});

const unprotected = (table: string) => [
  `alter table ${table} disable trigger user`,
  `alter table ${table} no force row level security`,
];

/** Changes that the service never makes. */
const mistakes = [
  'update client set unbilled_wip = unbilled_wip + 1 where id = (select min(client_id::text)::uuid from job)',
  'update job set wip_amount = wip_amount + 1 where id = (select min(id::text)::uuid from job)',
  'update payment_allocation set amount = amount - 0.01',
  'update invoice_line_tax set tax_amount = tax_amount + 1 where name is not null',
  `insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id, payment_id, due_date, document_date)
    select tenant_id, gen_random_uuid(), account, kind, amount, currency, '${year}-01-31', now(), client_id, invoice_id, payment_id, due_date, document_date
    from ledger_entry where kind = 'ALLOCATION' and account = 'RECEIVABLE' limit 1`,
];
