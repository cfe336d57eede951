import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { sharedService } from '../../test/service.ts';

const { call, handle } = await sharedService();
const path = '/gql/v1/clients/search';
const search = (where: unknown) => call<{ code?: string; data?: { name: string }[] }>('POST', path, { where });
const tooComplex = { status: 400, body: { code: 'SEARCH_TOO_COMPLEX' } };
const name = { name: { _eq: 'x' } };

/** Nests the clause this many levels deep, in all three ways to nest. */
function nested(levels: number, inner: object): object {
  return Array.from({ length: levels }).reduce<object>((where, _none, index) => {
    if (index % 3 === 0) return { _not: where };
    return index % 3 === 1 ? { _and: [where] } : { _or: [where, name] };
  }, inner);
}

describe('a where clause', () => {
  test('can be eight levels deep and no deeper', async () => {
    expect(await search(nested(7, name))).toMatchObject({ status: 200 });
    expect(await search(nested(8, name))).toMatchObject(tooComplex);
    expect(await search(nested(7, { jobs: name }))).toMatchObject(tooComplex);
    expect(await search(nested(40, name))).toMatchObject(tooComplex);
  });

  test('can have 64 conditions and no more, at any level', async () => {
    const list = (length: number) => Array.from({ length }, () => name);
    expect(await search({ _or: list(64) })).toMatchObject({ status: 200 });
    expect(await search({ _or: list(63), _not: { name: { _eq: 'x', _neq: 'y' } } })).toMatchObject(tooComplex);
    expect(await search({ _and: list(2_000) })).toMatchObject({ status: 400 });
    expect(await search({ _and: Array.from({ length: 64 }, () => ({ _or: list(64) })) })).toMatchObject(tooComplex);
  });

  test('can cost 100 and no more: ten relations, or 20 patterns that start with a wildcard', async () => {
    const list = (length: number, part: object) => Array.from({ length }, () => part);
    expect(await search({ _and: list(10, { jobs: {} }) })).toMatchObject({ status: 200 });
    expect(await search({ _or: list(10, { jobs: {} }), name: { _eq: 'x' } })).toMatchObject(tooComplex);
    expect(await search({ _and: list(20, { name: { _ilike: '%x%' } }) })).toMatchObject({ status: 200 });
    expect(await search({ _and: list(20, { name: { _ilike: '%x%' } }), email: { _eq: 'x' } })).toMatchObject(
      tooComplex,
    );
  });

  test('cannot consist of thousands of empty parts', async () => {
    const empty = Array.from({ length: 64 }, () => ({}));
    const wide = Array.from({ length: 64 }, () => ({ _or: empty, _and: empty }));
    expect(await search({ _and: wide })).toMatchObject(tooComplex);
    expect(await search({ _or: empty, _and: empty, _not: {} })).toMatchObject({ status: 200 });
  });

  test('can list a thousand values and no more', async () => {
    const values = (length: number) => Array.from({ length }, (_, index) => `v${index}`);
    expect(await search({ name: { _in: values(1_000) } })).toMatchObject({ status: 200 });
    expect(await search({ name: { _nin: values(1_001) } })).toMatchObject({ status: 400 });
    expect(await search({ name: { _in: values(10_000) } })).toMatchObject({ status: 400 });
  });
});

test('an empty list matches nothing, and an empty clause everything', async () => {
  await handle('onboardClient', { body: { name: 'Meaning', address: {} } });
  const count = async (where: object) =>
    (await search({ _and: [{ name: { _eq: 'Meaning' } }, where] })).body.data?.length;
  for (const where of [
    {},
    { _and: [] },
    { name: { _nin: [] } },
    { _not: { _or: [] } },
    { legalName: { _is_null: true } },
  ]) {
    expect({ where, count: await count(where) }).toEqual({ where, count: 1 });
  }
  for (const where of [{ _or: [] }, { _not: {} }, { name: { _in: [] } }, { legalName: { _nin: [] } }, { jobs: {} }]) {
    expect({ where, count: await count(where) }).toEqual({ where, count: 0 });
  }
});

