import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { recordsOf } from '../../../test/modules/records.ts';
import { isNightly, sampleOf } from '../../../test/nightly.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import { createTenantWithKeys } from '../../../test/operate.ts';
import { processEnvironment, runCli } from '../../../test/process.ts';
import { type TestCaller, type TestService, testService } from '../../../test/service.ts';
import { Directory } from '../../admission/directory.ts';
import { defineJob } from '../../background/job.ts';
import { JobTable } from '../../background/job-table.ts';
import { allOperations } from '../../contract/contract.ts';
import { currentSecret } from '../../modules/events/signatures/webhook-secret.ts';
import { newId } from '../../platform/store/new-id.ts';
import { checkBooks } from '../books.ts';
import { deleteTenant, renameTenant } from '../leave.ts';
import { showProgress } from '../show-progress.ts';
import { setTenantOpen, tenantNamed } from '../tenants.ts';
import { type ExportSummary, exportTenant } from './export-tenant.ts';
import { encryptedColumns } from './file-key.ts';
import { importTenant } from './import-tenant.ts';
import { removeInterruptedImports } from './interrupted-imports.ts';

const config = { masterKeys: [Buffer.alloc(32, 7)] } as const;
const source = await testService({ filled: 'examples', config });
const target = await testService({ config });
const elsewhere = await testService();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-copies-'));
atEnd(() => rm(folder, { recursive: true, force: true }));

let files = 0;
const newPath = (ending = 'ndjson') => join(folder, `${++files}.${ending}`);
const transferKey = Buffer.alloc(32, 9).toString('base64');

async function exported(
  { service }: TestService,
  tenant: string,
  { to = newPath(), key = null as string | null } = {},
) {
  const summary: ExportSummary = await exportTenant({ service }, { tenant, to, transferKey: key });
  return { path: to, summary, lines: (await readFile(to, 'utf8')).trimEnd().split('\n') };
}

function imported({ service }: TestService, file: string, name: string | null = null, key: string | null = null) {
  return importTenant({ service }, { file, name, transferKey: key, isClosed: false, cell: null });
}

/** Everything that an import could leave behind. */
async function stateOf({ service, store }: TestService) {
  const rows = await store.system((transaction) =>
    transaction.all<{ id: number; name: string }>(
      sql`select id, name from tenant union all select tenant, name from tenant_import order by name`,
    ),
  );
  const folders = await readdir(join(service.config.dataDir, 'files')).catch(() => []);
  return { rows, folders: folders.toSorted() };
}

/** Lists, of which most need no argument. By day every sixth one: an export of the copy has all rows. */
const lists = sampleOf(
  allOperations.filter(({ id }) => /^(search|list)[A-Z]/.test(id)),
  6,
);

async function listsOf(caller: TestCaller): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const one of lists) {
    const { id, method } = one;
    const [path = '', body] = method === 'GET' ? [one.path] : [one.path, { page: 0, pageSize: 100 }];
    const response = await caller.call(method, path, body);
    // Cursors are signed with the name of the tenant, and events have it.
    if (response.status === 200) found.set(id, { ...Object(response.body), nextCursor: undefined });
  }
  return found;
}

let original: Awaited<ReturnType<typeof exported>>;
const draft = 'draft-of-copies';
const copied = defineJob({ name: 'copied', data: {}, run: async () => {} });

beforeAll(async () => {
  await currentSecret(source.store, source.service.vault, source.tenant.id);
  const preparer = await source.signIn({ roles: ['API_ADMIN', 'CLNT_R'] });
  const found = await preparer.call<{ data: { id: string }[] }>('POST', '/gql/v1/clients/search', {
    where: { name: { _ilike: '%harbor%' } },
  });
  const attributes = {
    clientId: found.body.data[0]?.id,
    billThroughDate: '2026-12-31',
    proposedInvoiceDate: '2026-01-31',
    dueDate: '2026-03-02',
    lines: [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '100.00', taxable: false }],
  };
  await recordsOf(preparer).make('DraftInvoice', attributes, draft);
  await recordsOf(preparer).update([{ type: 'DraftInvoice', systemRef: draft, attributes: { status: 'IN_REVIEW' } }]);
  await source.store.write(source.tenant.id, (transaction) =>
    transaction.all(sql`select * from assign_event_positions(10000)`),
  );
  original = await exported(source, 'firm');
});

