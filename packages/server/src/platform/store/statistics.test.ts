import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import { analyzeGrown } from './statistics.ts';

const { store, tenantId } = await testStore();

const known = () =>
  store.system((transaction) =>
    transaction.first<{ rows: number }>(sql`select reltuples as rows from pg_class where relname = 'org'`),
  );

test('a table that has grown since it was analyzed is analyzed after a write, and only then', async () => {
  expect(await known()).toEqual({ rows: -1 });
  await store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'Org'));
    await transaction.all(sql`
      insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone, fiscal_year_start_month)
      select tenant_id, gen_random_uuid(), n, n, n, n, currency, country, time_zone, fiscal_year_start_month
      from org, generate_series(1, 999) n where tenant_id = ${tenantId}`);
  });
  await expect.poll(known).toEqual({ rows: 1_000 });
  expect(await analyzeGrown((work) => store.system(work))).toEqual([]);
});
