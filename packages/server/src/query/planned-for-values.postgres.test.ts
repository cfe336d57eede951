import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { client } from '../modules/clients/client.ts';
import type { Where } from './clause.ts';
import type { PageScope } from './page.ts';
import { pageReader } from './read.ts';

const { store, tenant, service } = await testService();
const scope: PageScope = {
  name: 'searchClients',
  tenantId: tenant.id,
  holds: () => true,
  vault: service.vault,
  paging: 'offset',
  location: 'body',
};

/** The statements that the database has prepared under a name after a search has run several times. */
async function preparedAfter(where: Where): Promise<string[]> {
  const { run } = pageReader(scope, client, { where, includeTotal: true, page: 1 });
  return store.read(tenant.id, async (session) => {
    for (let use = 0; use < 5; use += 1) await run(session);
    const rows = await session.all(sql<{ statement: string }>`select statement from pg_prepared_statements`);
    return rows.map(({ statement }) => statement).filter((statement) => statement.includes('from "client"'));
  });
}

test('a search is prepared unless its best plan depends on its values', async () => {
  const conditions: Where[] = [
    { name: { _ilike: '%smith%' } },
    { _or: [{ name: { _like: 'Smith%' } }] },
    { _not: { createdAt: { _gte: '2026-01-01T00:00:00.000Z' } } },
    { clientRef: { _in: ['C-1', 'C-2'] } },
  ];
  for (const where of conditions) expect(await preparedAfter(where)).toEqual([]);
  const prepared = await preparedAfter({ clientRef: { _eq: 'C-1' } });
  expect(prepared).toEqual([expect.stringContaining('client_ref')]);
});
