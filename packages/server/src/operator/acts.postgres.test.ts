/** Every command that changes a row of a database leaves a row that says so. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { testDatabase } from '../../test/database.ts';
import { freePort } from '../../test/free-port.ts';
import { nightlyTest } from '../../test/nightly-test.ts';
import { serve } from '../main/main.ts';
import { program } from '../main/program.ts';
import { newId } from '../platform/store/new-id.ts';
import { type CommandName, type Commands, runCommand } from './commands.ts';
import { moveTenant } from './moves/index.ts';

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-acts-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
const [{ databaseUrl: homeUrl = '' }, { databaseUrl: eastUrl = '' }] = [
  await testDatabase(),
  await testDatabase('empty'),
];
const { service, stop } = await serve({
  DATABASE_URL: homeUrl,
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  DATA_DIR: join(folder, 'data'),
  PORT: String(await freePort()),
  LOG_LEVEL: 'silent',
  PAYMENT_PROCESSOR: 'none',
  BACKGROUND: 'off',
});
atEnd(stop);
const operator = { service };

// As the owner of the tables, who sees the rows of one tenant at a time.
const clients = [homeUrl, eastUrl].map((connectionString) => new pg.Client({ connectionString }));
for (const client of clients) await client.connect();
atEnd(async () => void (await Promise.all(clients.map((client) => client.end()))));
const as = (client: pg.Client, tenant: number) =>
  client.query(`select set_config('app.tenant_id', $1, false)`, [String(tenant)]);
const [home] = clients;
/** Runs a statement as the first tenant. */
async function query(text: string): Promise<Record<string, unknown>[]> {
  if (home === undefined) return [];
  const { rows } = await home.query<{ id: number }>(`select id from tenant where name = 'firm'`);
  await as(home, rows[0]?.id ?? 0);
  return (await home.query(text)).rows ?? [];
}

/** What processes write while no command runs. */
const ofProcesses = ['process_heartbeat', 'request_count', 'clock_lease', 'idempotency_key'];

