import { type RawBuilder, sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { addTenant, testDatabase } from '../../test/database.ts';
import { isNightly } from '../../test/nightly.ts';
import { insertClients, insertContacts, insertLinks } from '../../test/party-rows.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { runOn } from '../../test/postgres-server.ts';
import { insertOrg } from '../../test/rows.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { billedLine } from '../modules/billing/invoice/billed-line.ts';
import { payment } from '../modules/billing/payment/payment.ts';
import { client } from '../modules/clients/client.ts';
import { contact } from '../modules/contacts/contact.ts';
import { contactInfo } from '../modules/contacts/contact-info.ts';
import '../modules/contacts/contact-client.ts';
import { job } from '../modules/projects/job.ts';
import { task } from '../modules/projects/task.ts';
import { staff } from '../modules/staff/staff.ts';
import { openStore } from '../platform/store/store.ts';
import type { Where } from './clause.ts';
import { conditionOf } from './where.ts';

const options = await testDatabase();
const { databaseUrl = '' } = options;
const store = await openStore({ ...options, limits: patientLimits });
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
await store.write(tenantId, (transaction) => transaction.all(insertOrg(tenantId, 'Org')));
const seed = { status: 'ACTIVE', outstandingBalance: '0.00', onboardedAt: null, fiscalYearEndMonth: null };
/** By day a quarter of them, which the planner reads by the same indexes. */
const count = isNightly ? 20_000 : 5_000;
const names = Array.from({ length: count }, (_, index) => `Client ${Math.imul(index, 2_654_435_761).toString(36)}`);
const clientIds = await insertClients(
  store,
  tenantId,
  names.with(777, 'Société l’Éclair–Sud').map((name) => ({ ...seed, name, legalName: name })),
);

const contactSeed = { firstName: null, lastName: null, email: null, portalEnabled: false, active: true };
const contactIds = await insertContacts(
  store,
  tenantId,
  names.slice(0, count / 4).map(() => ({ ...contactSeed, createdAt: '2026-01-01T00:00:00.000Z' })),
);
await insertLinks(
  store,
  tenantId,
  contactIds.map((contactId, index) => ({
    contactId,
    clientId: clientIds[index * 3] ?? '',
    roles: ['OTHER'],
    active: true,
  })),
);

// Whether an index can be used under row-level security depends on leakproof declarations (`platform/store/leakproof.ts`); this
// tests which index the statements of a search can use.
const filtered = ['contact_info', 'payment', 'invoice_line'];
const tables = ['client', 'contact', 'contact_client', 'staff', 'job', 'task', ...filtered].map(
  (table) => `alter table ${table} no force row level security`,
);
// In an empty table, any index is as good as another, so the others are dropped if only the plan matters.
const others = `do $$ declare other text; begin
  for other in select indexname from pg_indexes where tablename in ('contact', 'staff', 'job', 'task')
    and indexname like '%\\_index' and indexname not similar to '%\\_(names|refs|search)\\_index'
  loop execute 'drop index ' || other; end loop; end $$`;
await runOn(databaseUrl, ...tables, others, 'vacuum analyze client, contact, contact_client');

async function explain(entity: Pick<AnyEntity, 'table'>, condition: RawBuilder<boolean>, ...settings: string[]) {
  const query = sql<{ id: string }>`select e.id from ${sql.table(entity.table)} e where ${condition}`;
  return store.system(async (transaction) => {
    for (const setting of settings) await transaction.all(sql.raw(setting));
    const plan = JSON.stringify(await transaction.all(sql`explain (format json) ${query}`));
    return { plan, found: await transaction.all(query) };
  });
}

test.each([
  [{ _ilike: '%éCLAIR%' }, 'client_names_index'],
  [{ _like: '%Éclair%' }, 'client_names_index'],
  [{ _search: "l'ECLAIR-s" }, 'client_search_index'],
] as const)(`one name among ${count} is found by the index: %j`, async (condition, index) => {
  for (const field of ['name', 'legalName']) {
    const matching = conditionOf(client, 'e', tenantId, { [field]: condition });
    const { plan, found } = await explain(client, sql`e.tenant_id = ${tenantId} and ${matching}`);
    expect(found).toHaveLength(1);
    expect(plan).toContain(`"Index Name":"${index}"`);
  }
});

test.each([
  [client, ['name', 'legalName']],
  [contact, ['displayName', 'firstName', 'lastName']],
  [staff, ['displayName', 'firstName', 'lastName']],
  [job, ['name']],
  [task, ['name']],
] as const)('the index on names takes patterns of either kind: %#', async (entity, fields) => {
  for (const field of fields) {
    for (const [condition, index] of [
      [{ _ilike: '%éCLAIR%' }, 'names'],
      [{ _like: '%Éclair%' }, 'names'],
      [{ _search: 'eclair' }, 'search'],
    ] as const) {
      // A small table is read completely, or by tenant, unless both are disabled.
      const matching = conditionOf(entity, 'e', tenantId, { [field]: condition });
      const { plan } = await explain(entity, matching, 'set local enable_seqscan = off');
      expect(plan).toContain(`"Index Name":"${entity.table}_${index}_index"`);
      expect(plan).toMatch(/"Index Cond":"[^"]*~~/);
    }
  }
});