test('tenant export › writes all rows, content and secrets to a file for its owner alone, with counts and hashes', async () => {
  const { lines, path, summary } = original;
  expect((await stat(path)).mode & 0o077).toBe(0);
  expect(summary).toMatchObject({
    missing: [],
    rows: lines.length - 2 - lines.filter((line) => line.startsWith('{"content"')).length,
  });
  expect(summary.files).toBeGreaterThan(2);
  const { end } = JSON.parse(lines.at(-1) ?? '');
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  expect(end.sha256).toBe(
    sha256(
      lines
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(''),
    ),
  );
  const clients = lines.filter((line) => line.startsWith('{"table":"client",'));
  expect(end.tables.client).toEqual({
    lines: clients.length,
    sha256: sha256(clients.map((line) => `${line}\n`).join('')),
  });
  // Amounts are texts, because programs read numbers as floating point.
  const invoice = JSON.parse(lines.find((line) => line.startsWith('{"table":"invoice",')) ?? '').row;
  expect(invoice).toMatchObject({ total: expect.stringMatching(/^\d+\.\d\d$/), id: expect.any(String) });
  expect(invoice).not.toHaveProperty('tenant_id');
  await expect(exported(source, 'firm', { to: path })).rejects.toThrow(
    /exists\. Delete it, or specify another file\.$/,
  );
  await expect(exported(source, 'nobody')).rejects.toThrow(/^The tenant nobody does not exist/);
});

test('tenant import › creates the tenant with the same rows, and leaves other tenants as they were', async () => {
  const before = await exported(target, 'firm');
  const steps: string[] = [];
  const operator = { service: target.service, progress: ({ step }: { step: string }) => void steps.push(step) };
  const summary = await importTenant(operator, {
    file: original.path,
    name: 'copy',
    transferKey: null,
    isClosed: false,
    cell: null,
  });
  expect(summary).toMatchObject({
    tenant: 'copy',
    rows: original.summary.rows,
    files: original.summary.files,
    missing: [],
  });
  expect(steps.slice(-2)).toEqual(['checking references', 'checking the books']);
  const again = await exported(target, 'copy');
  expect(again.lines.slice(1, -1)).toEqual(original.lines.slice(1, -1));
  const head = ({ lines: [first = ''] }: typeof original) => JSON.parse(first).tenant;
  expect(head(again)).toEqual({ ...head(original), name: 'copy' });
  expect((await exported(target, 'firm')).lines.slice(1, -1)).toEqual(before.lines.slice(1, -1));
  expect(await checkBooks(target, { tenant: 'copy', repair: false })).toEqual({ differences: [], breaches: [] });
});

test('tenant import › the tenant reads the same, and continues its numbers and positions', async () => {
  const copy = await tenantNamed(target, 'copy');
  const caller = await target.signIn({ roles: ['API_ADMIN'], tenant: copy });
  const there = new Map(
    JSON.parse(JSON.stringify([...(await listsOf(source))]).replaceAll('"tenant":"firm"', '"tenant":"copy"')),
  );
  const here = await listsOf(caller);
  expect(there.size).toBeGreaterThan(lists.length / 2);
  expect(JSON.stringify([...there]).length).toBeGreaterThan(2_000 * lists.length);
  for (const [operation, body] of there) expect([operation, here.get(String(operation))]).toEqual([operation, body]);

  const approved = async (one: TestCaller) => {
    const [posted] = await recordsOf(one).update([
      { type: 'DraftInvoice', systemRef: draft, attributes: { status: 'APPROVED' } },
    ]);
    const { body } = await one.call<{ invoiceNumber: string }>(
      'GET',
      `/gql/v1/invoice/${posted?.attributes?.invoiceId}`,
    );
    return body.invoiceNumber;
  };
  const approver = await source.signIn({ roles: ['API_ADMIN'] });
  const positionsOf = ({ store }: TestService, tenantId: number) =>
    store.write(tenantId, async (transaction) => {
      await transaction.all(sql`select * from assign_event_positions(10000)`);
      return transaction.first(sql`
        select max(position) as last, count(*) as events, count(distinct position) as positions
        from recorded_event event
        left join event_position positioned on positioned.tenant_id = event.tenant_id and positioned.event_id = event.id
        where event.tenant_id = ${tenantId}`);
    });
  expect(await approved(caller)).toBe(await approved(approver));
  expect(await positionsOf(target, copy.id)).toEqual(await positionsOf(source, source.tenant.id));
  expect(await checkBooks(target, { tenant: 'copy', repair: false })).toEqual({ differences: [], breaches: [] });
});

