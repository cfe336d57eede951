/** The recipe of the run book: the ID of a response leads to its cause, for the ten problems that callers have most. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type HttpResponse, testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import { debugToken, requestNamed } from '../operator/requests.ts';
import { DatabaseUnavailable, TimeBudgetExceeded } from '../platform/store/errors.ts';
import { newId } from '../platform/store/new-id.ts';

interface Line {
  readonly level: number;
  readonly msg?: string;
  readonly code?: string;
  readonly err?: { readonly message: string };
  readonly findings?: readonly object[];
  readonly requestId?: string;
}

const runBook = await readFile(new URL('../../docs/run-book.md', import.meta.url), 'utf8');
const rows = [...runBook.matchAll(/^\| `(\w+)` \| (problem|log) \| .+ \|$/gm)].map(([, code = '', place = '']) => ({
  code,
  place,
}));

const lines: Line[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const linesOf = (id: string) => lines.filter(({ requestId }) => requestId === id);
/** What the next read of a caller fails with. */
let failure: Error | undefined;
let invalid = 0;
const service = await testService({
  log,
  replace: ({ validator, store }) => ({
    validator: {
      request: validator.request,
      response: (...parts) =>
        invalid-- > 0
          ? [{ path: '/response/data', keyword: 'type', message: 'must be array' }]
          : validator.response(...parts),
    },
    store: withReads(store, (tenantId, work) => {
      const error = failure;
      failure = undefined;
      return error === undefined ? store.read(tenantId, work) : Promise.reject(error);
    }),
  }),
});
const { call } = service;
const limited = await testService({ log, config: { rateLimitFactor: 0.001 } });
const search = (body: object | string, headers = {}, caller: Pick<typeof service, 'call'> = service) =>
  caller.call<{ code: string }>('POST', '/gql/v1/clients/search', body, headers);

/** Each causes a problem. */
const causes: Readonly<Record<string, () => Promise<HttpResponse<unknown>>>> = {
  VALIDATION_ERROR: () => search({ where: { nme: { _eq: 'x' } } }),
  MALFORMED_REQUEST: () => search('{"where":'),
  UNAUTHENTICATED: () => search({}, { Authorization: 'Bearer wrong' }),
  FORBIDDEN: async () => search({}, {}, await service.signIn({ roles: ['REF_R'] })),
  NOT_FOUND: () => call('GET', `/gql/v1/client/${newId()}`),
  async IDEMPOTENCY_KEY_REUSED() {
    const headers = { 'Idempotency-Key': randomUUID() };
    const records = (name: string) => ({ records: [{ type: 'ClientGroup', systemRef: 'one', attributes: { name } }] });
    await call('POST', '/api/v1/records', records('one'), headers);
    return call('POST', '/api/v1/records', records('other'), headers);
  },
  async RATE_LIMITED() {
    for (;;) {
      const response = await search({}, {}, limited);
      if (response.status !== 200) return response;
    }
  },
  READ_TIMEOUT() {
    failure = new TimeBudgetExceeded(2_000);
    return search({});
  },
  SERVICE_UNAVAILABLE() {
    failure = new DatabaseUnavailable('The PostgreSQL server cannot be reached.');
    return search({});
  },
  INTERNAL_ERROR() {
    invalid = 1;
    return search({});
  },
};

test('the run book has a row for each of them', () => {
  expect(rows.map(({ code }) => code).sort()).toEqual(Object.keys(causes).sort());
});

test.each(rows)('$code is explained by the $place', async ({ code, place }) => {
  const response = await causes[code]?.();
  const id = response?.headers.get('x-request-id') ?? '';
  expect(response?.body).toMatchObject({ code });
  await expect.poll(() => linesOf(id)).toContainEqual(expect.objectContaining({ code }));
  const access = linesOf(id).find((line) => line.code !== undefined);
  expect(access).toMatchObject({
    operation: expect.any(String),
    route: expect.stringContaining('/'),
    address: '127.0.0.1',
    process: expect.stringMatching(/\/\d+$/),
  });
  const causeInLog = linesOf(id).find((line) => line.level > 30 && (line.err ?? line.findings) !== undefined);
  expect(causeInLog === undefined ? 'problem' : 'log').toBe(place);
  // Before the token is verified, nobody knows whose request it is.
  if (code === 'UNAUTHENTICATED') {
    await expect(requestNamed(service, { id })).rejects.toThrow('No request with this ID is kept.');
    return;
  }
  const { service: home } = code === 'RATE_LIMITED' ? limited : service;
  await home.recentRequests.write();
  expect(await requestNamed({ service: home }, { id })).toMatchObject({
    tenant: 'firm',
    user: expect.any(String),
    problem: { code },
  });
  expect(access).toMatchObject({ tenant: 'firm', user: expect.any(String) });
});

test('all steps of a request with the token of an operator are logged, and of no other', async () => {
  const { token } = await debugToken({ service: service.service }, { minutes: 1 });
  const stepsOf = async (header: string) => {
    const id = (await search({}, { 'X-Debug-Token': header })).headers.get('x-request-id') ?? '';
    await expect.poll(() => linesOf(id).length).toBeGreaterThan(0);
    return linesOf(id)
      .filter(({ level }) => level === 20)
      .map(({ msg }) => msg);
  };
  expect(await stepsOf(token)).toEqual(expect.arrayContaining(['Caller authenticated.', 'Operation handled.']));
  const past = await debugToken({ service: service.service }, { minutes: -1 });
  for (const other of ['x', '', token.replace(/^\d+/, '99999999999'), past.token])
    expect(await stepsOf(other)).toEqual([]);
});
