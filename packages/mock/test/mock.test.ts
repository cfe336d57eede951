/** The mock returns exactly the examples of the contract, for every operation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operation, operationsOf, readContract } from '../src/contract.ts';
import { type ExampleRequest, exampleRequest } from '../src/requests.ts';
import { type RunningMock, startMock } from '../src/server.ts';

const operations = operationsOf(await readContract());
/** The mock works alike for all operations; all of them are tested with `MOCK=all`. */
const called = operations.filter((_, index) => process.env.MOCK === 'all' || index % 3 === 0);
const token = 'any-token';
const everything = { optional: () => true, token };

let mock: RunningMock;
beforeAll(async () => {
  mock = await startMock({ port: 0 });
});
afterAll(() => mock.close());

describe.each(called)('$id', (operation) => {
  const examples = operation.body?.examples ?? [undefined];

  it('returns success for each named request, with all parameters and with only the required ones', async () => {
    const [success] = operation.responses;
    for (const example of examples) {
      const named = example === undefined ? {} : { example: example.name };
      for (const choice of [everything, { token }]) {
        const response = await send(exampleRequest(operation, { ...choice, ...named }));
        expect(response, `request ${example?.name ?? 'without a body'}`).toEqual({
          status: success?.status,
          mediaType: success?.mediaType,
          body: success?.examples[0]?.value,
        });
      }
    }
  });

  it('returns every declared status by its code', async () => {
    for (const { status, mediaType, examples } of operation.responses) {
      const response = await send(exampleRequest(operation, everything), { Prefer: `code=${status}` });
      expect(response, `code ${status}`).toEqual({ status, mediaType, body: examples[0]?.value });
    }
  });

  it('returns every named example by its code and name, also if only JSON is accepted', async () => {
    for (const { status, mediaType, examples } of operation.responses) {
      for (const { name, value } of examples) {
        const headers = { Prefer: `code=${status}, example=${name}`, Accept: 'application/json' };
        const response = await send(exampleRequest(operation, everything), headers);
        expect(response, `example ${name}`).toEqual({ status, mediaType, body: value });
      }
    }
  });

  it('rejects an unknown parameter', async () => {
    const request = exampleRequest(operation, { token });
    const response = await send({
      ...request,
      path: `${request.path}${request.path.includes('?') ? '&' : '?'}unheard_of=1`,
    });
    expect(response.status).toBe(400);
  });

  if (operation.secured) {
    it('rejects a request without a token', async () => {
      const { status } = await send(exampleRequest(operation));
      expect(status).toBe(401);
    });
  }

  for (const { name, in: place } of operation.parameters.filter(
    ({ required, in: place }) => required && place !== 'path',
  )) {
    it(`rejects a request without ${name}`, async () => {
      const parameters = operation.parameters.filter((parameter) => parameter.name !== name);
      const { status, body } = await send(exampleRequest({ ...operation, parameters }, { token }));
      expect(status).toBe(400);
      expect(firstErrorOf(body)).toMatchObject({ in: place, pointer: `/${name}`, code: 'REQUIRED' });
    });
  }

  if (operation.body !== null) {
    it('rejects a body with an unknown property, and one of another media type', async () => {
      const request = exampleRequest(operation, { token });
      const unknown = await send({ ...request, body: { ...Object(request.body), unheardOf: 1 } });
      expect(unknown.status).toBe(400);
      const other = await send({ ...request, headers: { ...request.headers, 'Content-Type': 'text/plain' } });
      expect(other.status).toBe(415);
    });
  }
});

describe('the mock', () => {
  const search = found(operations.find(({ id }) => id === 'searchClients'));
  const read = found(operations.find(({ id }) => id === 'getClient'));

  it('reports each error of a search, at any depth', async () => {
    const request = exampleRequest(search, { token });
    const { status, body } = await send({ ...request, body: { where: { _and: [{ _or: [{ name: { _eq: 4 } }] }] } } });
    expect(status).toBe(400);
    expect(firstErrorOf(body)).toEqual({
      in: 'body',
      pointer: '/where/_and/0/_or/0/name/_eq',
      code: 'TYPE',
      detail: 'The value must be string.',
    });
  });

  it('accepts any item of a bulk request, because the service judges each one by itself', async () => {
    const upsert = found(operations.find(({ id }) => id === 'upsertRecords'));
    const request = exampleRequest(upsert, { token });
    const statusOf = async (record: object) => (await send({ ...request, body: { records: [record] } })).status;
    expect(await statusOf({ type: 'Client', attributes: { nmae: 7 } })).toBe(200);
    expect(await statusOf({ type: 'Client', attributes: {}, nmae: 7 })).toBe(200);
  });

  it('rejects a malformed ID', async () => {
    const parameters = read.parameters.map((parameter) =>
      parameter.name === 'id' ? { ...parameter, example: 'C-01042' } : parameter,
    );
    const { status, body } = await send(exampleRequest({ ...read, parameters }, { token }));
    expect(status).toBe(400);
    expect(firstErrorOf(body)).toMatchObject({ in: 'path', pointer: '/id' });
  });

  it('rejects a body that is not JSON, and one that is too large', async () => {
    const { path, headers } = exampleRequest(search, { token });
    const broken = await fetch(mock.url + path, { method: 'POST', headers, body: '{"where":' });
    expect(broken.status).toBe(400);
    const large = await fetch(mock.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify({ cursor: 'x'.repeat(300_000) }),
    });
    expect(large.status).toBe(413);
  });

  it('returns 406 if the client does not accept JSON', async () => {
    expect(await send(exampleRequest(read, { token }), { Accept: 'text/html' })).toMatchObject({ status: 406 });
  });

  it('returns 404 for an unknown path and 405 for an unknown method', async () => {
    expect((await fetch(`${mock.url}/nowhere`)).status).toBe(404);
    const response = await fetch(`${mock.url}/gql/v1/client_types`, { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, POST');
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
      expect(body).toMatchObject({ code: 'UNKNOWN_PREFERENCE', detail: expect.stringMatching(/404|not_found/) });
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

function firstErrorOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'errors' in body && Array.isArray(body.errors)
    ? body.errors[0]
    : undefined;
}

function found(operation: Operation | undefined): Operation {
  if (operation === undefined) throw new Error('The contract has lost an operation that these tests need.');
  return operation;
}

it.each(['/gql/v1/client/%ff', '/gql/v1/client/%', '/%e0%a4%a'])(
  'the mock rejects the path %s, which cannot be decoded',
  async (path) => {
    const response = await fetch(`${mock.url}${path}`, {
      headers: { Authorization: `Bearer ${token}`, Tenant: 'hartwell' },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
  },
);

it('the mock serves the contract at /openapi.json', async () => {
  const response = await fetch(`${mock.url}/openapi.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(await readContract());
});
