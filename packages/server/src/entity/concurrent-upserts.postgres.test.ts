import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';

const { call } = await testService();

/** Attributes of a new row of each type, with values that are unique in the tenant. */
const types: Readonly<Record<string, (name: string) => object>> = {
  Industry: (name) => ({ name }),
  ServiceLine: (name) => ({ name, code: name }),
  ClientGroup: (name) => ({ name }),
  ClientType: (name) => ({ name, code: name }),
  Department: (name) => ({ name, code: name }),
  ClientBusinessEntity: (name) => ({ name, code: name }),
  Contact: (name) => ({ lastName: name, pmsRef: name }),
  Client: (name) => ({ name, clientRef: name, pmsRef: name }),
};

interface Upserted {
  readonly records: readonly { readonly status: string; readonly error: { readonly detail: string } | null }[];
}

/** Upserts the rows by 20 callers, each in another order. @returns the statuses of each row, and the errors. */
async function upsertByMany(refs: readonly string[], typeOf: (index: number) => string) {
  const items = refs.map((systemRef, index) => {
    const type = typeOf(index);
    return { type, systemRef, attributes: types[type]?.(systemRef) };
  });
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, caller) => {
      const records = [...items.slice(caller % items.length), ...items.slice(0, caller % items.length)];
      return call<Upserted>('POST', '/api/v1/records', { records });
    }),
  );
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  const results = responses.flatMap(({ body }) => body.records);
  return {
    created: results.filter(({ status }) => status === 'CREATED').length,
    errors: results.flatMap(({ error }) => (error === null ? [] : [error])),
  };
}

test.each(Object.keys(types))('upsertRecords › of 20 calls with the same new %s, one creates it', async (type) => {
  for (let round = 0; round < 6; round += 1) {
    const ref = `${type}-${round}`;
    expect(await upsertByMany([ref], () => type)).toEqual({ created: 1, errors: [] });
  }
});

test('upsertRecords › of 20 calls with the same new rows of all types in different orders, one creates each', async () => {
  const names = Object.keys(types);
  const refs = Array.from({ length: names.length * 2 }, (_, index) => `mixed-${index}`);
  const written = await upsertByMany(refs, (index) => names[index % names.length] ?? '');
  expect(written).toEqual({ created: refs.length, errors: [] });
});
