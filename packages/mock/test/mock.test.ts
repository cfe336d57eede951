/** The mock returns exactly the examples of the contract, for every operation. */

import { operations as index } from '@financial-automation/spec';
import { type ExampleRequest, exampleRequest } from '@financial-automation/spec/example-requests';
import {
  type DeclaredResponse,
  type Operation,
  operationsOf,
  type Parameter,
  readContract,
} from '@financial-automation/spec/examples';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningMock, startMock } from '../src/server.ts';

const operations = operationsOf(await readContract());
/** The mock works alike for all operations with the same method, or kind of pages; with `MOCK=all`, all are tested. */
const firstOfEach = (kindOf: (operation: Operation) => unknown) =>
  [...Map.groupBy(operations, kindOf).values()].flatMap(([first]) => first ?? []);
const called =
  process.env.MOCK === 'all'
    ? operations
    : [...new Set([...firstOfEach(({ method }) => method), ...firstOfEach(({ id }) => index[id].paging)])];
const token = 'any-token';
/** A part of a row is no example. */
const everything = { optional: ({ name }: Parameter) => !['fields', 'with'].includes(name), token };

let mock: RunningMock;
beforeAll(async () => {
  mock = await startMock({ port: 0 });
});
afterAll(() => mock.close());

it('explains what to do if the port is in use', async () => {
  const port = Number(new URL(mock.url).port);
  await expect(startMock({ port })).rejects.toThrow(
    `Port ${port} is in use. Stop the program that uses it, or set PORT to another port.`,
  );
});

describe.each(called)('$id', (operation) => {
  const examples = operation.body?.examples ?? [undefined];

  it('returns success for each named request, with all parameters and with only the required ones', async () => {
    const [success] = operation.responses;
    for (const example of examples) {
      const named = example === undefined ? {} : { example: example.name };
      for (const choice of [everything, { token }]) {
        const request = exampleRequest(operation, { ...choice, ...named });
        const response = await send(request);
        expect(response, `request ${example?.name ?? 'without a body'}`).toEqual({
          status: success?.status,
          mediaType: typeOf(success),
          body: paged(success?.examples[0]?.value, Object(request.body).pageSize),
        });
      }
    }
  });

  it('returns every declared status by its code, and every example by its name, also if only JSON is accepted', async () => {
    for (const response of operation.responses) {
      const { status, examples: named } = response;
      for (const [index, { name, value }] of named.entries()) {
        const preferences = [`code=${status}, example=${name}`, ...(index === 0 ? [`code=${status}`] : [])];
        for (const Prefer of preferences) {
          const received = await send(exampleRequest(operation, everything), { Prefer, Accept: 'application/json' });
          const body = status === 200 ? paged(value) : value;
          expect(received, Prefer).toEqual({ status, mediaType: typeOf(response), body });
        }
      }
    }
  });
});

/** JSON is sent with its encoding, as by the service. */
function typeOf({ mediaType = '' }: Partial<DeclaredResponse> = {}): string {
  return mediaType === '' ? '' : `${mediaType}; charset=utf-8`;
}

/** What is expected of an example: pages have the requested size and end. */
function paged(example: unknown, pageSize?: number): unknown {
  const { data }: { data?: unknown } = Object(example);
  if (!Array.isArray(data)) return example;
  return expect.objectContaining({ data: expect.toBeOneOf([[], data.slice(0, pageSize)]) });
}

