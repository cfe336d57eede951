import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestExamplesOf } from '../../test/request-examples.ts';
import { sharedService } from '../../test/service.ts';
import { allOperations, type Operation } from './contract.ts';

/** How many requests are sent to each operation; twice as many with a body. */
const numRuns = Number(process.env.FUZZ_RUNS ?? 1);

const { call, handle } = await sharedService();
const client = (await handle('onboardClient', { body: { name: 'Harbor', address: {} } })).body;

/** Words with a special meaning in JavaScript, SQL, patterns or the contract, among words without one. */
const words = fc.constantFrom(
  ...[
    "'",
    '"',
    '\\',
    '%',
    '_',
    '--',
    ';',
    '$1',
    '::text',
    '\u0000',
    '\ud800',
    '\ufeff',
    'é',
    'ß',
    'İ',
    '𝒳',
    '__proto__',
  ],
  ...['constructor', 'null', 'NaN', '1e999', '-0', '9999999999999999999999', '0000-01-01', '2026-02-30', '23:59:60'],
  ...[
    '2026-01-01T00:00:00+14:59',
    '2026-12-31T23:59:60Z',
    '1900-02-29',
    'CLNT_R',
    'US',
    'USD',
    '+15035550100',
    'a@b.co',
  ],
  ...['https://x.example', client.clientId, client.clientRef, client.clientContactInfoId],
);
const text = fc.oneof(
  words,
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.array(words, { maxLength: 4 }).map((all) => all.join('')),
);
const number = fc.constantFrom(0, -0, 1, -1, 0.5, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e308, -1e308, 1000, 1001);
const anything = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, fc.constant(null), fc.boolean(), number, text, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
})).value;

/** Replaces, removes or adds one value at a random place. */
function mutated(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null) return fc.oneof(anything, text);
  const keys = Object.keys(value);
  if (keys.length === 0) return anything;
  return fc.constantFrom(...keys).chain((key) => {
    const inner = (value as Record<string, unknown>)[key];
    const put = (next: unknown) => (Array.isArray(value) ? value.with(Number(key), next) : { ...value, [key]: next });
    const without = Array.isArray(value)
      ? value.toSpliced(Number(key), 1)
      : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    return fc.oneof(
      { weight: 4, arbitrary: mutated(inner).map(put) },
      { weight: 1, arbitrary: fc.constant(without) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(text, anything)
          .map(([name, more]) => (Array.isArray(value) ? [...value, more] : { ...value, [name]: more })),
      },
    );
  });
}

function examplesOf(operation: Operation): unknown[] {
  return [...requestExamplesOf(operation).values()];
}

const id = fc.oneof(
  fc.constant(client.clientId),
  text.map(encode),
  fc.constant('0199a1c2-0c01-7c01-8a4f-5d2e9b60f101'),
);

function encode(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}

function requests(operation: Operation) {
  const path = fc.array(id, { minLength: 2, maxLength: 2 }).map((ids) => {
    const rest = [...ids];
    return operation.path.replaceAll(/\{[^}]+\}/g, () => rest.pop() ?? '');
  });
  const names = fc.oneof(fc.constantFrom('page', 'pageSize', 'cursor', 'includeTotal'), text);
  const query = fc.array(fc.tuple(names, fc.oneof(text, number.map(String))), {
    maxLength: operation.bodyLimit === null ? 3 : 1,
  });
  const examples = examplesOf(operation);
  const body =
    examples.length === 0
      ? anything
      : fc.oneof(
          { weight: 1, arbitrary: anything },
          { weight: 5, arbitrary: fc.constantFrom(...examples).chain(mutated) },
        );
  const headers = fc.dictionary(
    fc.constantFrom('Idempotency-Key', 'If-Match', 'traceparent', 'X-Client-Id'),
    fc.string({ maxLength: 9 }).map((value) => value.trim()),
    { maxKeys: 1 },
  );
  return fc.record({ path, query, body, headers });
}

test('there are operations to test', () => {
  expect(allOperations.length).toBeGreaterThan(20);
  expect(allOperations.flatMap(examplesOf).length).toBeGreaterThan(10);
});

describe.each(allOperations.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('returns a response that the contract declares for any input, and never a server error', async () => {
    await fc.assert(
      fc.asyncProperty(requests(operation), async ({ path, query, body, headers }) => {
        const search = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
        const content = operation.bodyLimit === null ? undefined : (JSON.stringify(body) ?? 'null');
        const response = await call(operation.method, search === '' ? path : `${path}?${search}`, content, headers);
        // Every response is validated, and one that violates the contract becomes a 500.
        expect(response.status).toBeLessThan(500);
        expect(response.status === 404 || operation.statuses.includes(response.status)).toBe(true);
      }),
      { numRuns: operation.bodyLimit === null || operation.method === 'GET' ? numRuns : 2 * numRuns },
    );
  });
});
