import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { responseOf } from '../http/client.ts';
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

describe('a strong ETag', () => {
  const looks = (...exchanges: readonly Exchange[]) => {
    const book = new EtagRegistry(document);
    return exchanges.flatMap((exchange) => book.judge(exchange));
  };

  it('has one state', () => {
    const [found, ...others] = looks(record('"1"', { id: 1, watts: 4 }), record('"1"', { id: 1, watts: 5 }));
    expect(found).toMatchObject({ check: 'etag-of-two', actual: '"1", although /watts was 4 and is 5' });
    expect(others).toEqual([]);
  });

  it('still differs from the first when a third request confirms it', () => {
    const [one, two] = [record('"1"', { watts: 4 }), record('"1"', { watts: 5 })];
    expect(looks(one, two, two)).toHaveLength(2);
  });

  it.each([
    ['moves with what changes', '"1"', '"2"', {}, ''],
    ['may be weak, and stand for what is alike', 'W/"1"', 'W/"1"', {}, ''],
    ['ignores embedded resources', '"1"', '"1"', { maker: { id: 7, lamps: 3 } }, ''],
    ['ignores requests with a query', '"1"', '"1"', { watts: 5 }, '?include=maker'],
  ])('%s', (_name, before, after, more, query) => {
    expect(looks(record(before, { id: 1 }, query), record(after, { id: 1, ...more }, query))).toEqual([]);
  });
});

describe('a resource next to its id', () => {
  const found = (value: unknown) => disagreeingReferences(document, record('"1"', value));

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
  ])('is the one that the id names, %s', (_name, value) => {
    expect(found(value)).toMatchObject([{ check: 'reference-disagrees' }]);
  });

  it.each([
    ['agree', { makerId: 3, maker: { id: 3 } }],
    ['have ids of two forms', { makerId: 3, maker: { id: '00000000-0000-4000-8000-000000000003' } }],
    ['have no id', { makerId: 3, maker: { name: 'Lux' } }],
    ['are not there', { makerId: null, maker: null }],
  ])('says nothing where they %s', (_name, value) => {
    expect(found(value)).toEqual([]);
  });
});

describe('a response of any depth', () => {
  const deep = JSON.parse(`${'{"a":['.repeat(4000)}1${']}'.repeat(4000)}`);

  it('is looked at without taking all of the stack', () => {
    const book = new EtagRegistry(document);
    expect(book.judge(record('"1"', deep))).toEqual([]);
    expect(disagreeingReferences(document, record('"1"', deep))).toEqual([]);
  });
});
