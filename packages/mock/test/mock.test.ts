/** The mock answers every operation of the contract with exactly its examples. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operation, operationsOf, readContract } from '../src/contract.ts';
import { type ExampleRequest, exampleRequest } from '../src/requests.ts';
import { type RunningMock, startMock } from '../src/server.ts';

const operations = operationsOf(await readContract());
const token = 'any-token';
const everything = { optional: () => true, token };

let mock: RunningMock;
beforeAll(async () => {
  mock = await startMock({ port: 0 });
});
afterAll(() => mock.close());

describe.each(operations)('$id', (operation) => {
  const examples = operation.body?.examples ?? [undefined];

  it('answers success to each named request, with all parameters and with the required ones alone', async () => {
    const [success] = operation.answers;
    for (const example of examples) {
      const named = example === undefined ? {} : { example: example.name };
      for (const choice of [everything, { token }]) {
        const answer = await send(exampleRequest(operation, { ...choice, ...named }));
        expect(answer, `request ${example?.name ?? 'without a body'}`).toEqual({
          status: success?.status,
          mediaType: success?.mediaType,
          body: success?.examples[0]?.value,
        });
      }
    }
  });

  it('answers every declared status by its code', async () => {
    for (const { status, mediaType, examples } of operation.answers) {
      const answer = await send(exampleRequest(operation, everything), { Prefer: `code=${status}` });
      expect(answer, `code ${status}`).toEqual({ status, mediaType, body: examples[0]?.value });
    }
  });

  it('answers every named example, by its code and name, also where nothing but JSON is accepted', async () => {
    for (const { status, mediaType, examples } of operation.answers) {
      for (const { name, value } of examples) {
        const headers = { Prefer: `code=${status}, example=${name}`, Accept: 'application/json' };
        const answer = await send(exampleRequest(operation, everything), headers);
        expect(answer, `example ${name}`).toEqual({ status, mediaType, body: value });
      }
    }
  });

  it('refuses a parameter that the contract does not know', async () => {
    const request = exampleRequest(operation, { token });
    const answer = await send({
      ...request,
      path: `${request.path}${request.path.includes('?') ? '&' : '?'}unheard_of=1`,
    });
    expect(answer.status).toBe(400);
  });

  if (operation.secured) {
    it('refuses a call without a token', async () => {
      const { status } = await send(exampleRequest(operation));
      expect(status).toBe(401);
    });
  }

  for (const { name, in: place } of operation.parameters.filter(
    ({ required, in: place }) => required && place !== 'path',
  )) {
    it(`refuses a call without ${name}`, async () => {
      const parameters = operation.parameters.filter((parameter) => parameter.name !== name);
      const { status, body } = await send(exampleRequest({ ...operation, parameters }, { token }));
      expect(status).toBe(400);
      expect(firstErrorOf(body)).toMatchObject({ in: place, pointer: `/${name}`, code: 'REQUIRED' });
    });
  }

  if (operation.body !== null) {
    it('refuses a body with a property that the contract does not know, and one of another media type', async () => {
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

  it('says what is wrong with a search, however deep', async () => {
    const request = exampleRequest(search, { token });
    const { status, body } = await send({ ...request, body: { where: { _and: [{ _or: [{ name: { _eq: 4 } }] }] } } });
    expect(status).toBe(400);
    expect(firstErrorOf(body)).toEqual({
      in: 'body',
      pointer: '/where/_and/0/_or/0/name/_eq',
      code: 'TYPE',
      detail: 'It must be string.',
    });
  });

  it('refuses an id that is none', async () => {
    const parameters = read.parameters.map((parameter) =>
      parameter.name === 'id' ? { ...parameter, example: 'C-01042' } : parameter,
    );
    const { status, body } = await send(exampleRequest({ ...read, parameters }, { token }));
    expect(status).toBe(400);
    expect(firstErrorOf(body)).toMatchObject({ in: 'path', pointer: '/id' });
  });

  it('refuses a body that is not JSON, and one that is too large', async () => {
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

  it('answers 406 to whoever accepts no JSON', async () => {
    expect(await send(exampleRequest(read, { token }), { Accept: 'text/html' })).toMatchObject({ status: 406 });
  });

  it('answers 404 to a path and 405 to a method that the contract does not have', async () => {
    expect((await fetch(`${mock.url}/nowhere`)).status).toBe(404);
    const answer = await fetch(`${mock.url}/gql/v1/client_types`, { method: 'DELETE' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, POST');
  });

  it('finds an example by its name alone, among errors too', async () => {
    const { status, body } = await send(exampleRequest(read, { token }), { Prefer: 'example=not_found' });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('says which examples there are where it is asked for another', async () => {
    for (const preference of ['code=418', 'example=unheard_of', 'code=404, example=harbor', 'code=abc']) {
      const { status, body } = await send(exampleRequest(read, { token }), { Prefer: preference });
      expect(status, preference).toBe(400);
      expect(body).toMatchObject({ code: 'UNKNOWN_PREFERENCE', detail: expect.stringMatching(/404|not_found/) });
    }
  });

  it('sends the headers that the contract declares', async () => {
    const { path, headers } = exampleRequest(read, { token });
    const answer = await fetch(mock.url + path, { headers });
    expect(answer.headers.get('etag')).toBe('"3"');
    const refused = await fetch(mock.url + path, { headers: { ...headers, Prefer: 'code=429' } });
    expect(refused.headers.get('retry-after')).toBe('12');
  });
});

async function send({ method, path, headers, body }: ExampleRequest, more: Record<string, string> = {}) {
  const answer = await fetch(mock.url + path, {
    method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, mediaType: answer.headers.get('content-type') ?? '', body: await answer.json() };
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
