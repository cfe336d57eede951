import { Ajv2020 } from 'ajv/dist/2020.js';
import { sql } from 'kysely';
import { RE2JS } from 're2js';
import { expect, test, vi } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import { sharedService } from '../../../test/service.ts';
import { contract } from '../../contract/contract.ts';

const service = await sharedService();
const { define, change, upsert } = recordsOf(service);
const max = contract['x-tenant-limits'].customRecordTypes ?? 0;

/** Each takes 70 ms or more to compile. */
const slowPatterns = Array.from({ length: 50 }, (_, index) => `${'(?:a{0,999})'.repeat(75)}${index}`);

/** Runs work, and returns the definitions of these types that were compiled meanwhile. */
async function compiledDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  const compile = vi.spyOn(Ajv2020.prototype, 'compile');
  try {
    await work();
    return compile.mock.calls.map(([schema]) => JSON.stringify(schema)).filter((schema) => schema.includes('field1'));
  } finally {
    compile.mockRestore();
  }
}

/** Runs work, and expects that this thread, which serves all requests, compiles no pattern meanwhile. */
async function expectInThreads(work: () => Promise<unknown>): Promise<void> {
  const compile = vi.spyOn(RE2JS, 'compile');
  try {
    expect(await compiledDuring(work)).toEqual([]);
    expect(compile).not.toHaveBeenCalled();
  } finally {
    compile.mockRestore();
  }
}

interface ListBody {
  readonly data: readonly { readonly name: string }[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/** Adds types with 100 fields each, without the API, which would take longer. */
async function addTypes(tenantId: number, count: number): Promise<void> {
  const { body } = await service.call<{ fields: object[] }>('GET', '/api/v1/records/custom/Wide');
  await service.store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into custom_record_type (tenant_id, id, system_ref, created_at, updated_at, name, fields)
      select ${tenantId}, id, id, now(), now(), 'Many' || number, ${JSON.stringify(body.fields)}::jsonb
      from (select uuidv7() as id, number from generate_series(1, ${count}::integer) as numbers (number)) as types`),
  );
}

test('createCustomRecordType › rejects a type beyond the limit of the contract, also an inactive one, and names the limit', async () => {
  const wide = Array.from({ length: 100 }, (_, index) => ({ name: `field${index}`, type: 'DECIMAL' }));
  expect((await define('Wide', wide)).status).toBe(201);
  await service.call('DELETE', '/api/v1/records/custom/Wide');
  const tooWide = await define('TooWide', [...wide, { name: 'another', type: 'DECIMAL' }]);
  expect([tooWide.status, JSON.stringify(tooWide.body)]).toEqual([400, expect.stringContaining('at most 100 items')]);
  await addTypes(service.tenant.id, max - 2);
  const both = await Promise.all(['One', 'Other'].map((name) => define(name, [{ name: 'a', type: 'STRING' }])));
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(both.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'LIMIT_REACHED',
    detail: expect.stringContaining(`${max} custom record types`),
  });
});

nightlyTest?.('listRecordTypes and listCustomRecordTypes › return all types in pages', async () => {
  for (const [path, isOwn] of [
    ['/api/v1/records/types?', false],
    ['/api/v1/records/custom?includeInactive=true&', true],
  ] as const) {
    const names: string[] = [];
    for (let page = 0, hasMore = true; hasMore; page++) {
      const { body } = await service.call<ListBody>('GET', `${path}pageSize=100&page=${page}`);
      names.push(...body.data.map(({ name }) => name));
      hasMore = body.hasMore;
    }
    expect(names).toEqual([...new Set(names)].sort());
    expect(names.filter((name) => name.startsWith('Many'))).toHaveLength(max - 2);
    expect(names.includes('Client')).toBe(!isOwn);
  }
});

test('listRecordTypes and upsertRecords › compile no definition of a tenant, however many types a call has', async () => {
  const list = () => service.call('GET', '/api/v1/records/types?pageSize=100');
  // It took 20 s for 530 types when each was compiled.
  expect(await compiledDuring(list)).toEqual([]);
  const records = Array.from({ length: 100 }, (_, index) => ({
    type: `Many${index + 1}`,
    systemRef: '1',
    attributes: { field1: '1', field2: '1.234' },
  }));
  const write = async () => {
    const pointers = (await upsert(records)).map(({ error }) => error?.pointer);
    expect(pointers).toEqual(records.map((_, index) => `/records/${index}/attributes/field2`));
  };
  expect(await compiledDuring(write)).toEqual([]);
});

test('createCustomRecordType, updateCustomRecordType and upsertRecords › compile and match patterns in threads with a budget', async () => {
  const other = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('other') });
  const own = recordsOf(other);
  const slow = slowPatterns.map((pattern, index) => ({ name: `field${index}`, type: 'TEXT', pattern }));
  let rejected: { readonly status: number; readonly body: unknown } | undefined;
  const rehearse = async () => {
    const body = { name: 'Slow', fields: slow };
    rejected = await other.call('POST', '/api/v1/records/custom', body, { 'Dry-Run': 'true' });
  };
  await expectInThreads(rehearse);
  expect(rejected).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });

  // Accepted, because one compiles at once. A text of 348 characters takes 3 ms to match, and a call can have 2,800 of them.
  const matched = Array.from({ length: 28 }, (_, index) => ({
    name: `field${index}`,
    type: 'TEXT',
    pattern: '^[ab]*a[ab]{280}$',
  }));
  expect((await own.define('Matched', matched)).status).toBe(201);
  let state = 1;
  const bit = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state < 1_073_741_824 ? 'a' : 'b';
  };
  const records = Array.from({ length: 100 }, (_, row) => ({
    type: 'Matched',
    systemRef: String(row),
    attributes: Object.fromEntries(matched.map(({ name }) => [name, Array.from({ length: 348 }, bit).join('')])),
  }));
  const write = async () => {
    rejected = await other.call('POST', '/api/v1/records', { records });
  };
  await expectInThreads(write);
  expect(rejected).toMatchObject({ status: 413 });
  const written = await other.call<{ summary: object }>('POST', '/api/v1/records', { records: records.slice(0, 1) });
  expect(written.body.summary).toMatchObject({ total: 1 });

  const updated = await own.change('Matched', { fields: slow });
  expect(updated.status).toBe(413);
  // The thread of the last call was ended; the next call gets a new one.
  expect((await own.change('Matched', { displayName: 'Matched' })).status).toBe(200);
  expect((await change('Wide', { active: true })).status).toBe(200);
});
