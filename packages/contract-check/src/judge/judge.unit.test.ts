import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import type { ReceivedResponse } from '../http/call.ts';
import { Validators } from '../schema/validators.ts';
import { Judge } from './judge.ts';

const contract = {
  openapi: '3.1.0',
  info: { title: 'Lamps', version: '1' },
  paths: {
    '/lamps': {
      get: {
        operationId: 'getLamps',
        parameters: [
          { name: 'fields', in: 'query', schema: { type: 'string', 'x-contract-check': { partial: true } } },
        ],
        responses: {
          '200': {
            description: 'Lamps.',
            headers: { 'X-Total': { required: true, schema: { type: 'integer', minimum: 0 } } },
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['lamps'],
                  properties: {
                    lamps: { type: 'array', items: { type: 'string', format: 'date' } },
                    rooms: {
                      type: 'object',
                      additionalProperties: {
                        type: 'array',
                        items: {
                          type: 'object',
                          properties: { lit: { type: 'boolean' } },
                          required: ['lit'],
                          additionalProperties: false,
                        },
                      },
                    },
                    maker: { $ref: '#/components/schemas/Maker' },
                    power: {
                      oneOf: [
                        { type: 'null' },
                        { properties: { by: { const: 'mains' }, volts: { type: 'integer' }, fuse: { minimum: 1 } } },
                        { properties: { by: { const: 'cell' }, size: { enum: ['AA'] }, count: { type: 'integer' } } },
                      ],
                    },
                  },
                },
              },
            },
          },
          '204': { description: 'None.' },
          '3XX': { description: 'Elsewhere.' },
        },
      },
      post: {
        operationId: 'addLamp',
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Lamp' } } } },
        responses: {
          '201': {
            description: 'The lamp.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Lamp' } } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Lamp: {
        type: 'object',
        required: ['made'],
        properties: {
          made: { type: 'string', format: 'date' },
          lit: { type: 'boolean' },
          only: { type: 'array', 'x-contract-check': { partial: true } },
        },
      },
      Named: { type: 'object', properties: { name: { type: 'string' } } },
      Maker: {
        $ref: '#/components/schemas/Named',
        properties: { city: { type: 'string' } },
        unevaluatedProperties: false,
      },
    },
  },
};

let directory: string;
let judge: Judge;
let operation: Operation;
let addition: Operation;
let validators: Validators;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'judge-'));
  const file = join(directory, 'openapi.json');
  await writeFile(file, JSON.stringify(contract));
  const document = await OpenApiDocument.load(file);
  validators = Validators.of(document);
  judge = new Judge(document, validators);
  [operation, addition] = operationsOf(document) as [Operation, Operation];
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The checks that a response fails. It is correct except for the specified changes. */
function judged(
  { status = 200, text = '{"lamps":["2026-02-28"]}', ...response }: Partial<ReceivedResponse>,
  query = '',
) {
  const mediaType = text === '' ? '' : (response.mediaType ?? 'application/json');
  return judge
    .judge({
      operation,
      request: { method: 'GET', url: `http://lamps.test/lamps${query}`, headers: {}, body: undefined },
      response: {
        status,
        headers: { 'x-total': '1' },
        text,
        json: mediaType === 'application/json' ? { value: JSON.parse(text) as unknown } : undefined,
        milliseconds: 1,
        ...response,
        mediaType,
      },
    })
    .map(({ check }) => check);
}

it('does not require properties of a response whose request names those that it wants', () => {
  const text = '{"maker":{"name":"Tiffany"}}';
  expect(judged({ text })).toEqual(['response-body']);
  expect(judged({ text }, '?fields=maker')).toEqual([]);
  expect(judged({ text: '{"lamps":[1]}' }, '?fields=lamps')).toEqual(['response-body']);
  const added = (body: string) => {
    const response = {
      status: 201,
      headers: {},
      text: '{"lit":true}',
      json: { value: { lit: true } },
      milliseconds: 1,
    };
    const request = { method: 'POST', url: 'http://lamps.test/lamps', headers: {}, body };
    const exchange = { operation: addition, request, response: { ...response, mediaType: 'application/json' } };
    return judge.judge(exchange).map(({ check }) => check);
  };
  expect(added('{"made":"2026-02-28","lit":true}')).toEqual(['response-body']);
  expect(added('{"made":"2026-02-28","lit":true,"only":["lit"]}')).toEqual([]);
});

describe('a value of a choice', () => {
  const pointersIn = (power: unknown) =>
    judge
      .judge({
        operation,
        request: { method: 'GET', url: 'http://lamps.test/lamps', headers: {}, body: undefined },
        response: {
          status: 200,
          headers: { 'x-total': '1' },
          text: '{}',
          mediaType: 'application/json',
          json: { value: { lamps: [], power } },
          milliseconds: 1,
        },
      })
      .map(({ pointer }) => pointer);

  it.each<[string, unknown, string[]]>([
    ['is judged by the branch that it is meant for', { by: 'cell', size: 'AA', count: 1.5 }, ['/power/count']],
    ['can violate several parts of it', { by: 'mains', volts: 'x', fuse: 0 }, ['/power/volts', '/power/fuse']],
    ['can be of no branch', { by: 'sun', size: 'AA', count: 1, volts: 'x' }, ['/power/by']],
  ])('%s', (_name, power, pointers) => expect(pointersIn(power)).toEqual(pointers));
});

