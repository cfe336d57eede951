import { Writable } from 'node:stream';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { allOperations, type Operation } from './contract.ts';
import { createContractValidator } from './validator.ts';

const lines: { level: number; msg?: string; operation?: string }[] = [];
const logLines = new Writable({
  write(chunk, _encoding, done) {
    lines.push(JSON.parse(chunk));
    done();
  },
});

const real = await createContractValidator();

/** Number of next responses that the validator reports as invalid. */
let foundWrong = 0;
let searches = 0;
let share = 1;
const { call, address, service } = await testService({
  log: pino({ level: 'error' }, logLines),
  replace: ({ validator, config }) => ({
    validator: { request: validator.request, response: validateResponse },
    config: {
      ...config,
      get responseValidation() {
        return share;
      },
    },
  }),
});

function validateResponse(operation: Operation, status: number, type: string, body: unknown) {
  searches += 1;
  if (foundWrong-- > 0) return [{ path: '/response/data', keyword: 'type', message: 'must be array' }];
  return real.response(operation, status, type, body);
}

const search = allOperations.find((operation) => operation.id === 'searchClients') as Operation;
const get = allOperations.find((operation) => operation.id === 'getClient') as Operation;

test('the schemas of an operation are compiled once, by its first request and response', async () => {
  const compile = vi.fn((ajv: Ajv2020, schema: object) => ajv.compile(schema));
  const validator = await createContractValidator(compile);
  const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, body: {} };
  for (let time = 0; time < 3; time++) {
    validator.request(search, parts);
    validator.response(search, 200, 'application/json', {});
  }
  // Parameters, body and response.
  expect(compile).toHaveBeenCalledTimes(3);
});

test('only the first error of a body with many values is reported', async () => {
  const upsert = allOperations.find(({ id }) => id === 'upsertContacts') as Operation;
  const parts = { path: {}, query: {}, headers: { tenant: 'firm' } };
  const contacts = Array.from({ length: 100_000 }, () => []);
  expect(real.request(upsert, { ...parts, body: { contacts } }).findings).toHaveLength(1);
  const ids = { where: { id: { _in: Array.from({ length: 300 }, () => 'x') } } };
  expect(real.request(search, { ...parts, body: ids }).findings).toHaveLength(1);
});

test('all errors of a request are reported', async () => {
  const parts = { path: { id: 'x' }, query: { a: '1' }, headers: {}, body: undefined };
  const unknown = real.request(get, parts);
  expect(unknown.findings.map((finding) => finding.path)).toEqual(['/query/a', '/headers/tenant', '/params/id']);
  expect(unknown.findings[0]?.message).toMatch(/^Unknown query parameter 'a'\. The operation has: (\w+, )*\w+\.$/);
  const several = real.request(search, {
    path: {},
    query: {},
    headers: {},
    body: { page: -1, pageSize: 'x', z: 1 },
  });
  expect(several.findings.map((finding) => finding.path)).toEqual(
    expect.arrayContaining(['/headers/tenant', '/body/page', '/body/pageSize', '/body/z']),
  );
});

test('the validator reports an undeclared status and a body of another shape', async () => {
  const json = 'application/json';
  expect(real.response(search, 418, json, {})).not.toEqual([]);
  expect(real.response(search, 200, json, { data: 'x' })).not.toEqual([]);
  expect(
    real.response(search, 200, json, { data: [], page: 0, pageSize: 1, hasMore: false, nextCursor: null }),
  ).toEqual([]);
});