test.each([
  ['alone', (condition: Where) => condition],
  ['among alternatives', (condition: Where) => ({ _or: [{ displayName: { _ilike: '%éCLAIR%' } }, condition] })],
  [
    'in several alternatives',
    (condition: Where) => ({ _or: [condition, { contactClients: { clientRef: { _eq: 'x' } } }] }),
  ],
])(
  `a part of the number of one client among ${count} is found by the index, from contacts too: %s`,
  async (_how, place) => {
    const part = clientIds[3 * 77]?.slice(-11) ?? '';
    for (const condition of [{ _ilike: `%${part.toUpperCase()}` }, { _like: `%${part}` }]) {
      const matching = conditionOf(contact, 'e', tenantId, place({ contactClients: { clientRef: condition } }));
      const { plan, found } = await explain(
        contact,
        sql`e.tenant_id = ${tenantId} and ${matching} order by e.id limit 51`,
      );
      expect(found).toEqual([{ id: contactIds[77] }]);
      expect(plan).toContain('"Index Name":"client_refs_index"');
      expect(plan).not.toContain('SubPlan');
    }
  },
);

test('the text of a billed line is found by the index', async () => {
  const matching = conditionOf(billedLine, 'e', tenantId, { description: { _search: 'éCLAIR' } });
  // A billed line is a row of a view.
  const { plan } = await explain({ table: 'invoice_line' }, matching, 'set local enable_seqscan = off');
  expect(plan).toContain('"Index Name":"invoice_line_search_index"');
  expect(plan).toMatch(/"Index Cond":"[^"]*~~/);
});

test('the number of a job is found by the index', async () => {
  for (const condition of [{ _ilike: '%éCLAIR%' }, { _like: '%Éclair%' }]) {
    const matching = conditionOf(job, 'e', tenantId, { jobRef: condition });
    const { plan } = await explain(job, matching, 'set local enable_seqscan = off');
    expect(plan).toContain('"Index Name":"job_refs_index"');
    expect(plan).toMatch(/"Index Cond":"[^"]*~~/);
  }
});

test.each([
  [client, { phone: { _eq: '+15035550142' } }, 'client_phone_index'],
  [client, { phone: { _ilike: '%5550142' } }, 'client_phone_index'],
  [client, { parentClientId: { _eq: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101' } }, 'client_parent_client_id_index'],
  [client, { metadata: { _contains: { region: 'north' } } }, 'client_metadata_index'],
  [payment, { checkNumber: { _eq: '1042' } }, 'payment_batches_index'],
  [payment, { batchRef: { _ilike: '%lockbox%' } }, 'payment_batches_index'],
  [contactInfo, { email: { _eq: 'a@example.com' } }, 'contact_info_reached_index'],
] as const)('a filter finds its rows by an index: %#', async (entity, where, index) => {
  const matching = conditionOf(entity, 'e', tenantId, where);
  // In a small table, the rows of the tenant would be read by their key.
  const condition = entity === client ? sql<boolean>`e.tenant_id = ${tenantId} and ${matching}` : matching;
  const { plan } = await explain(entity, condition, 'set local enable_seqscan = off');
  expect(plan).toContain(`"Index Name":"${index}"`);
});
