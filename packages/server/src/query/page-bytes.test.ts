import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { sampleOf } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract, type Operation } from '../contract/contract.ts';
import { typesWith } from '../modules/bulk/index.ts';
import { withinPageBytes } from './page-bytes.ts';

interface Page {
  readonly data: readonly unknown[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

const { store, tenant, signIn } = await testService({ filled: 'examples' });
const { call } = await signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'], tenant });
await addSecondRows();

/** Tests lower the limit, because lists of several megabytes would take minutes. */
const limits: { 'x-page-bytes': number } = contract;
const declared = limits['x-page-bytes'];
afterEach(() => {
  limits['x-page-bytes'] = declared;
});

/** Of the lists of which the demo data has one row. */
async function addSecondRows(): Promise<void> {
  const org = {
    name: 'Second',
    code: 'SECOND',
    legalName: 'Second',
    country: 'US',
    timeZone: 'UTC',
    fiscalYearStartMonth: 1,
  };
  const records = [
    { type: 'ClientGroup', systemRef: 'second', attributes: { name: 'Second' } },
    { type: 'Industry', systemRef: 'second', attributes: { name: 'Second', code: null } },
    { type: 'Org', systemRef: 'second', attributes: { ...org, currency: 'USD' } },
  ];
  const { body: written } = await call('POST', '/api/v1/records', { records });
  expect(written).toMatchObject({ summary: { created: 3 } });
  await call('POST', '/api/v1/records/custom', { name: 'Second', fields: [{ name: 'size', type: 'INTEGER' }] });
  const link = await call('POST', '/api/v1/clients/v1/link/payment', { clientRef: 'C-01042', amount: '10.00' });
  expect(link.status).toBe(201);
  const [invoiceId] = await store.read(tenant.id, (session) =>
    session.all<{ id: string }>(sql`
      select id from invoice where tenant_id = ${tenant.id} and document_type = 'INVOICE' and status = 'POSTED' limit 1`),
  );
  for (const to of ['one@example.com', 'two@example.com']) {
    const sent = await call('POST', `/api/v1/invoices/${invoiceId?.id}/send`, { to: [to] });
    expect(sent).toMatchObject({ status: 202 });
  }
  const deliveryUrl = 'https://hooks.example.com/second';
  const subscription = { deliveryUrl, entityType: 'Client', operations: ['CREATE'] };
  const { body } = await call<{ id: string }>('POST', '/api/v1/event-subscriptions', subscription);
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`
      insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
        delivery_url, outcome, duration_ms, attempted_at)
      select ${tenant.id}, uuidv7(), ${body.id}, uuidv7(), 'Client', 'CREATE', uuidv7(), n, ${deliveryUrl}, 'TIMEOUT', 1,
        tenant_now() - n / 2 * interval '1 minute'
      from generate_series(1, 5) n`),
  );
}

const tables: Readonly<Record<string, string>> = {
  listContactsByClient: 'client',
  listEngagementDocuments: 'engagement',
  listDeliveries: 'event_subscription',
  getClientStatement: 'client',
  getPersonalData: 'contact',
};

async function pathsOf({ id, path }: Operation): Promise<readonly string[]> {
  if (path.includes('{type}')) {
    const types = path.includes('/codes/') ? 'x-code-type' : path.includes('/entries/') ? 'x-entry-type' : 'x-record';
    return [...typesWith(types).keys()].map((type) => path.replace('{type}', type));
  }
  if (id === 'listUnpaidInvoices') {
    const { body } = await call<{ data: { clientRef: string }[] }>('POST', '/gql/v1/clients', {});
    return body.data.map(({ clientRef }) => `${path}?clientRef=${clientRef}`);
  }
  const table = tables[id];
  if (table === undefined) return [path];
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ id: string }>(sql`select id from ${sql.table(table)} where tenant_id = ${tenant.id}`),
  );
  const query = id === 'getClientStatement' ? '?from=2000-01-01' : '';
  // The data of one person is searched in all tables, and has many values.
  const some = id === 'getPersonalData' ? rows.slice(0, 1) : rows;
  return some.map((row) => `${path.replace(/\{\w+\}/, row.id)}${query}`);
}

async function page({ id, method }: Operation, path: string, members: object): Promise<Page> {
  const groups = { groupBy: [{ column: 'id' }], measures: { rows: { function: 'COUNT' } } };
  const query = new URLSearchParams(Object.entries(members)).toString();
  const response =
    method === 'GET'
      ? await call<Page>('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
      : await call<Page>('POST', path, id.startsWith('aggregate') ? { ...groups, ...members } : members);
  expect(response).toMatchObject({ status: 200 });
  return response.body;
}

describe.each(
  sampleOf(
    allOperations.filter(({ paging }) => paging !== null),
    8,
  ),
)('$id', (operation) => {
  const continued = operation.paging === 'feed' ? 'after' : 'cursor';

  test('ends a page at the row that reaches the limit, and continues after it', async () => {
    let most = 0;
    for (const path of await pathsOf(operation)) {
      limits['x-page-bytes'] = declared;
      const { data: all, hasMore } = await page(operation, path, {});
      most = Math.max(most, all.length);
      limits['x-page-bytes'] = 1;
      const rows: unknown[] = [];
      let next: Page | undefined;
      do {
        next = await page(operation, path, next === undefined ? {} : { [continued]: next.nextCursor });
        expect(next.data).toHaveLength(Math.min(1, all.length));
        rows.push(...next.data);
      } while (next.hasMore && rows.length < all.length);
      expect(rows).toEqual(all);
      if (operation.paging !== 'feed')
        expect(next).toMatchObject(hasMore ? { hasMore } : { hasMore, nextCursor: null });
    }
    expect(most, 'rows of the test data').toBeGreaterThan(1);
  });
});

test('lookupRecords and listEvents end pages of rows of 100 kB at 4 MiB', async () => {
  await call('POST', '/api/v1/records/custom', {
    name: 'Large',
    fields: [{ name: 'text', type: 'STRING', maxLength: 100_000 }],
  });
  for (const batch of ['a', 'b', 'c', 'd', 'e']) {
    const records = Array.from({ length: 9 }, (_, index) => ({
      type: 'Large',
      systemRef: `${batch}${index}`,
      attributes: { text: 'x'.repeat(100_000) },
    }));
    expect((await call('POST', '/api/v1/records', { records })).body).toMatchObject({ summary: { created: 9 } });
  }
  const lookUp = (members: object) => call<Page>('POST', '/api/v1/records/batch/Large', { pageSize: 100, ...members });
  const list = (query: string) => call<Page>('GET', `/api/v1/events?entityType=Large&pageSize=1000${query}`);
  const [first, events] = [(await lookUp({})).body, (await list('')).body];
  for (const { data, hasMore } of [first, events]) expect([data.length, hasMore]).toEqual([42, true]);
  for (const { body } of [await lookUp({ cursor: first.nextCursor }), await list(`&after=${events.nextCursor}`)])
    expect([body.data.length, body.hasMore]).toEqual([3, false]);
});

test('the database does not read the rows behind a page', async () => {
  const limited = withinPageBytes({ names: ['id', 'text'], sized: ['text'], key: 'id' });
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ id: number | null }>(
      limited(sql`
        select n as id, case when n > 10 then (1 / (n - n))::text else repeat('x', 1000000) end as text
        from generate_series(1, 1000) n`),
    ),
  );
  expect(rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, null]);
});
