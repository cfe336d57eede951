import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient, customType, isProblem, orThrow, ProblemError } from '../src/index.ts';
import { problem, Service } from './service.ts';

const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
let service: Service;

beforeEach(async () => {
  service = await new Service().start();
});
afterEach(() => service.stop());

describe('a request', () => {
  it('uses the method and path of its operation, with path and query parameters in the URL', async () => {
    const api = service.client();
    await api.getFile({ path: { id }, query: { includeDownloadUrl: true } });
    expect(service.received[0]).toMatchObject({
      method: 'GET',
      path: `/api/v1/files/${id}`,
      query: { includeDownloadUrl: 'true' },
    });

    await api.lookupRecords({ path: { type: 'Work/Code' }, body: { pageSize: 10 } });
    expect(service.received[1]).toMatchObject({ path: '/api/v1/records/batch/Work%2FCode', body: { pageSize: 10 } });
  });

  it('distinguishes the methods of one path', async () => {
    const api = service.client();
    await api.getCustomRecordType({ path: { name: 'Opportunity' } });
    await api.updateCustomRecordType({ path: { name: 'Opportunity' }, body: { active: true } });
    await api.deactivateCustomRecordType({ path: { name: 'Opportunity' } });
    expect(service.received.map(({ method }) => method)).toEqual(['GET', 'PUT', 'DELETE']);
  });

  it.each(['', '.', '..', undefined, null])('rejects %j as a value in the path before it is sent', async (value) => {
    const read = service.client().getClient({ path: { id: value as string } });
    await expect(read).rejects.toThrow(new TypeError(`path.id cannot be ${JSON.stringify(value)}.`));
    expect(service.received).toEqual([]);
  });

  it('has an empty body if a list, search or lookup is called without one', async () => {
    const api = service.client();
    await api.listClients();
    await api.searchInvoices({});
    await api.lookupRecords({ path: { type: 'Client' } });
    await api.getClientTypes();
    expect(service.received.map(({ body }) => body)).toEqual([{}, {}, {}, undefined]);
  });

  it('sends the body of a DELETE', async () => {
    const body = { records: [{ type: customType('Opportunity'), systemRef: 'CRM-1' }] };
    await service.client().deleteRecords({ body });
    expect(service.received[0]).toMatchObject({ method: 'DELETE', path: '/api/v1/records', body });
  });

  it('sends a text as lines of JSON', async () => {
    const body = '{"type":"Client"}\n{"type":"Contact"}';
    await service.client().createRecordBatch({ body });
    expect(service.received[0]).toMatchObject({ headers: { 'content-type': 'application/x-ndjson' }, body });
  });

  it('sends the headers of the operation, the application and the trace', async () => {
    const trace = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
    const api = service.client({ clientId: 'hartwell-crm', traceparent: () => trace('a') });
    await api.updateStaff({
      path: { staffId: id },
      headers: { 'If-Match': '"3"' },
      body: { title: 'Partner' },
    });
    await api.getClient({ path: { id }, headers: { traceparent: trace('b') } });
    expect(service.received[0]?.headers).toMatchObject({
      'if-match': '"3"',
      'x-client-id': 'hartwell-crm',
      traceparent: trace('a'),
      'content-type': 'application/json',
    });
    expect(service.received[1]?.headers.traceparent).toBe(trace('b'));
  });

  describe.each(['call', 'rows', 'pages'] as const)('by %s with an undefined value in where', (way) => {
    /** Simulates a program without `exactOptionalPropertyTypes`. */
    const search = async (body: object) => {
      const api = service.client();
      const input = { body } as { body: Record<never, never> };
      if (way === 'call') return api.searchContacts(input);
      for await (const found of api.searchContacts[way](input)) return found;
      return undefined;
    };

    it.each([
      ['body.where', { where: undefined }],
      ['body.where.email', { where: { email: undefined } }],
      ['body.where.email._eq', { where: { email: { _eq: undefined } } }],
      ['body.where._not', { where: { email: { _eq: 'x' }, _not: undefined } }],
      [
        'body.where._or[1].contactClients.clientRef',
        { where: { _or: [{}, { contactClients: { clientRef: undefined } }] } },
      ],
      ['body.where.email._in[0]', { where: { email: { _in: [undefined] } } }],
    ])('is rejected before it is sent, with its path: %s', async (path, body) => {
      const error = await search(body).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^(\S+) is undefined, which would match every row/),
      });
      expect(String((error as Error).message).split(' ')[0]).toBe(path);
      expect(service.received).toEqual([]);
      expect(service.exchanges).toEqual([]);
    });

    it('and is accepted elsewhere', async () => {
      service.respond = () => ({ body: { data: [], page: 0, pageSize: 50, hasMore: false, nextCursor: null } });
      await search({ where: { email: { _is_null: false }, _or: [], _and: [{}] }, orderBy: undefined });
      expect(service.received.map(({ body }) => body)).toEqual([
        { where: { email: { _is_null: false }, _or: [], _and: [{}] } },
      ]);
    });
  });

  it('selects the response of the mock, and is not retried', async () => {
    service.respond = () => problem(429, 'RATE_LIMITED', { 'Retry-After': '12' });
    const api = service.client();
    const response = await api.getClient({ path: { id }, prefer: { code: 429, example: 'rate_limited' } });
    expect(response.status).toBe(429);
    expect(service.received.map(({ headers }) => headers.prefer)).toEqual(['code=429, example=rate_limited']);
    service.respond = () => problem(401, 'UNAUTHENTICATED');
    await api.getClient({ path: { id }, prefer: { code: 401 } });
    expect(service.received).toHaveLength(2);
    expect(service.received[1]?.headers.prefer).toBe('code=401');
  });

  it('can be sent by a fetch of your own', async () => {
    const seen: string[] = [];
    const api = createClient({
      baseUrl: `${service.baseUrl}/`,
      tenant: 'hartwell',
      apiKey: 'key',
      fetch: (request) => {
        seen.push(`${request.method} ${new URL(request.url).pathname}`);
        return fetch(request);
      },
    });
    await api.getClient({ path: { id } });
    expect(seen).toEqual(['POST /v1/auth/token', `GET /gql/v1/client/${id}`]);
  });
});

