import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';

const { store } = await testStore();

test('columns of tenants and functions take their time from the clock of the tenant', async () => {
  const realTime = `'(?<!tenant_)(now|clock_timestamp)\\(\\)|current_timestamp|current_date|localtimestamp'`;
  const columns = await store.ownerStatements(
    `select t.relname as "table" from pg_attrdef d join pg_class t on t.oid = d.adrelid
     where t.relnamespace = 'public'::regnamespace and pg_get_expr(d.adbin, d.adrelid) ~* ${realTime}`,
    [],
  );
  // Access, requests, background jobs and the operator.
  expect(columns.rows.map(({ table }) => table).toSorted()).toEqual([
    'api_key',
    'api_user',
    'background_job',
    'cell',
    'idempotency_key',
    'installation',
    'operator_log',
    'signing_key',
    'tenant',
    'tenant_import',
    'tenant_move',
    'webhook_secret',
  ]);
  const functions = await store.ownerStatements(
    `select proname as name from pg_proc p
     where pronamespace = 'public'::regnamespace and prokind in ('f', 'p')
       and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
       and pg_get_functiondef(p.oid) ~* ${realTime}`,
    [],
  );
  // Jobs are due in real time, and the first day of a tenant at once.
  expect(functions.rows.map(({ name }) => name).toSorted()).toEqual([
    'announce_jobs',
    'assign_event_positions',
    'note_due_day',
    'note_moved_row',
    'tenant_clock_timestamp',
    'tenant_now',
  ]);
});

test('what reads and writes rows of tenants takes the time from the clock of the tenant', async () => {
  const realTime =
    /(?<![\w.])(now|clock_timestamp)\(\)|current_(date|timestamp)|Date\.now|Temporal\.Now|databaseClock\./i;
  const source = join(import.meta.dirname, '../..');
  const found: string[] = [];
  for (const layer of ['modules', 'query', 'entity']) {
    for (const name of await readdir(join(source, layer), { recursive: true })) {
      if (!name.endsWith('.ts') || /test/.test(name)) continue;
      if (realTime.test(await readFile(join(source, layer, name), 'utf8'))) found.push(`${layer}/${name}`);
    }
  }
  expect(found.toSorted()).toEqual(
    [
      // Leases of processes.
      'modules/events/delivery/partitions.ts',
      'modules/events/delivery/deliver-partition.ts',
      'modules/events/delivery/sender.ts',
      'modules/events/signatures/generateTestSignature.ts',
      'modules/events/signatures/webhook-secret.ts',
      // The receiver compares it with its own clock.
      'modules/events/subscriptions/sendTestEvent.ts',
      'modules/files/content-route.ts',
      'modules/files/upload-route.ts',
      'modules/sandbox/getSandboxClock.ts',
    ].toSorted(),
  );
});
