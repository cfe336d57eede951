import { readFile } from 'node:fs/promises';
import { type ParsedUrlQueryInput, stringify } from 'node:querystring';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { badInputTests } from '../../test/bad-input.ts';
import { brokenBodies, exampleOf, rawParameters } from '../../test/bad-requests.ts';
import { isNightly, sampleOf } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { mockUrl, wireAlsoToMock } from '../../test/wire-to-mock.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import { contractValidator } from '../contract/validator.ts';
import { checkRequest, type RawRequest } from './check-request.ts';

/**
 * What callers read about bad requests of every operation. Operations with the same result share a line. The nightly run compares
 * the whole: `NIGHTLY=yes` and `-u` write the snapshot again, and the difference shows what changes for callers.
 */
const snapshot = fileURLToPath(new URL('bad-requests.txt', import.meta.url));

const service = await testService({ isJudged: true });
const { address, token } = service;
// One mock for all of these: it takes seconds to start. A test that started it would also stop it.
await mockUrl();

describe('bad input', () => badInputTests(service));

const validator = await contractValidator();
const uuid = '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101';
/** Their values differ from one response to the next. */
const changing = new Set(['date', 'x-request-id', 'ratelimit', 'content-length', 'connection', 'keep-alive']);

type Lines = Map<string, Set<string>>;

/** Operations whose requests are sent: by day every sixteenth one. */
const sent = new Set(sampleOf(allOperations, 16));

test('bad requests of every operation have the problems of the snapshot', async () => {
  const overHttp: Lines = new Map();
  for (const operation of sent)
    for (const [what, result] of await sendBad(operation)) add(overHttp, `${what} → ${result}`, operation.id);
  const parameters: Lines = new Map();
  for (const operation of sent)
    for (const [what, request] of badParameters(operation)) {
      const name = /^query (\w+):/.exec(what)?.[1];
      add(parameters, `${what} → ${await check(operation, request, name)}`, operation.id);
    }
  const bodies: Lines = new Map();
  const visited = new Set<object>();
  for (const operation of allOperations)
    for (const { pointer, what, body } of brokenBodies(operation, visited)) {
      if (!sent.has(operation)) continue;
      const result = await check(operation, { ...good(operation), bytes: Buffer.from(JSON.stringify(body)) });
      // A pointer within the broken value is relative to it.
      const relative = pointer === '' ? result : result.replaceAll(` ${pointer}`, ' .');
      add(bodies, `${what} → ${relative}`, `${operation.id}${pointer}`);
    }
  const text = [
    '# Sent over HTTP, by result: operations',
    ...linesOf(overHttp),
    '# Parameters, by result: operations',
    ...linesOf(parameters),
    '# Values in bodies, by result: places',
    ...linesOf(bodies),
  ].join('\n');
  if (isNightly) return expect(`${text}\n`).toMatchFileSnapshot(snapshot);
  // Who has a result is only known of all operations together.
  const resultsIn = (lines: string) => new Set(lines.split('\n').map((line) => line.replace(/: [^:]*$/, '')));
  expect([...resultsIn(text).difference(resultsIn(await readFile(snapshot, 'utf8')))]).toEqual([]);
});