test.each([
  { name: null },
  { name: 'x' },
  { name: {} },
  { name: { _eq: null } },
  { name: { _eq: 1 } },
  { name: { _in: 'x' } },
  { name: { _in: [null] } },
  { name: { _is_null: 'true' } },
  { name: { _regex: '.*' } },
  { name: { _like: 'x'.repeat(501) } },
  { taxId: { _eq: '98-7654321' } },
  { tax_id_encrypted: { _is_null: false } },
  { 'name"; drop table client; --': { _eq: 'x' } },
  { status: { _eq: 'GONE' } },
  { status: { _like: 'A%' } },
  { clientTypeId: { _eq: 'x' } },
  { clientTypeId: { _eq: '0199A1C2-0C01-7C01-8A4F-5D2E9B60F101' } },
  { fiscalYearEndMonth: { _gt: 2_147_483_648 } },
  { fiscalYearEndMonth: { _gt: 1.5 } },
  { outstandingBalance: { _gt: 1 } },
  { outstandingBalance: { _gt: '1e5' } },
  { outstandingBalance: { _gt: 'NaN' } },
  { onboardedAt: { _gt: '2026-02-30T00:00:00Z' } },
  { onboardedAt: { _gt: '0000-01-01T00:00:00Z' } },
  { onboardedAt: { _gt: '2026-01-01T00:00:00+15:00' } },
  { onboardedAt: { _gt: '2026-01-01' } },
  { onboardedAt: { _gt: '2016-12-31T23:59:60Z' } },
  { jobs: { startDate: { _gt: '2026-02-29' } } },
  { jobs: { startDate: { _gt: '0000-01-01' } } },
  { jobs: { client: { name: { _eq: 'x' } } } },
  { _or: {} },
  { _not: [] },
  [],
  'x',
  null,
])('a clause cannot contain %j', async (where) => {
  expect(await search(where)).toMatchObject({ status: 400 });
});

test.each(['\\', 'x\\', '%\\\\\\'])('a pattern cannot end in a backslash that escapes nothing: %s', async (pattern) => {
  for (const operator of ['_like', '_nlike', '_ilike', '_nilike']) {
    const response = await search({ name: { [operator]: pattern } });
    expect(response.body).toMatchObject({
      status: 400,
      errors: [{ pointer: `/where/name/${operator}`, code: 'PATTERN' }],
    });
  }
  expect(await search({ name: { _like: 'x\\\\' } })).toMatchObject({ status: 200 });
});

test('any text is only data: equal to itself, and never part of the statement', async () => {
  const pieces = [
    "'",
    '"',
    '\\',
    ';',
    '--',
    '/*',
    '$1',
    '$$',
    '%',
    '_',
    '{',
    '}',
    ',',
    ' or 1=1',
    '::int',
    '\u202e',
    'é',
    '😀',
    '\t',
    '\n',
  ];
  const hostile = fc
    .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join('').slice(0, 150));
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      const written = await call<{ clientId: string }>('POST', '/api/v1/clients/v1/onboard', {
        name: text,
        address: {},
      });
      const valid = text.isWellFormed() && !text.includes('\0') && /\S/.test(text);
      expect(written.status).toBe(valid ? 201 : 400);
      if (!valid) return;
      const name = text.normalize('NFC');
      for (const condition of [
        { _eq: text },
        { _in: [text] },
        { _like: text.replaceAll(/[\\%_]/g, '\\$&') },
        { _ilike: text.replaceAll(/[\\%_]/g, '\\$&') },
      ]) {
        const found = await call<{ data: { id: string; name: string }[] }>('POST', path, {
          where: { name: condition },
          pageSize: 1000,
        });
        expect(found.body.data).toContainEqual(expect.objectContaining({ id: written.body.clientId, name }));
        if ('_eq' in condition) expect(found.body.data.every((row) => row.name === name)).toBe(true);
      }
    }),
    { numRuns: isNightly ? 40 : 5 },
  );
});
