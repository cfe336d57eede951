import { type RawBuilder, sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { addTenant, testDatabase } from '../../test/database.ts';
import { insertClients } from '../../test/party-rows.ts';
import { runOn } from '../../test/postgres-server.ts';
import { insertOrg } from '../../test/rows.ts';
import { client } from '../resources/clients/client.ts';
import { contact } from '../resources/contacts/contact.ts';
import { job } from '../resources/projects/job.ts';
import { staff } from '../resources/staff/staff.ts';
import { openStore } from '../store/store.ts';
import { conditionOf } from './where.ts';

const options = await testDatabase();
const { databaseUrl = '' } = options;
const store = await openStore(options);
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
await store.write(tenantId, (transaction) => transaction.all(insertOrg(tenantId, 'Org')));
const seed = { status: 'ACTIVE', outstandingBalance: '0.00', onboardedAt: null, fiscalYearEndMonth: null };
const names = Array.from({ length: 20_000 }, (_, index) => `Client ${Math.imul(index, 2_654_435_761).toString(36)}`);
await insertClients(
  store,
  tenantId,
  names.with(777, 'Société Éclair').map((name) => ({ ...seed, name, legalName: name })),
);

// Whether an index may be used under row-level security is a matter of what is declared leakproof
// (`store/leakproof.ts`); which index the statements of a search can use is the question here.
const tables = ['client', 'contact', 'staff', 'job'].map((table) => `alter table ${table} no force row level security`);
// An empty table is as well walked by any index: the others go, where only the plan counts.
const others = `do $$ declare other text; begin
  for other in select indexname from pg_indexes where tablename in ('contact', 'staff', 'job')
    and indexname like '%\\_index' and indexname not like '%\\_names\\_index'
  loop execute 'drop index ' || other; end loop; end $$`;
await runOn(databaseUrl, ...tables, others, 'vacuum analyze client');

async function explain(entity: typeof client, condition: RawBuilder<boolean>, ...settings: string[]) {
  const query = sql<{ id: string }>`select e.id from ${sql.table(entity.table)} e where ${condition}`;
  return store.system(async (transaction) => {
    for (const setting of settings) await transaction.all(sql.raw(setting));
    const plan = JSON.stringify(await transaction.all(sql`explain (format json) ${query}`));
    return { plan, found: await transaction.all(query) };
  });
}

test.each([{ _ilike: '%éCLAIR%' }, { _like: '%Éclair%' }])(
  'one name among 20,000 is found by the index: %j',
  async (condition) => {
    for (const field of ['name', 'legalName']) {
      const matching = conditionOf(client, 'e', tenantId, { [field]: condition });
      const { plan, found } = await explain(client, sql`e.tenant_id = ${tenantId} and ${matching}`);
      expect(found).toHaveLength(1);
      expect(plan).toContain('"Index Name":"client_names_index"');
    }
  },
);

test.each([
  [client, ['name', 'legalName']],
  [contact, ['displayName', 'firstName', 'lastName']],
  [staff, ['displayName', 'firstName', 'lastName']],
  [job, ['name']],
] as const)('the index on names takes patterns of either kind: %#', async (entity, fields) => {
  for (const field of fields) {
    for (const condition of [{ _ilike: '%éCLAIR%' }, { _like: '%Éclair%' }]) {
      // A small table is read whole, or by tenant, unless both are out of question.
      const matching = conditionOf(entity, 'e', tenantId, { [field]: condition });
      const { plan } = await explain(entity, matching, 'set local enable_seqscan = off');
      expect(plan).toContain(`"Index Name":"${entity.table}_names_index"`);
      expect(plan).toMatch(/"Index Cond":"[^"]*~~/);
    }
  }
});