describe('a response', () => {
  it.each<[string, Partial<ReceivedResponse>, string[]]>([
    ['that matches its declaration', {}, []],
    ['with a status of a declared class', { status: 302, text: '' }, []],
    ['with a status that is not declared', { status: 418, text: '' }, ['response-status']],
    ['with 500', { status: 500, text: '' }, ['server-error']],
    ['with 503 and Retry-After', { status: 503, text: '', headers: { 'retry-after': '1' } }, ['response-status']],
    ['with 501', { status: 501, text: '' }, ['not-implemented']],
    ['that never arrived', { status: 0, text: '' }, ['no-response']],
    ['without a header', { headers: {} }, ['response-header-missing']],
    ['with a header of another type', { headers: { 'x-total': 'many' } }, ['response-header']],
    ['with a header below its bound', { headers: { 'x-total': '-1' } }, ['response-header']],
    ['of another media type', { mediaType: 'text/html' }, ['response-media-type']],
    [
      'of another charset',
      { headers: { 'x-total': '1', 'content-type': 'application/json; charset=latin1' } },
      ['response-media-type'],
    ],
    [
      'of the charset of JSON',
      { headers: { 'x-total': '1', 'content-type': 'application/json; charset="UTF-8"' } },
      [],
    ],
    ['without its body', { text: '' }, ['response-body-missing']],
    ['with a body that violates a format', { text: '{"lamps":["2026-02-29"]}' }, ['response-body']],
    ['with an unknown property', { text: '{"lamps":[],"x":1}' }, ['response-unknown-property']],
    ['with properties next to a reference', { text: '{"lamps":[],"maker":{"name":"a","city":"b"}}' }, []],
    ['with a property that a referenced schema forbids', { text: '{"lamps":[],"maker":{"zip":1}}' }, ['response-body']],
    ['204 with a body', { status: 204 }, ['response-body-unexpected']],
  ])('%s', (_what, response, checks) => expect(judged(response)).toEqual(checks));

  it('may have status 414 or 431 only for a long request head', () => {
    const long = `?x=${'y'.repeat(8000)}`;
    for (const status of [414, 431]) {
      expect(judged({ status, text: '' }, long)).toEqual([]);
      expect(judged({ status, text: '' })).toEqual(['response-status']);
    }
    expect(judged({ status: 418, text: '' }, long)).toEqual(['response-status']);
  });
});

it('names properties of all entries of a map once, by what must be true of them', () => {
  const rooms = {
    hall: [
      { lit: true, x: 1 },
      { lit: true, x: 1 },
    ],
    cellar: [{}],
  };
  const found = judge.judge({
    operation,
    request: { method: 'GET', url: 'http://lamps.test/lamps', headers: {}, body: undefined },
    response: {
      ...{ status: 200, headers: { 'x-total': '1' }, text: '{}', mediaType: 'application/json', milliseconds: 1 },
      json: { value: { lamps: [], rooms } },
    },
  });
  expect(found.map(({ title }) => title)).toEqual([
    '/rooms/*/*/x in 200 must not be present, because additionalProperties is false',
    '/rooms/*/*/lit in 200 must be present',
  ]);
});

it('judges the response to a body that is nested too deeply for recursion', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const found = judge.judge({
    operation: addition,
    request: { method: 'POST', url: 'http://lamps.test/lamps', headers: {}, body: deep },
    response: {
      status: 201,
      headers: {},
      text: '{}',
      mediaType: 'application/json',
      json: { value: {} },
      milliseconds: 1,
    },
  });
  expect(found.map(({ check }) => check)).toEqual(['response-body']);
  const schema = addition.responses[0]?.contents[0]?.schema ?? {};
  expect(validators.accepts(schema, JSON.parse(deep))).toBe(false);
});

it('reports no wrong value that the request had, because its acceptance is the difference', () => {
  const pointersIn = (sent: object, value: object) =>
    judge
      .judge({
        operation: addition,
        request: { method: 'POST', url: 'http://lamps.test/lamps', headers: {}, body: JSON.stringify(sent) },
        response: {
          ...{ status: 201, headers: {}, text: '{}', mediaType: 'application/json', milliseconds: 1 },
          json: { value },
        },
      })
      .map(({ pointer }) => pointer);
  expect(pointersIn({ made: 'today', lit: 1 }, { made: 'today', lit: 1 })).toEqual([]);
  expect(pointersIn({ made: 'today' }, { made: 'yesterday', lit: 1 })).toEqual(['/made', '/lit']);
});