test('tenant import › a transfer key takes secrets to a service with another master key', async () => {
  const { path, lines } = await exported(source, 'firm', { key: transferKey, to: newPath('ndjson.gz') }).catch(() => ({
    path: '',
    lines: [],
  }));
  expect(lines).not.toEqual([]);
  await expect(imported(elsewhere, path, 'copy')).rejects.toThrow(/was exported with another key.*Set TRANSFER_KEY/);
  await expect(imported(elsewhere, original.path, 'copy')).rejects.toThrow(/was exported with another key/);
  await imported(elsewhere, path, 'copy', transferKey);
  const { id } = await tenantNamed(elsewhere, 'copy');
  const secretOf = ({ service, store }: TestService, tenantId: number) => currentSecret(store, service.vault, tenantId);
  expect(await secretOf(elsewhere, id)).toEqual(await secretOf(source, source.tenant.id));
  await expect(imported(elsewhere, path, 'other', 'short')).rejects.toThrow(/^TRANSFER_KEY must be 32 bytes in base64/);
});

/** Changes rows of the file, and signs it again, as somebody could who has the key. */
function rewritten(change: (line: string) => string | undefined): Promise<string> {
  return signed(original.lines.slice(0, -1).flatMap((line) => change(line) ?? []));
}

async function signed(lines: readonly string[]): Promise<string> {
  const { FileDigest, endLine } = await import('./file-format.ts');
  const digest = new FileDigest();
  for (const [index, line] of lines.entries()) {
    const table = /^\{"table":"(\w+)"/.exec(line)?.[1];
    if (index === 0) digest.addHeader(`${line}\n`);
    else digest.add(table, `${line}\n`);
  }
  const end = digest.end();
  const path = newPath();
  const signature = source.service.vault.sign('tenant-export', end.sha256);
  await writeFile(path, [...lines.map((line) => `${line}\n`), endLine({ ...end, signature })].join(''));
  return path;
}

async function written(content: string | Buffer, ending?: string): Promise<string> {
  const path = newPath(ending);
  await writeFile(path, content);
  return path;
}

const inLine = (start: string, from: string | RegExp, to: string) => (line: string) =>
  line.startsWith(start) ? line.replace(from, to) : line;
const header = '{"format"';
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

const rejected: Readonly<Record<string, readonly [file: () => Promise<string>, message: RegExp]>> = {
  'is cut off after a line': [
    () => written(textOf(original.lines.slice(0, 100))),
    /is cut off after line 100\. Nothing was imported\./,
  ],
  'is cut off within a line': [() => written(textOf(original.lines).slice(0, -5)), /is damaged in line \d+|is cut off/],
  'is cut off within compressed bytes': [
    async () => {
      const path = await written(gzipSync(textOf(original.lines)), 'ndjson.gz');
      await truncate(path, 20_000);
      return path;
    },
    /is damaged in line \d+|is cut off after line \d+/,
  ],
  'has a changed row': [
    () => written(textOf(original.lines.map(inLine('{"table":"contact",', '"first_name":"', '"first_name":"X')))),
    /has other rows of contact than were exported/,
  ],
  'has a row less': [
    () =>
      written(
        textOf(original.lines.filter((line, index) => !line.startsWith('{"table":"audit_log"') || index % 2 > 0)),
      ),
    /has other rows of audit_log/,
  ],
  'has another first line': [
    () => written(textOf(original.lines.map(inLine(header, '"active":true', '"active":false')))),
    /has another first line/,
  ],
  'has a hash of changed rows without a signature': [
    async () => {
      const path = await rewritten(inLine('{"table":"contact",', '"first_name":"', '"first_name":"X'));
      const text = await readFile(path, 'utf8');
      return written(text.replace(/"signature":"[^"]+"/, '"signature":"AAAA"'));
    },
    /does not have the signature of its key/,
  ],
  'has something behind its last line': [() => written(`${textOf(original.lines)}\n`), /has lines after its last one/],
  'lacks a row that another refers to': [
    () => rewritten((line) => (line.startsWith('{"table":"staff_type"') ? undefined : line)),
    /^A row of staff refers to a row that .* does not have \(staff_staff_type_id_reference\)\. Nothing was imported/,
  ],
  'lacks a row that a deferred reference needs': [
    () => rewritten((line) => (line.startsWith('{"table":"contact_info"') ? undefined : line)),
    /refers to a row that .* does not have \(\w+_contact_info_id_reference\)/,
  ],
  'has books that do not add up': [
    () => rewritten(inLine('{"table":"client"', /"outstanding_balance":"[^"]+"/, '"outstanding_balance":"77.77"')),
    /^The books of the file are inconsistent in \d+ places\. The first: outstandingBalance of Client .* is 77\.77 and not/,
  ],
  'violates a constraint': [
    () => rewritten(inLine('{"table":"invoice",', /"status":"\w+"/, '"status":"OTHER"')),
    /^The database rejects a row of .*\. Nothing was imported\.$/,
  ],
  'has a table that does not exist': [
    () => rewritten(inLine('{"table":"audit_log"', 'audit_log', 'other_table')),
    /rows of other_table, which is not a table here/,
  ],
  'is of a newer schema': [
    () => rewritten(inLine(header, /"schema":"\w+"/, '"schema":"9999_new"')),
    /has the schema 9999_new, and this database has \d{4}_\w+\. Upgrade this database/,
  ],
  'is of an older schema': [
    () => rewritten(inLine(header, /"schema":"\w+"/, '"schema":"0000"')),
    /Import it into an empty database with the version that exported it/,
  ],
  'is of a later format': [
    () => rewritten(inLine(header, '"formatVersion":1', '"formatVersion":2')),
    /has the format 2, and this program reads 1\./,
  ],
  'is none': [() => written('{"a":1}\n'), /is not a file that "operator tenant export" has written\.$/],
  'is empty': [() => written(''), /is not a file that/],
  'does not exist': [async () => newPath(), /cannot be read: ENOENT\.$/],
};

// By day every second one, of each kind: damaged, forged, inconsistent, of another version, and none.
test.each(sampleOf(Object.entries(rejected), 2))(
  'tenant import › rejects a file that %s, and leaves nothing behind',
  async (_name, [file, message]) => {
    const before = await stateOf(target);
    await expect(imported(target, await file(), 'broken')).rejects.toThrow(message);
    expect(await stateOf(target)).toEqual(before);
  },
);

test('tenant import › rejects a name that exists or is invalid', async () => {
  await expect(imported(target, original.path)).rejects.toThrow(
    'The tenant firm already exists. To import it under another name, use --name.',
  );
  await expect(imported(target, original.path, 'A B')).rejects.toThrow(/^The name of a tenant has/);
});

test('tenant import › what a killed process has left is removed, and what runs is not', async () => {
  const { service, store } = target;
  const note = (name: string) =>
    store.system((transaction) =>
      transaction.first<{ id: number }>(sql`
        insert into tenant_import (tenant, name, started_at)
        values (nextval(pg_get_serial_sequence('tenant', 'id')), ${name}, now() - interval '1 hour') returning tenant as id`),
    );
  const killed = (await note('killed'))?.id ?? 0;
  await service.storage.put(killed, Buffer.from('content'));
  expect((await stateOf(target)).folders).toContain(String(killed));
  await removeInterruptedImports(service);
  expect((await stateOf(target)).folders).not.toContain(String(killed));

  await store.system((transaction) =>
    transaction.all(
      sql`insert into tenant_import (tenant, name) values (nextval(pg_get_serial_sequence('tenant', 'id')), 'other')`,
    ),
  );
  await removeInterruptedImports(service);
  await expect(imported(target, original.path, 'other')).rejects.toThrow(/is being imported by another process/);
});

test('tenant import › beside the original, a closed copy leaves it its payment links and does no work until it is opened', async () => {
  const { service, store } = source;
  const jobs = new JobTable(store);
  const work = async () => {
    const { jobs: due } = await jobs.due(['copied']);
    return due.find(({ name }) => name === 'copied')?.dueIn ?? null;
  };
  await store.write(source.tenant.id, (transaction) =>
    transaction.all(sql`
      insert into background_job (tenant_id, id, name, data) values (${source.tenant.id}, ${newId()}, 'copied', '{}')`),
  );
  const { path } = await exported(source, 'firm');
  await store.ownerStatements(`update background_job set status = 'COMPLETED', ended_at = now() where name = 'copied'`);
  const request = { file: path, name: 'beside', transferKey: null, isClosed: true, cell: null };
  const { linksElsewhere } = await importTenant({ service }, request);
  expect(linksElsewhere).toBeGreaterThan(0);
  expect(await service.directory.tenant('beside')).toBeUndefined();
  expect(await work()).toBeNull();
  expect(await jobs.take(copied, [])).toBeUndefined();

  await setTenantOpen(source, 'beside', true);
  expect(await service.directory.tenant('beside')).toMatchObject({ name: 'beside' });
  expect(await work()).not.toBeNull();
  expect(await jobs.take(copied, [])).toMatchObject({ tenantName: 'beside' });
  await setTenantOpen(source, 'beside', false);
  await expect(setTenantOpen(source, 'nobody', true)).rejects.toThrow(/^The tenant nobody does not exist/);

  // The links of a closed original lead to the next copy.
  await setTenantOpen(source, 'firm', false);
  const moved = await importTenant({ service }, { ...request, name: 'moved', isClosed: false });
  expect(moved.linksElsewhere).toBe(0);
  await setTenantOpen(source, 'firm', true);
});

test('tenant rename › the former name still leads to the tenant, and no other tenant gets it', async () => {
  const copy = await tenantNamed(target, 'copy');
  const caller = await target.signIn({ roles: ['API_ADMIN'], tenant: copy });
  const operator = { service: target.service };
  await renameTenant(operator, { tenant: 'copy', to: 'former' });
  await renameTenant(operator, { tenant: 'former', to: 'parting' });
  for (const name of ['copy', 'former', 'parting'])
    expect(await new Directory(target.store).tenant(name)).toMatchObject({ id: copy.id, name: 'parting' });
  const statusOf = async (name: string) =>
    (await caller.call('POST', '/gql/v1/clients/search', {}, { Tenant: name })).status;
  // The service knows it by its former name for some seconds.
  expect(await statusOf('copy')).toBe(200);
  expect(await statusOf('firm')).toBe(403);
  // Also with a key that was created since.
  const renamed = await target.signIn({ roles: ['API_ADMIN'], tenant: { ...copy, name: 'parting' } });
  for (const name of ['copy', 'former', 'parting'])
    expect((await renamed.call('POST', '/gql/v1/clients/search', {}, { Tenant: name })).status).toBe(200);
  await expect(setTenantOpen(operator, 'copy', false)).rejects.toThrow('The tenant copy is called parting now.');
  await renameTenant(operator, { tenant: 'parting', to: 'former' });
  await renameTenant(operator, { tenant: 'former', to: 'parting' });
  expect(await new Directory(target.store).tenant('former')).toMatchObject({ id: copy.id, name: 'parting' });
  await expect(renameTenant(operator, { tenant: 'firm', to: 'copy' })).rejects.toThrow(
    'The tenant copy already exists.',
  );
  await expect(renameTenant(operator, { tenant: 'firm', to: 'A B' })).rejects.toThrow(/^The name of a tenant has/);
  await expect(renameTenant(operator, { tenant: 'nobody', to: 'other' })).rejects.toThrow(/does not exist/);
});

test('tenant delete › removes all rows of all tables and the content of files, after an export and a time to wait', async () => {
  const { service, store } = target;
  const remove = (progress?: () => void) => deleteTenant({ service, progress }, { tenant: 'parting', days: 30 });
  const set = (change: string) => store.ownerStatements(`update tenant set ${change} where name = 'parting'`);
  const { id } = await tenantNamed(target, 'parting');
  await expect(remove()).rejects.toThrow(/is open\. To close it, run: .*operator tenant close parting$/);
  await setTenantOpen(target, 'parting', false);
  // Others may still write to it.
  await exported(target, 'parting');
  await expect(remove()).rejects.toThrow(/was not exported since it was closed/);
  await set(`closed_at = now() - interval '10 seconds'`);
  const { summary, lines } = await exported(target, 'parting');
  expect(await remove()).toEqual({ from: expect.stringMatching(/^\d{4}-/) });
  await expect(remove()).rejects.toThrow(/can be deleted from .* on\. To keep it/);
  await set('delete_after = now()');
  const orgId = JSON.parse(lines.find((line) => line.startsWith('{"table":"org",')) ?? '').row.id;
  /** The tables that have rows with the ID of the tenant, or with that of its org. */
  const found = () =>
    store.system(async (transaction) => {
      await transaction.all(sql`select set_config('app.tenant_id', ${String(id)}, true)`);
      const tables = await transaction.all<{ name: string }>(sql`
        select relname as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
      const names: string[] = [];
      for (const { name } of tables) {
        const rows = await transaction.all(sql`
          select from ${sql.table(name)} t where ${String(id)} in (to_jsonb(t) ->> 'tenant_id', to_jsonb(t) ->> 'tenant')
            or to_jsonb(t)::text like ${`%${orgId}%`} limit 1`);
        if (rows.length > 0) names.push(name);
      }
      return names;
    });
  expect((await found()).length).toBeGreaterThan(20);
  const interrupted = () => {
    throw new Error('interrupted');
  };
  await expect(remove(interrupted)).rejects.toThrow('interrupted');
  const others = await exported(target, 'firm');
  const { certificate } = { certificate: undefined, ...(await remove()) };
  expect(certificate).toMatchObject({ tenantId: id, exportSha256: summary.sha256, files: summary.files });
  const { end } = JSON.parse(lines.at(-1) ?? '');
  for (const [table, { lines: rows }] of Object.entries<{ lines: number }>(end.tables))
    if (table !== '') expect([table, certificate?.tables[table]]).toEqual([table, rows]);
  expect(await found()).toEqual([]);
  expect((await stateOf(target)).folders).not.toContain(String(id));
  for (const name of ['copy', 'former', 'parting']) expect(await service.directory.storeOf(name)).toBeUndefined();
  expect((await exported(target, 'firm')).lines.slice(1, -1)).toEqual(others.lines.slice(1, -1));
  await expect(remove()).rejects.toThrow(/does not exist/);
  // A row that a table still had would have stopped it.
  const removing = store.system((transaction) => transaction.all(sql`delete from tenant where name = 'firm'`));
  await expect(removing).rejects.toMatchObject({
    constraint: 'tenant_is_empty',
  });
});

test('encrypted columns of tenants are encrypted again for a transfer', async () => {
  const columns = await source.store.system((transaction) =>
    transaction.all<{ name: string }>(sql`
      select table_name || '.' || column_name as name from information_schema.columns c
      where table_schema = 'public' and column_name like '%\_encrypted' and exists (select from information_schema.columns t
        where t.table_schema = c.table_schema and t.table_name = c.table_name and t.column_name = 'tenant_id') order by 1`),
  );
  const known = Object.entries(encryptedColumns).flatMap(([table, found]) =>
    Object.keys(found).map((column) => ({ name: `${table}.${column}` })),
  );
  expect(columns).toEqual(known);
});

nightlyTest?.('tenant export and import › the commands', async () => {
  const environment = await processEnvironment();
  await createTenantWithKeys(environment, 'hartwell');
  const shown = await runCli(environment, 'tenant', 'export', 'hartwell', '--to', '-');
  expect(shown).toMatchObject({
    code: 0,
    error: expect.stringMatching(
      /The tenant hartwell was exported: \d+ rows of \d+ tables and 0 files with 0 bytes\.\n$/,
    ),
  });
  const path = await written(shown.out);
  expect(await runCli(environment, 'tenant', 'import', path, '--name', 'again')).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^The tenant again was imported: \d+ rows and 0 files\. References and books are consistent\.\n$/,
    ),
  });
  // The tests above write compressed files, but with a function.
  if (!isNightly) return;
  const compressed = newPath('ndjson.gz');
  expect(await runCli(environment, 'tenant', 'export', 'hartwell', '--to', compressed)).toMatchObject({ code: 0 });
  const rows = (text: string) => text.split('\n').filter((line) => line.startsWith('{"table"'));
  expect(rows(gunzipSync(await readFile(compressed)).toString())).toEqual(rows(shown.out));
});

test('progress is one line in a terminal, and a line from time to time elsewhere', () => {
  const shownOn = (isTTY: boolean) => {
    let text = '';
    const write = (part: string | Uint8Array) => {
      text += String(part);
      return true;
    };
    const { show, end } = showProgress({ isTTY, write });
    show({ step: 'client', done: 1_000, total: 4_000 });
    show({ step: 'client', done: 2_000, total: 4_000 });
    end();
    return text;
  };
  expect(shownOn(false)).toBe('client: 1,000 of 4,000 rows (25 %)\n');
  expect(shownOn(true)).toBe('\r\x1b[Kclient: 1,000 of 4,000 rows (25 %)\r\x1b[K');
});
