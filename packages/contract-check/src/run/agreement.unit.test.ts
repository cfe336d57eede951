import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { responseOf } from '../http/client.ts';
import { type Success, successIn } from '../judge/judge.ts';
import { EtagRegistry } from './etag-registry.ts';
import { disagreeingReferences } from './references.ts';

const contract = {
  openapi: '3.1.0',
  info: { title: 'Lamps', version: '1' },
  paths: {
    '/lamps/{id}': {
      get: {
        operationId: 'getLamp',
        responses: {
          '200': {
            description: 'A lamp.',
            headers: { ETag: { schema: { type: 'string' } } },
            content: { 'application/json': { schema: { type: 'object' } } },
          },
        },
      },
    },
  },
};

let folder: string;
let document: OpenApiDocument;
let record: (etag: string, value: unknown, query?: string) => Exchange;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agreement-'));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(contract));
  document = await OpenApiDocument.load(file);
  const [operation] = operationsOf(document);
  record = (etag, value, query = '') => ({
    operation,
    request: { method: 'GET', url: `http://localhost/lamps/1${query}`, headers: {}, body: undefined },
    response: responseOf(200, { etag, 'content-type': 'application/json' }, JSON.stringify(value), 1),
  });
});
afterAll(() => rm(folder, { recursive: true }));

/** What a rule reports about an exchange, if it applies. */
function reported<Found>(exchange: Exchange, rule: (success: Success) => readonly Found[]): readonly Found[] {
  const success = successIn(exchange);
  return success === undefined ? [] : rule(success);
}

describe('a strong ETag', () => {
  const looks = (...exchanges: readonly Exchange[]) => {
    const book = new EtagRegistry(document);
    return exchanges.flatMap((exchange) => reported(exchange, (success) => book.judge(exchange, success)));
  };

  it('identifies one state', () => {
    const [found, ...others] = looks(record('"1"', { id: 1, watts: 4 }), record('"1"', { id: 1, watts: 5 }));
    expect(found).toMatchObject({ check: 'etag-of-two', actual: '"1", although /watts was 4 and is 5' });
    expect(others).toEqual([]);
  });

  it('is reported again when a third request confirms the difference', () => {
    const [one, two] = [record('"1"', { watts: 4 }), record('"1"', { watts: 5 })];
    expect(looks(one, two, two)).toHaveLength(2);
  });

  it.each([
    ['may change together with the resource', '"1"', '"2"', {}, ''],
    ['may be weak, and identify equivalent states', 'W/"1"', 'W/"1"', {}, ''],
    ['may ignore embedded resources', '"1"', '"1"', { maker: { id: 7, lamps: 3 } }, ''],
    ['may ignore the query', '"1"', '"1"', { watts: 5 }, '?include=maker'],
  ])('%s', (_name, before, after, more, query) => {
    expect(looks(record(before, { id: 1 }, query), record(after, { id: 1, ...more }, query))).toEqual([]);
  });
});

describe('an embedded resource', () => {
  const found = (value: unknown) =>
    reported(record('"1"', value), (success) => disagreeingReferences(document, success));

  it.each([
    ['in snake case', { maker_id: 3, maker: { id: 4 } }],
    ['in camel case', { makerId: 'mk_0a', maker: { id: 'mk_1b' } }],
    [
      'in a row',
      {
        lamps: [
          { makerId: 3, maker: { id: 3 } },
          { makerId: 3, maker: { id: 4 } },
        ],
      },
    ],
  ])('is reported if it has another ID than the reference next to it: %s', (_name, value) => {
    expect(found(value)).toMatchObject([{ check: 'reference-disagrees' }]);
  });

  it.each([
    ['the same ID', { makerId: 3, maker: { id: 3 } }],
    ['IDs of two formats', { makerId: 3, maker: { id: '00000000-0000-4000-8000-000000000003' } }],
    ['no ID', { makerId: 3, maker: { name: 'Lux' } }],
    ['null', { makerId: null, maker: null }],
  ])('is not reported: %s', (_name, value) => {
    expect(found(value)).toEqual([]);
  });
});

describe('a deeply nested response', () => {
  const deep = JSON.parse(`${'{"a":['.repeat(4000)}1${']}'.repeat(4000)}`);

  it('is not compared, so that it causes no stack overflow', () => {
    expect(successIn(record('"1"', deep))).toBeUndefined();
  });
});
