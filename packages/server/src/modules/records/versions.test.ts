import { describe, expect, test } from 'vitest';
import { recordsOf, type WriteResult } from '../../../test/modules/records.ts';
import { testService } from '../../../test/service.ts';

const main = await testService();
const { call, signIn } = main;
const { make, upsert, update, remove } = recordsOf(main);

const change = (systemRef: string, name: string, ifVersion?: number) => ({
  type: 'Client',
  systemRef,
  attributes: { name },
  ...(ifVersion !== undefined && { ifVersion }),
});
const nameOf = async (id: string) => (await call<{ name: string }>('GET', `/gql/v1/client/${id}`)).body.name;
const tagOf = async (path: string) => (await call('GET', path)).headers.get('etag') ?? '';

describe('ifVersion', () => {
  test('updateRecords › a record of another version fails alone with STALE_VERSION, and is not changed', async () => {
    const [a, b] = [await make('Client', { name: 'A' }), await make('Client', { name: 'B' })];
    await update([change(a.systemRef ?? '', 'A2')]);
    const items = await update([change(a.systemRef ?? '', 'A3', 1), change(b.systemRef ?? '', 'B2', 1)]);
    expect(items).toMatchObject([
      {
        status: 'FAILED',
        id: a.id,
        error: { code: 'STALE_VERSION', pointer: '/records/0/ifVersion', detail: /version is now 2/ },
      },
      { status: 'UPDATED', version: 2 },
    ]);
    expect([await nameOf(a.id), await nameOf(b.id)]).toEqual(['A2', 'B2']);
  });

  test('upsertRecords and deleteRecords › compare it, and require the row', async () => {
    const { id, systemRef } = await make('Client', { name: 'C' }, 'versions-c');
    expect(await upsert([change('versions-c', 'C2', 7)])).toMatchObject([{ error: { code: 'STALE_VERSION' } }]);
    expect(await remove([{ type: 'Client', systemRef, ifVersion: 2 }])).toMatchObject([
      { error: { code: 'STALE_VERSION' } },
    ]);
    expect(await nameOf(id)).toBe('C');
    expect(await upsert([change('versions-new', 'New', 1)])).toMatchObject([{ error: { code: 'RECORD_NOT_FOUND' } }]);
    expect(await upsert([change('versions-c', 'C2', 1)])).toMatchObject([{ status: 'UPDATED' }]);
    expect(await remove([{ type: 'Client', systemRef, ifVersion: 2 }])).toMatchObject([{ status: 'DELETED' }]);
  });

  test('upsertRecords › a record with the same key as an earlier one of the call expects the version before the call', async () => {
    const { systemRef } = await make('Client', { name: 'D' });
    const [first, second] = await upsert([change(systemRef ?? '', 'D2', 1), change(systemRef ?? '', 'D3', 1)]);
    expect([first, second]).toMatchObject([{ status: 'UPDATED' }, { status: 'UPDATED', version: 2 }]);
  });

  test('of many concurrent updates of one version, one succeeds', async () => {
    const { systemRef, id } = await make('Client', { name: 'E' });
    const names = Array.from({ length: 12 }, (_, index) => `E${index}`);
    const results = (await Promise.all(names.map((name) => update([change(systemRef ?? '', name, 1)])))).flat();
    const winners = results.filter(({ status }) => status === 'UPDATED');
    expect(winners).toHaveLength(1);
    expect(results.filter(({ error }) => error?.code === 'STALE_VERSION')).toHaveLength(11);
    expect(await nameOf(id)).toBe(winners[0]?.attributes?.name);
  });

  test('upsertCodes and upsertEntries › compare it', async () => {
    const code = {
      type: 'WorkCode',
      systemRef: 'versions-code',
      attributes: { code: 'V1', name: 'Versions', isBillable: false },
    };
    await call('POST', '/api/v1/codes', { records: [code] });
    for (const path of ['/api/v1/codes', '/api/v1/entries']) {
      const item = path.endsWith('codes') ? code : { type: 'TimeEntry', systemRef: 'nowhere', attributes: {} };
      const { body } = await call<WriteResult>('POST', path, { records: [{ ...item, ifVersion: 5 }] });
      const expected = path.endsWith('codes') ? 'STALE_VERSION' : 'RECORD_NOT_FOUND';
      expect(body.records[0]?.error?.code, path).toBe(expected);
    }
  });
});