describe('a response', () => {
  it('has a status, a body and headers, with decimal numbers as strings', async () => {
    service.respond = () => ({ headers: { ETag: '"3"' }, body: { id, outstandingBalance: '9007199254740993.10' } });
    const response = await service.client().getClient({ path: { id } });
    if (!response.ok) throw new Error('It is.');
    expect(response.status).toBe(200);
    expect(response.body.outstandingBalance).toBe('9007199254740993.10');
    expect(response.headers.get('ETag')).toBe('"3"');
  });

  it('has no body with 304, which If-None-Match requests', async () => {
    service.respond = () => ({ status: 304, headers: { ETag: '"a-3"' }, text: '' });
    const headers = { 'If-None-Match': '"a-3"' };
    const response = await service.client().getClient({ path: { id }, headers });
    expect(response).toMatchObject({ status: 304, ok: false, body: undefined });
    expect(response.headers.get('ETag')).toBe('"a-3"');
    expect(service.received.at(-1)?.headers).toMatchObject({ 'if-none-match': '"a-3"' });
  });

  it('with a problem is not an error until orThrow', async () => {
    service.respond = () => problem(404, 'NOT_FOUND');
    const api = service.client();
    const response = await api.getClient({ path: { id } });
    expect(response).toMatchObject({ status: 404, ok: false, body: { code: 'NOT_FOUND' } });

    const error = await orThrow(response).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      name: 'ProblemError',
      message: 'NOT_FOUND: Told by the test. (request 0199a3c4-7d10-7b2e-9c41-6f0a8e5d2b17)',
      problem: { status: 404, code: 'NOT_FOUND' },
    });
    await expect(orThrow(api.getClient({ path: { id } }))).rejects.toBeInstanceOf(ProblemError);
  });

  it('with invalid values names the first ones in the message of its error', async () => {
    const errors = ['name', 'email', 'phone', 'site', 'notes', 'types'].map((name) => ({
      in: 'body',
      pointer: `/${name}`,
      code: 'REQUIRED',
      detail: `\`${name}\` is missing.`,
    }));
    service.respond = () => {
      const reply = Object(problem(400, 'VALIDATION_ERROR'));
      return { ...reply, body: { ...reply.body, errors } };
    };
    const error = await orThrow(service.client().listClients()).catch((thrown: unknown) => thrown);
    const lines = String(error).split('\n');
    expect(lines).toHaveLength(7);
    expect(lines[1]).toBe('  body /name: `name` is missing.');
    expect(lines[6]).toBe('  and 1 more');
  });

  it('that is ok returns its body', async () => {
    service.respond = () => ({ body: { id } });
    await expect(orThrow(service.client().getClient({ path: { id } }))).resolves.toEqual({ id });
  });
});

describe('isProblem', () => {
  it('recognizes problem documents and their codes', async () => {
    service.respond = () => problem(409, 'LOCKED');
    const { body } = await service.client().updateStaff({ path: { staffId: id }, body: { title: 'Partner' } });
    expect(isProblem(body)).toBe(true);
    expect(isProblem(body, 'LOCKED')).toBe(true);
    expect(isProblem(body, 'DUPLICATE_REF')).toBe(false);
  });

  it.each([null, undefined, 'no', 404, {}, { code: 'NOT_FOUND' }, { code: 'X', status: '404', requestId: 1 }])(
    'returns false for %j',
    (value) => {
      expect(isProblem(value)).toBe(false);
    },
  );
});
