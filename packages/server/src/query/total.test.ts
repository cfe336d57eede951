import { expect, test } from 'vitest';
import { insertContacts } from '../../test/party-rows.ts';
import { testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import { TimeBudgetExceeded } from '../platform/store/errors.ts';
import type { Session, Store } from '../platform/store/store.ts';

/** Replaces the statements of reads if a test sets it. */
let instead: ((statement: number) => Promise<never>) | undefined;
let counted = 0;

const { call, store, tenant } = await testService({
  replace: ({ store: real }) => ({ store: watched(real) }),
});
const seed = {
  firstName: null,
  email: null,
  portalEnabled: false,
  active: true,
  createdAt: '2026-01-01T00:00:00.000Z',
};
await insertContacts(
  store,
  tenant.id,
  ['a', 'b', 'c', 'd', 'e'].map((lastName) => ({ ...seed, lastName })),
);

function watched(real: Store): Store {
  return withReads(real, (tenantId, work) =>
    real.read(tenantId, (session) => {
      const step = () => {
        counted += 1;
        return instead?.(counted);
      };
      const watching: Session = {
        clockOffset: session.clockOffset,
        all: async (query) => (await step()) ?? session.all(query),
        first: async (query) => (await step()) ?? session.first(query),
      };
      return work(watching);
    }),
  );
}

const paths = ['/gql/v1/contacts/search', '/gql/v1/contacts'];

async function search(path: string, body: object) {
  counted = 0;
  const response = await call<Record<string, unknown>>('POST', path, { includeTotal: true, ...body });
  return { ...response, statements: counted };
}

test.each(paths)('%s only counts rows if the page does not determine their number', async (path) => {
  const exactly = (total: number) => ({ status: 200, body: { total, totalIsExact: true } });
  expect(await search(path, { pageSize: 2 })).toMatchObject({ ...exactly(5), statements: 2 });
  expect(await search(path, { pageSize: 5 })).toMatchObject({ ...exactly(5), statements: 1 });
  expect(await search(path, { pageSize: 2, page: 4 })).toMatchObject({ ...exactly(5), statements: 1 });
  expect(await search(path, { page: 7 })).toMatchObject({ ...exactly(5), statements: 2 });
  const { body } = await search(path, { pageSize: 4 });
  expect(await search(path, { pageSize: 4, cursor: body.nextCursor })).toMatchObject({ ...exactly(5), statements: 2 });
  expect((await search(path, { includeTotal: false })).body).not.toHaveProperty('total');
});

test.each(paths)('%s returns the page if there is no time left to count', async (path) => {
  instead = async (statement) => {
    if (statement === 2) throw new TimeBudgetExceeded(2_000);
    return undefined as never;
  };
  try {
    expect(await search(path, { pageSize: 2, page: 1 })).toMatchObject({
      status: 200,
      body: { data: [{ lastName: 'b' }, { lastName: 'c' }], hasMore: true, total: 4, totalIsExact: false },
    });
    expect(await search(path, { page: 7 })).toMatchObject({ status: 200, body: { total: 0, totalIsExact: false } });
  } finally {
    instead = undefined;
  }
});

test.each(paths)('%s returns a problem if there is no time left for the page', async (path) => {
  instead = async () => {
    throw new TimeBudgetExceeded(1_500);
  };
  try {
    const response = await search(path, {});
    expect(response).toMatchObject({
      status: 503,
      body: { code: 'READ_TIMEOUT', detail: expect.stringMatching(/longer than 1.5 seconds. Narrow/) },
    });
    expect(response.headers.get('retry-after')).toBe('30');
  } finally {
    instead = undefined;
  }
});

test('a search that costs too much is rejected before any statement runs', async () => {
  const where = { _or: Array.from({ length: 64 }, () => ({ contactClients: { clientRef: { _ilike: '%zz0%' } } })) };
  expect(await search('/gql/v1/contacts/search', { where })).toMatchObject({
    status: 400,
    body: { code: 'SEARCH_TOO_COMPLEX' },
    statements: 0,
  });
});