describe('If-Match', () => {
  const put = (records: object[], tag: string) =>
    call<WriteResult & { code?: string }>('PUT', '/api/v1/records', { records }, { 'If-Match': tag });

  test('updateRecords › holds for a call of one record', async () => {
    const { id, systemRef } = await make('Client', { name: 'F' });
    const tag = await tagOf(`/gql/v1/client/${id}`);
    expect(await put([change(systemRef ?? '', 'F2')], tag)).toMatchObject({
      status: 200,
      body: { summary: { updated: 1 } },
    });
    expect(await put([change(systemRef ?? '', 'F3')], tag)).toMatchObject({
      status: 412,
      body: { code: 'PRECONDITION_FAILED' },
    });
    expect(await nameOf(id)).toBe('F2');
    const other = await make('Client', { name: 'G' });
    const foreign = await tagOf(`/gql/v1/client/${other.id}`);
    expect(await put([change(systemRef ?? '', 'F3')], foreign)).toMatchObject({ status: 412 });
    const records = [change(systemRef ?? '', 'F3'), change(other.systemRef ?? '', 'G2')];
    expect(await put(records, '*')).toMatchObject({
      status: 400,
      body: { errors: [{ in: 'header', pointer: '/If-Match' }] },
    });
  });

  test('upsertRecords and deleteRecords › the row must exist, also for *', async () => {
    for (const [method, record] of [
      ['POST', change('if-match-new', 'New')],
      ['POST', { type: 'Industry', attributes: { name: 'If-Match' } }],
      ['PUT', change('if-match-new', 'New')],
      ['DELETE', { type: 'Client', systemRef: 'if-match-new' }],
    ] as const)
      for (const tag of ['*', '"0000000000000000-1"']) {
        const response = await call(method, '/api/v1/records', { records: [record] }, { 'If-Match': tag });
        expect(response, `${method} ${tag}`).toMatchObject({ status: 412 });
      }
  });

  test('does not tell a caller without the write role of the type which rows exist', async () => {
    const { systemRef } = await make('Client', { name: 'Hidden' });
    const other = await signIn({ roles: ['RECORD_W'] });
    const codes = [];
    for (const ref of [systemRef ?? '', 'nowhere'])
      for (const tag of ['*', '"0000000000000000-1"']) {
        const { status, body } = await other.call<WriteResult>(
          'PUT',
          '/api/v1/records',
          { records: [change(ref, 'X')] },
          { 'If-Match': tag },
        );
        codes.push([status, body.records?.[0]?.error?.code]);
      }
    expect(new Set(codes.map(String))).toEqual(new Set(['200,FORBIDDEN']));
  });

  test('takes the tags of the reads by ID of every type that can be updated', async () => {
    const firm = await testService({ filled: 'examples', roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
    const { body: types } = await firm.call<{ data: { name: string; operations: string[]; isCustom: boolean }[] }>(
      'GET',
      '/api/v1/records/types',
    );
    const reads: Record<string, string> = {
      DraftInvoice: 'draft_invoice',
      WipEntry: 'wip',
      Task: 'task',
      File: 'files',
    };
    const taken: string[] = [];
    for (const { name } of types.data.filter(
      ({ operations, isCustom }) => !isCustom && operations.includes('UPDATE'),
    )) {
      const { body } = await firm.call<{ data: { id: string; systemRef: string; active: boolean }[] }>(
        'POST',
        `/api/v1/records/batch/${name}`,
        {},
      );
      const prefix = name === 'Task' ? '/v1/' : name === 'File' ? '/api/v1/' : '/gql/v1/';
      const rows = body.data.filter(({ active }) => active).slice(0, 3);
      const tags = [];
      for (const { id } of rows) {
        const { status, headers } = await firm.call('GET', `${prefix}${reads[name] ?? name.toLowerCase()}/${id}`);
        if (status === 200) tags.push(headers.get('etag') ?? '');
      }
      if (tags.length < 2) continue;
      for (const [index, { systemRef }] of rows.entries())
        for (const [at, tag] of tags.entries()) {
          const records = [{ type: name, systemRef, attributes: {} }];
          const { status } = await firm.call('PUT', '/api/v1/records', { records }, { 'If-Match': tag });
          expect({ name, index, at, status }).toEqual({ name, index, at, status: index === at ? 200 : 412 });
        }
      taken.push(name);
    }
    expect(taken).toEqual([
      'Client',
      'Contact',
      'DraftInvoice',
      'File',
      'Invoice',
      'Job',
      'Payment',
      'Staff',
      'Task',
      'WipEntry',
    ]);
  });
});

describe('Idempotency-Key', () => {
  test('upsertRecords without systemRef › creates the records once, however often the call is repeated', async () => {
    const records = [
      { type: 'Client', attributes: { name: 'Once' } },
      { type: 'Client', attributes: { name: '' } },
    ];
    const send = () => call<WriteResult>('POST', '/api/v1/records', { records }, { 'Idempotency-Key': 'once' });
    const [first, ...others] = [await send(), await send(), await send()];
    expect(first.body.summary).toMatchObject({ created: 1, failed: 1 });
    for (const other of others) {
      expect(other.body).toEqual(first.body);
      expect(other.headers.get('idempotency-replayed')).toBe('true');
    }
    const { body } = await call<{ data: unknown[] }>('POST', '/gql/v1/clients/search', {
      where: { name: { _eq: 'Once' } },
    });
    expect(body.data).toHaveLength(1);
    const changed = { records: [{ type: 'Client', attributes: { name: 'Twice' } }] };
    expect(await call('POST', '/api/v1/records', changed, { 'Idempotency-Key': 'once' })).toMatchObject({
      status: 409,
    });
  });

  test('deleteRecords › reports the deletion again, not RECORD_NOT_FOUND', async () => {
    const { systemRef } = await make('Client', { name: 'Deleted' });
    const records = [{ type: 'Client', systemRef }];
    for (let time = 0; time < 2; time++) {
      const { body } = await call<WriteResult>(
        'DELETE',
        '/api/v1/records',
        { records },
        { 'Idempotency-Key': 'deleted' },
      );
      expect(body.summary).toMatchObject({ deleted: 1, failed: 0 });
    }
    const { body } = await call<WriteResult>('DELETE', '/api/v1/records', { records });
    expect(body.records[0]?.error?.code).toBe('RECORD_NOT_FOUND');
  });
});