/** The service itself is compared with the mock in `packages/server/src/wire/bad-requests.test.ts`. */
describe('the mock', () => {
  const search = found(operations.find(({ id }) => id === 'searchClients'));
  const read = found(operations.find(({ id }) => id === 'getClient'));

  it('accepts any item of a bulk request, because the service judges each one by itself', async () => {
    const upsert = found(operations.find(({ id }) => id === 'upsertRecords'));
    const request = exampleRequest(upsert, { token });
    const statusOf = async (record: object) => (await send({ ...request, body: { records: [record] } })).status;
    expect(await statusOf({ type: 'Client', attributes: { nmae: 7 } })).toBe(200);
    expect(await statusOf({ type: 'Client', attributes: {}, nmae: 7 })).toBe(200);
  });

  it.each([
    ['/nowhere', 404, 'NOT_FOUND'],
    ['//gql/v1/client_types', 404, 'NOT_FOUND'],
    ['/gql/v1/client/%ff', 404, 'NOT_FOUND'],
    ['/gql/v1/client/x', 400, 'VALIDATION_ERROR'],
  ])('returns the problem of the service for %s', async (path, status, code) => {
    const response = await send({ method: 'GET', path, headers: { Authorization: 'Bearer x', Tenant: 'hartwell' } });
    expect(response).toMatchObject({ status, mediaType: 'application/problem+json; charset=utf-8', body: { code } });
  });

  it('rejects a body with 3,000 levels', async () => {
    const { path, headers } = exampleRequest(search, { token });
    const body = `${'{"_and":['.repeat(1_500)}${']}'.repeat(1_500)}`;
    const response = await fetch(mock.url + path, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'MALFORMED_REQUEST', errors: [{ code: 'DEPTH' }] });
  });

  it('returns the requested row, also one that only another operation has as an example', async () => {
    const list = exampleRequest(search, { token });
    const { body } = await send({ ...list, body: {} });
    const ids = Array.from(Object(body).data, (row) => String(Object(row).id));
    expect(ids.length).toBeGreaterThan(1);
    for (const id of ids) {
      const request = exampleRequest(read, { token });
      const response = await send({ ...request, path: read.path.replace('{id}', id) });
      expect(response).toMatchObject({ status: 200, body: { id } });
    }
  });

  it('returns the requested page of the requested size, with its total', async () => {
    const { path, headers } = exampleRequest(found(operations.find(({ id }) => id === 'listFiles')), { token });
    const query = 'page=1&pageSize=1&includeTotal=true';
    const { body } = await send({ method: 'GET', path: `${path}?${query}`, headers });
    expect(body).toMatchObject({ page: 1, pageSize: 1, hasMore: false, total: 2, data: [expect.anything()] });
  });

  it('returns the chosen fields, with the names of related rows that an example shows', async () => {
    const list = exampleRequest(search, { token });
    const body = { fields: ['status'], with: ['partner', 'office'] };
    const { body: page } = await send({ ...list, body });
    const rows: Record<string, unknown>[] = Object(page).data;
    expect(rows.map((row) => Object.keys(row).sort())).toEqual(rows.map(() => ['id', 'status', 'with']));
    const related = rows.map((row) => Object(row.with));
    expect(related.map(({ partner }) => partner)).toContainEqual({
      id: expect.any(String),
      systemRef: expect.any(String),
      name: expect.any(String),
    });
    const { path, headers } = exampleRequest(read, { token });
    const one = await send({ method: 'GET', path: `${path}?fields=status&fields=name`, headers });
    expect(Object.keys(Object(one.body)).sort()).toEqual(['id', 'name', 'status']);
  });

  it('finds an example by its name alone, also in errors', async () => {
    const { status, body } = await send(exampleRequest(read, { token }), { Prefer: 'example=not_found' });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('lists the available examples if the preferred one does not exist', async () => {
    for (const preference of ['code=418', 'example=unheard_of', 'code=404, example=harbor', 'code=abc']) {
      const { status, body } = await send(exampleRequest(read, { token }), { Prefer: preference });
      expect(status, preference).toBe(400);
      const errors = [{ in: 'header', pointer: '/Prefer', detail: expect.stringMatching(/404|not_found/) }];
      expect(body).toMatchObject({ code: 'VALIDATION_ERROR', errors });
    }
  });

  it('sends the headers that the contract declares', async () => {
    const { path, headers } = exampleRequest(read, { token });
    const response = await fetch(mock.url + path, { headers });
    expect(response.headers.get('etag')).toBe('"9f2c41d07be3a655-3"');
    const rejected = await fetch(mock.url + path, { headers: { ...headers, Prefer: 'code=429' } });
    expect(rejected.headers.get('retry-after')).toBe('12');
  });
});

async function send({ method, path, headers, body }: ExampleRequest, more: Record<string, string> = {}) {
  const response = await fetch(mock.url + path, {
    method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    mediaType: response.headers.get('content-type') ?? '',
    // A 304 has no body.
    body: text === '' ? undefined : JSON.parse(text),
  };
}

function found(operation: Operation | undefined): Operation {
  if (operation === undefined) throw new Error('The contract has lost an operation that these tests need.');
  return operation;
}

it('the mock serves the contract at /openapi.json', async () => {
  const response = await fetch(`${mock.url}/openapi.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  // With its own address, which generators and tools call.
  const contract = JSON.stringify(await readContract()).replaceAll('http://127.0.0.1:3000', mock.url);
  expect(await response.json()).toEqual(JSON.parse(contract));
});
