import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { newId } from './new-id.ts';

const { store, tenantId } = await testStore();

test('the migration keeps jobs that wait, run or have died', async () => {
  const migration = await readFile(new URL('migrations/0096_background_jobs.sql', import.meta.url), 'utf8');
  const move = /do \$\$\nbegin\n {2}if to_regclass[\s\S]*?\$\$;/.exec(migration)?.[0] ?? '';
  const [waiting, running, dead, completed] = [newId(), newId(), newId(), newId()];
  const job = (id: string, name: string, state: string, from = 'null', reason = 'null') =>
    `('${id}', '${name}', '{"tenant": "alpha", "data": {"key": "${state}"}}', '${state}', now(), 2, now(), ${from}, ${reason})`;
  // The columns that the library had.
  await store.ownerStatements(`
    create schema pgboss;
    create table pgboss.job (id uuid, name text, data jsonb, state text, start_after timestamptz, retry_count integer,
      created_on timestamptz, source_name text, source_output jsonb);
    insert into pgboss.job values ${[
      job(waiting, 'write-letter', 'created'),
      job(running, 'write-letter', 'active'),
      job(dead, 'dead-letter', 'created', "'finish-batch'", `'{"message": "No disk."}'`),
      job(completed, 'write-letter', 'completed'),
    ].join(', ')};
    ${move}`);
  const { rows } = await store.ownerStatements(
    'select tenant_id, id, name, data, status, failures, failure from background_job order by id',
  );
  const moved = { tenant_id: tenantId, failures: 2, failure: null };
  expect(rows).toEqual([
    { ...moved, id: waiting, name: 'write-letter', data: { key: 'created' }, status: 'WAITING' },
    { ...moved, id: running, name: 'write-letter', data: { key: 'active' }, status: 'WAITING' },
    { ...moved, id: dead, name: 'finish-batch', data: { key: 'created' }, status: 'DEAD', failure: 'No disk.' },
  ]);
  const { rows: schemas } = await store.ownerStatements(`select to_regnamespace('pgboss') as schema`);
  expect(schemas).toEqual([{ schema: null }]);
});