/** A hash of the rows of each table, and the operations that were recorded. */
async function stateOf(client: pg.Client) {
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname <> all ($1) order by relname`,
    [ofProcesses],
  );
  const hashes = new Map<string, string>();
  const operations: string[] = [];
  if (tables.length === 0) return { hashes, operations };
  const { rows: tenants } = await client.query<{ id: number }>('select id from tenant order by id');
  for (const { id } of [{ id: 0 }, ...tenants]) {
    await as(client, id);
    // The sum of the hashes of rows is the same in any order.
    const hashOf = ({ name }: { name: string }) =>
      `select '${name}' as name, count(*) || ' ' || sum(hashtextextended(t::text, 0)::numeric) as hash from "${name}" t`;
    // With a name, because planning it takes longer than running it.
    const { rows: hashed } = await client.query<{ name: string; hash: string | null }>({
      name: `hashes of ${tables.length} tables`,
      text: tables.map(hashOf).join(' union all '),
    });
    for (const { name, hash } of hashed) hashes.set(`${id} ${name}`, String(hash));
    const { rows } = await client.query<{ operation: string }>(
      'select operation from audit_log union all select operation from operator_log where current_setting($1) = $2',
      ['app.tenant_id', '0'],
    );
    operations.push(...rows.map(({ operation }) => operation));
  }
  return { hashes, operations };
}

const firm = { tenant: 'firm' };
const user = { ...firm, user: 'crm', roles: ['REF_R'], days: 1, description: undefined };
const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
const file = join(folder, 'firm.ndjson');
const look = async () => {
  if ('look' in service.store && typeof service.store.look === 'function') await service.store.look();
};

/** The input of each command, in the order in which they run. Without an entry for a command, this does not compile. */
const inputs: { readonly [Name in CommandName]: () => Promise<Commands[Name]['input']> | Commands[Name]['input'] } = {
  'cell add': () => ({ name: 'east', url: eastUrl }),
  'cell set-address': () => ({ name: 'east', url: eastUrl }),
  'cell list': () => null,
  'request debug-token': () => ({ minutes: 1 }),
  'tenant create': () => ({ name: 'firm', displayName: 'Firm', sandbox: true, ...place }),
  'tenant list': () => null,
  'tenant set': () => ({ ...firm, setting: 'wipEvents', value: 'on' }),
  'tenant show': () => firm,
  'api-key create': () => user,
  'api-key list': () => firm,
  'api-key revoke': async () => ({ ...firm, id: String((await query('select id from api_key'))[0]?.id) }),
  'setting set': () => ({ name: 'AUDIT_LOG_YEARS', value: '8' }),
  'setting list': () => null,
  'signing-key list': () => null,
  'signing-key rotate': () => null,
  'signing-key retire': async () => ({
    kid: String((await query('select kid from signing_key order by created_at limit 1'))[0]?.kid),
  }),
  'master-key reencrypt': () => null,
  'files import': async () => {
    await writeFile(join(folder, 'letter.txt'), 'Dear client');
    return { ...firm, client: null, source: 'DMS_DIRECT_UPLOAD', root: folder, paths: ['letter.txt'] };
  },
  'person erase': async () => {
    await query(`
      set app.copies_rows = 'on';
      insert into contact (tenant_id, id, system_ref, pms_ref, display_name)
        select id, '${newId()}', 'ines', 'P-1', 'Ines Calder' from tenant;
      reset app.copies_rows`);
    return { ...firm, type: 'Contact', ref: 'ines' };
  },
  'request find': async () => {
    const id = newId();
    await query(`insert into recent_request (tenant_id, id, received_at, operation, method, path, status, milliseconds, user_name, process)
      select id, '${id}', now(), 'getClient', 'GET', '/', 200, 1, 'crm', 'x' from tenant`);
    return { id };
  },
  'job list': () => null,
  'job retry': async () => {
    const id = newId();
    await query(`insert into background_job (tenant_id, id, name, data, status, ended_at)
      select id, '${id}', 'forgotten', '{}', 'DEAD', now() from tenant`);
    return { id };
  },
  'books check': () => ({ ...firm, repair: true }),
  'rows check': () => ({ ...firm, after: null }),
  'audit export': () => ({ ...firm, from: null, to: null, after: null }),
  'deliveries replay': async () => {
    await query(`
      set app.copies_rows = 'on';
      insert into event_subscription (tenant_id, id, system_ref, delivery_url, entity_type, operations, created_by_api_user_id)
        select tenant_id, id, 'crm', 'https://example.com', 'Org', '{CREATE}', id from api_user;
      insert into event_position (tenant_id, position, event_id, entity_type, entity_id, operation, recorded_at)
        select tenant_id, 1, id, entity_type, entity_id, operation, recorded_at from recorded_event limit 1;
      insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt, delivery_url,
          outcome, duration_ms, attempted_at)
        select p.tenant_id, '${newId()}', s.id, event_id, p.entity_type, operation, entity_id, 1, delivery_url, 'FAILED', 1, now()
        from event_position p, event_subscription s;
      reset app.copies_rows`);
    return { ...firm, since: Temporal.Now.instant().subtract({ hours: 1 }).toString() };
  },
  'clock advance': () => ({ ...firm, by: '1d' }),
  'webhook rotate-secret': () => ({ ...firm, hours: 1 }),
  'tenant close': () => firm,
  'tenant open': () => firm,
  'tenant export': () => ({ ...firm, to: file, transferKey: null }),
  'tenant import': () => ({ file, name: 'copy', cell: null, isClosed: true, transferKey: null }),
  'tenant move': async () => {
    await look();
    return { tenant: 'copy', to: 'east' };
  },
  'tenant move --remove-old': () => ({ tenant: 'copy' }),
  'tenant move --cancel': async () => {
    const interrupted = moveTenant(operator, { ...firm, to: 'east' }, (step) => {
      if (step === 'verify') throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    for (const client of clients) await client.query(`update tenant_move set mover_until = '-infinity'`);
    return firm;
  },
  'tenant rename': () => ({ tenant: 'copy', to: 'renamed' }),
  'cell remove': async () => {
    await query(`insert into cell (number, name, url_encrypted) values (2, 'west', '')`);
    return { name: 'west' };
  },
  'tenant delete': async () => {
    const renamed = { tenant: 'renamed' };
    await runCommand(operator, 'tenant close', renamed);
    for (const client of clients) await client.query(`update tenant set closed_at = now() - interval '1 minute'`);
    await runCommand(operator, 'tenant export', { ...renamed, to: `${file}.again`, transferKey: null });
    return { ...renamed, days: 1 };
  },
};

/** What is not run by `runCommand`: its own rows say what it did. */
const others = new Map([
  ['serve', 'nothing that an operator changes'],
  ['migrate', 'schema_migration and schema_expansion, with the time'],
  ['adopt', 'operator_log, see adopt.postgres.test.ts'],
  ['webhook listen', 'api-key create and revoke, and the API'],
  ['webhook trigger', 'api-key create and revoke, and the API'],
]);

/** Compares all rows of two databases before and after each of some forty commands. */
nightlyTest?.('every command that changes a row leaves one that names it', async () => {
  const silent: string[] = [];
  const states = () => Promise.all(clients.map(stateOf));
  let after = await states();
  for (const name of Object.keys(inputs) as CommandName[]) {
    const given = inputs[name]();
    const input = await given;
    // An input that is not prepared changes nothing.
    const before = given instanceof Promise ? await states() : after;
    await runCommand(operator, name, input);
    after = await states();
    const changed = after.flatMap(({ hashes }, index) =>
      [...hashes].flatMap(([table, hash]) => (before[index]?.hashes.get(table) === hash ? [] : [table])),
    );
    const counted = (states: typeof after) =>
      states.flatMap(({ operations }) => operations).filter((operation) => operation === name).length;
    if (changed.length > 0 && counted(after) <= counted(before)) silent.push(`${name}: ${changed.join(', ')}`);
  }
  expect(silent).toEqual([]);
});

test('every command of the program is one of these', () => {
  const namesOf = (command: typeof program, path: readonly string[]): string[] =>
    command.commands.length === 0
      ? [path.join(' ')]
      : command.commands.flatMap((one) => namesOf(one, [...path, one.name()]));
  const ran = Object.keys(inputs).filter((name) => !name.includes(' --'));
  expect(namesOf(program, []).toSorted()).toEqual([...ran, ...others.keys()].toSorted());
});