test('the mock rejects bad parameters and bodies in the same words', async () => {
  const url = await mockUrl();
  const visited = new Set<object>();
  const requests = allOperations.flatMap((operation) => [
    ...badParameters(operation).map(([what, request]) => ({ operation, what, request })),
    ...brokenBodies(operation, visited).map(({ pointer, what, body }) => {
      return {
        operation,
        what: `${pointer} ${what}`,
        request: { ...good(operation), bytes: Buffer.from(JSON.stringify(body)) },
      };
    }),
  ]);
  for (const { operation, what, request } of sampleOf(requests, 192)) {
    const result = await check(operation, request);
    if (result.startsWith('valid')) continue;
    const { path, query, headers, bytes } = request;
    const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const more = {
      Authorization: 'Bearer x',
      ...(bytes !== undefined && { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
    };
    const response = await wire(url, {
      method: operation.method,
      path: `${filled}?${stringify(query as ParsedUrlQueryInput)}`,
      headers: { ...more, ...sendable(headers) },
      ...(bytes !== undefined && { body: Buffer.from(bytes) }),
    });
    const { code, detail, errors } = Object(response.json);
    const ofMock = `${response.status} ${code} ${problemText({ message: detail, errors })}`;
    // Node removes spaces around a header, and such a path is another one.
    if (Object.values(path).includes('') || Object.values(headers).some((value) => value === ' ')) continue;
    expect(ofMock, `${operation.id} ${what}`).toBe(result);
  }
});

/** The headers that the request has. */
function sendable(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

function good(operation: Operation): RawRequest {
  const bytes = operation.bodyLimit === null ? undefined : Buffer.from(JSON.stringify(exampleOf(operation)));
  const path: Record<string, string> = {};
  const query: Record<string, string> = {};
  for (const { in: place, name, values } of rawParameters(operation)) {
    if (place === 'path') path[name] = String(values[0]);
    if (place === 'query' && name === 'clientRef') query[name] = 'C-1';
  }
  return { path, query, headers: { tenant: 'firm' }, bytes };
}

function badParameters(operation: Operation): [string, RawRequest][] {
  const request = good(operation);
  const found: [string, RawRequest][] = [];
  for (const { in: place, name, values } of rawParameters(operation))
    for (const value of values) {
      const shown = JSON.stringify(value)?.replace(/(x)x{9,}/, 'xxx…') ?? 'missing';
      const change = (part: object) => ({ ...part, [place === 'header' ? name.toLowerCase() : name]: value });
      const changed =
        place === 'header'
          ? { ...request, headers: change(request.headers) }
          : {
              ...request,
              [place]: Object.fromEntries(
                Object.entries(change(request[place])).filter(([, one]) => one !== undefined),
              ),
            };
      found.push([`${place} ${name}: ${shown}`, changed]);
    }
  for (const name of ['x', '__proto__', 'page[a]', 'a/b'])
    found.push([
      `query ${name}`,
      { ...request, query: Object.fromEntries([...Object.entries(request.query), [name, '1']]) },
    ]);
  if (operation.bodyLimit !== null) {
    const bytes = Buffer.from('{"a":1,"b":2}');
    found.push(['several errors', { ...request, headers: { 'x-client-id': '?' }, bytes }]);
    found.push([
      'several errors and an unknown parameter',
      { ...request, headers: {}, query: { a: '1', b: '2' }, bytes },
    ]);
  }
  return found;
}

/** @param shown the query parameter whose converted value is part of the result */
async function check(operation: Operation, request: RawRequest, shown = ''): Promise<string> {
  try {
    const { query } = checkRequest(validator, operation, request);
    return Object.hasOwn(query, shown) ? `valid ${JSON.stringify(query[shown])}` : 'valid';
  } catch (error) {
    if (error instanceof Rejection) return `${error.status} ${error.code} ${problemText(error)}`;
    throw error;
  }
}

function problemText({ message, errors = [] }: Pick<Rejection, 'message' | 'errors'>): string {
  if (errors.length === 0) return JSON.stringify(message);
  const all = errors.map(
    ({ in: place, pointer, code, detail }) => `${place} ${pointer} ${code} ${JSON.stringify(shortened(detail))}`,
  );
  const more = all.length > 5 ? [`and ${all.length - 5} more`] : [];
  return [...all.slice(0, 5), ...more].join(', ').replaceAll(/x{10,}/g, 'xxx…');
}

/** Leaves out a long list: `aggregate.test.ts` tests that all are listed, and `validator.test.ts` that all parameters are. */
function shortened(given: string): string {
  const detail = given.replace(/(The operation has:) .*/s, '$1 …');
  return detail.length > 250 ? detail.replace(/(one of|have:) .*/s, '$1 …') : detail;
}

async function sendBad(operation: Operation): Promise<[string, string][]> {
  const path = operation.path.replaceAll(/\{[^}]+\}/g, uuid);
  const { method } = operation;
  const signedIn = { Authorization: `Bearer ${token}`, Tenant: 'firm' };
  const json = { ...signedIn, 'Content-Type': 'application/json' };
  const send = async (options: Partial<Parameters<typeof wireAlsoToMock>[1]>) => {
    const response = await wireAlsoToMock(address, { method, path, headers: signedIn, ...options });
    const headers = Object.entries(response.headers).map(([name, value]) =>
      changing.has(name) ? name : `${name}: ${value}`,
    );
    const { code, detail, errors } = (response.json ?? { code: '', detail: response.text }) as {
      code: string;
      detail: string;
      errors?: Rejection['errors'];
    };
    return `${response.status} ${code} ${problemText({ message: detail, errors })} [${headers.sort().join('; ')}]`;
  };
  const found: [string, string][] = [
    ['another method', await send({ method: method === 'PATCH' ? 'PUT' : 'PATCH' })],
    ['Accept: text/html', await send({ headers: { ...json, Accept: 'text/html' } })],
    ['an unknown query parameter', await send({ path: `${path}?x=1`, headers: json, body: '{}' })],
  ];
  if (!operation.roles.includes('PUBLIC')) {
    found.push(['no token', await send({ headers: { Tenant: 'firm' } })]);
    found.push(['a malformed token', await send({ headers: { ...signedIn, Authorization: 'Bearer x' } })]);
    found.push(['no tenant', await send({ headers: { Authorization: `Bearer ${token}` } })]);
  }
  if (operation.bodyLimit === null) return found;
  found.push(['no body', await send({ headers: json })]);
  found.push([
    'Content-Type: text/plain',
    await send({ headers: { ...json, 'Content-Type': 'text/plain' }, body: '{}' }),
  ]);
  found.push(['no Content-Type', await send({ body: '{}' })]);
  found.push(['Content-Encoding: x', await send({ headers: { ...json, 'Content-Encoding': 'x' }, body: '{}' })]);
  found.push(['no JSON', await send({ headers: json, body: '{"a":' })]);
  // Compressed: the server stops reading a longer body, which can reset the connection.
  const tooLong = gzipSync(' '.repeat(operation.bodyLimit + 1));
  found.push([
    'a body over the limit',
    await send({ headers: { ...json, 'Content-Encoding': 'gzip' }, body: tooLong }),
  ]);
  return found;
}

function add(lines: Lines, line: string, member: string): void {
  lines.set(line, (lines.get(line) ?? new Set()).add(member));
}

function linesOf(lines: Lines): string[] {
  return [...lines]
    .map(
      ([line, members]) => `${line}: ${members.size > 5 ? `${members.size} of them` : [...members].sort().join(' ')}`,
    )
    .sort();
}
