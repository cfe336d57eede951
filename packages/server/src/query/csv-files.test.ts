/** Searches and aggregates as files for spreadsheets: a kind of response, so all of them are tested alike. */
import { parse } from 'csv-parse/sync';
import { sql } from 'kysely';
import { describe, expect, test, vi } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract } from '../contract/contract.ts';

const service = await testService({ filled: 'examples' });
const { tenant } = service;
const caller = await service.signIn({ roles: ['API_ADMIN'], tenant });

type Row = Readonly<Record<string, unknown>>;
const operations = allOperations.filter(({ id }) => /^(search|aggregate)[A-Z]/.test(id));

async function fileOf(path: string, body: object, as = caller) {
  const response = await fetch(`${service.address}${path}?format=csv`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${as.token}`,
      Tenant: tenant.name,
      Accept: 'text/csv',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  const name = headers.get('Content-Disposition');
  return { status, type: headers.get('Content-Type'), name, text: await response.text() };
}

/** A file as another program reads it. */
const cellsOf = (text: string) => parse(text, { columns: true }) as Record<string, string>[];

/** A row as the file shows it. Objects without properties of their own in the contract are JSON. */
function shown(row: Row): Record<string, string> {
  const cell = (value: unknown) =>
    value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      !['metadata', 'changes'].includes(name) &&
      Object.keys(value).length > 0
        ? Object.entries(value).map(([member, inner]) => [`${name}.${member}`, cell(inner)])
        : [[name, cell(value)]],
    ),
  );
}

/** Cells without the apostrophe that keeps spreadsheets from calculating them, and without those that are empty. */
const plain = (row: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, text]) =>
      text === '' || text === '{}' ? [] : [[name, text.replace(/^'(?=[\s\0]*[=+\-@])/, '')]],
    ),
  );

describe('format=csv', () => {
  const searches = operations.filter(({ id }) => id.startsWith('search'));
  test.each(searches.map(({ id, path }) => [id, path]))('%s returns all rows of its pages', async (_id, path) => {
    const orderBy = [{ id: 'desc' }];
    const { body } = await caller.call<{ data: Row[]; hasMore: boolean }>('POST', path, { pageSize: 1000, orderBy });
    const { status, type, name, text } = await fileOf(path, { pageSize: 1, orderBy });
    expect(name).toMatch(/^attachment; filename=[A-Z][A-Za-z]+\.csv$/);
    expect({ status, type, hasMore: body.hasMore }).toEqual({
      status: 200,
      type: 'text/csv; charset=utf-8; header=present',
      hasMore: false,
    });
    expect(cellsOf(text).map(plain)).toEqual(body.data.map((row) => plain(shown(row))));
  });

  const aggregates = operations.filter(({ id }) => id.startsWith('aggregate'));
  test.each(aggregates.map(({ id, path }) => [id, path]))('%s returns all groups', async (_id, path) => {
    const asked = {
      groupBy: [{ column: 'createdAt', by: 'DAY' }, { column: 'id' }],
      measures: { rows: { function: 'COUNT' }, last: { function: 'MAX', column: 'createdAt' } },
      orderBy: [{ measure: 'last', direction: 'desc' }],
    };
    const { body } = await caller.call<{ data: { key: Row; values: Row }[] }>('POST', path, {
      ...asked,
      pageSize: 1000,
    });
    const { status, text } = await fileOf(path, { ...asked, pageSize: 1 });
    expect(status).toBe(200);
    expect(cellsOf(text)).toEqual(body.data.map(({ key, values }) => shown({ ...key, ...values })));
  });

  test('has the chosen fields in their order, and the names of related rows', async () => {
    const body = { fields: ['total', 'invoiceNumber'], with: ['client'], where: { total: { _gt: '0' } } };
    const { text } = await fileOf('/gql/v1/invoices/search', body);
    expect(text.split('\r\n')[0]).toBe('id,total,invoiceNumber,client.name');
    expect(new Set(cellsOf(text).map((row) => row['client.name']))).toContain('Harbor & Pine LLC');
    const clerk = await service.signIn({ roles: ['INVC_R'], tenant });
    expect((await fileOf('/gql/v1/invoices/search', body, clerk)).status).toBe(403);
  });

  test('shows a formula as a text, and quotes a text of two lines', async () => {
    const name = '=HYPERLINK("http://x",\n"y")';
    await recordsOf(caller).make('Contact', { lastName: name });
    const { text } = await fileOf('/gql/v1/contacts/search', {
      where: { lastName: { _eq: name } },
      fields: ['lastName'],
    });
    expect(cellsOf(text)).toMatchObject([{ lastName: `'${name}` }]);
  });

  test('rejects more rows than a file has', async () => {
    await service.store.write(tenant.id, (session) =>
      session.all(sql`
        insert into task_type (tenant_id, id, system_ref, display_name, code, is_billable, billing_method)
        select ${tenant.id}, gen_random_uuid(), 'many-' || n, 'Many ' || n, 'M' || n, true, 'HOURLY' from generate_series(1, ${contract['x-row-limits'].file}::integer + 1) n`),
    );
    const reads = vi.spyOn(service.store, 'read');
    const { status, text } = await fileOf('/v1/task-types/search', { fields: ['code'] });
    // Each page has the time of a read for itself.
    expect(reads.mock.calls.length).toBeGreaterThan(5);
    expect({ status, body: JSON.parse(text) }).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/where', code: 'OUT_OF_RANGE' }] },
    });
  });
});