test('a row of a union is validated against the schema of its type only', async () => {
  const lookup = allOperations.find(({ id }) => id === 'lookupRecords') as Operation;
  const base = {
    id: '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101',
    systemRef: 'naics-336612',
    sysRefs: [],
    metadata: {},
    active: true,
    createdAt: '2026-10-01T00:00:00.000Z',
    updatedAt: '2026-10-01T00:00:00.000Z',
    version: 1,
  };
  const industry = { ...base, type: 'Industry', attributes: { name: 'Boat building', code: null, parentId: null } };
  const opportunity = { ...base, type: 'Opportunity', attributes: { stage: 'WON' } };
  const pathsOf = (...data: object[]) => {
    const page = { data, page: 0, pageSize: 50, hasMore: false, nextCursor: null };
    const findings = real.response(lookup, 200, 'application/json', page);
    return findings.map(({ path, keyword }) => `${path} ${keyword}`);
  };
  expect(pathsOf(industry, opportunity)).toEqual([]);
  const wrong = { ...industry, attributes: { name: 7, code: null, parentId: null, stage: 'WON' } };
  expect(pathsOf(opportunity, wrong).sort()).toEqual([
    '/response/data/1/attributes/name type',
    '/response/data/1/attributes/stage additionalProperties',
  ]);
  // The contract does not describe the attributes of a custom type.
  expect(pathsOf({ ...opportunity, type: 'opportunity' })).toEqual(['/response/data/0/type pattern']);
});

test('an item of a bulk request is not validated with the request, because it must fail alone', async () => {
  const upsert = allOperations.find(({ id }) => id === 'upsertRecords') as Operation;
  const findings = (...records: object[]) => {
    const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, body: { records } };
    return real.request(upsert, parts).findings.map(({ path }) => path);
  };
  expect(findings({ type: 'Client', attributes: { nmae: 7 } }, { type: 'Nonsense', attributes: {} })).toEqual([]);
  expect(findings({ type: 'Client', attributes: 7 }, { type: 'Client', attributes: {}, name: 'x' }, [])).toEqual([]);
  expect(findings()).toEqual(['/body/records']);
});

test('a response that violates the contract is not sent: it is counted and logged', async () => {
  const counted = async () => {
    const { values } = await service.metrics.invalidResponses.get();
    const withheld = { operation: 'searchClients', outcome: 'withheld' };
    return values.find(({ labels }) => JSON.stringify(labels) === JSON.stringify(withheld))?.value;
  };
  const before = await counted();
  foundWrong = 1;
  const { status, body } = await call('POST', '/gql/v1/clients/search', {});
  expect({ status, body }).toMatchObject({
    status: 500,
    body: { code: 'INTERNAL_ERROR', requestId: expect.any(String) },
  });
  expect(await counted()).toBe(Number(before) + 1);
  expect(lines.at(-1)).toMatchObject({
    level: 50,
    operation: 'searchClients',
    msg: 'Response violates the contract; not sent.',
  });
});

test('with a share of 0, responses are not validated, but problems are', async () => {
  share = 0;
  foundWrong = 1;
  searches = 0;
  expect(await call('POST', '/gql/v1/clients/search', {})).toMatchObject({ status: 200 });
  expect(searches).toBe(0);
  expect(await call('POST', '/gql/v1/clients/search', { x: 1 })).toMatchObject({ status: 500 });
  expect(searches).toBe(1);
  share = 1;
  foundWrong = 0;
});

test('validates the configured share of responses', async () => {
  share = 0.25;
  searches = 0;
  const random = vi.spyOn(Math, 'random').mockReturnValueOnce(0.1).mockReturnValueOnce(0.3).mockReturnValueOnce(0.249);
  for (let index = 0; index < 3; index++) await call('POST', '/gql/v1/clients/search', {});
  random.mockRestore();
  expect(searches).toBe(2);
  share = 1;
});

test('health, metrics and the contract itself are served outside of the contract', async () => {
  const release = expect.stringMatching(/^v\d+\.\d+\.\d+(\+unreleased)?$/);
  expect(await wire(address, { path: '/healthz' })).toMatchObject({ status: 200, json: { status: 'up', release } });
  expect(await wire(address, { path: '/readyz' })).toMatchObject({ status: 200, json: { status: 'ready' } });
  const metrics = await wire(address, { path: '/metrics' });
  expect(metrics.text).toMatch(/^service_release_info\{release="v[^"]+"\} 1$/m);
  expect(metrics.text).toContain('http_server_request_duration_seconds_count{operation="searchClients",status="200"}');
  expect(metrics.text).toContain('contract_violations_total{operation="searchClients",outcome="withheld"}');
  const contract = await wire(address, { path: '/openapi.json' });
  expect(contract.json).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
  expect((await wire(address, { path: '/openapi.yaml' })).text).toMatch(/^openapi: /m);
});
