import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import type { ServerAnswer } from '../http/call.ts';
import { Validators } from '../schema/validators.ts';
import { Judge } from './judge.ts';

const contract = {
  openapi: '3.1.0',
  info: { title: 'Lamps', version: '1' },
  paths: {
    '/lamps': {
      get: {
        operationId: 'getLamps',
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
                    maker: { $ref: '#/components/schemas/Maker' },
                  },
                },
              },
            },
          },
          '204': { description: 'None.' },
          '3XX': { description: 'Elsewhere.' },
        },
      },
    },
  },
  components: {
    schemas: {
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
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'judge-'));
  const file = join(directory, 'openapi.json');
  await writeFile(file, JSON.stringify(contract));
  const document = await OpenApiDocument.load(file);
  judge = new Judge(document, Validators.of(document));
  operation = operationsOf(document)[0] as Operation;
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The checks that an answer does not pass; it is right but for what is given. */
function judged({ status = 200, text = '{"lamps":["2026-02-28"]}', ...answer }: Partial<ServerAnswer>, query = '') {
  const mediaType = text === '' ? '' : (answer.mediaType ?? 'application/json');
  return judge
    .judge({
      operation,
      request: { method: 'GET', url: `http://lamps.test/lamps${query}`, headers: {}, body: undefined },
      answer: {
        status,
        headers: { 'x-total': '1' },
        text,
        json: mediaType === 'application/json' ? { value: JSON.parse(text) as unknown } : undefined,
        milliseconds: 1,
        ...answer,
        mediaType,
      },
    })
    .map(({ check }) => check);
}

describe('an answer', () => {
  it.each<[string, Partial<ServerAnswer>, string[]]>([
    ['that is as declared', {}, []],
    ['with a status of a declared class', { status: 302, text: '' }, []],
    ['with a status that is not declared', { status: 418, text: '' }, ['answer-status']],
    ['with 500', { status: 500, text: '' }, ['server-error']],
    [
      'with 503 that says when to come again',
      { status: 503, text: '', headers: { 'retry-after': '1' } },
      ['answer-status'],
    ],
    ['with 501', { status: 501, text: '' }, []],
    ['that never came', { status: 0, text: '' }, ['no-answer']],
    ['without a header', { headers: {} }, ['answer-header-missing']],
    ['with a header of another type', { headers: { 'x-total': 'many' } }, ['answer-header']],
    ['with a header below its bound', { headers: { 'x-total': '-1' } }, ['answer-header']],
    ['of another media type', { mediaType: 'text/html' }, ['answer-media-type']],
    ['without its body', { text: '' }, ['answer-body-missing']],
    ['with a body that breaks a format', { text: '{"lamps":["2026-02-29"]}' }, ['answer-body']],
    ['with a member that nobody knows', { text: '{"lamps":[],"x":1}' }, ['answer-unknown-property']],
    ['with what stands beside a reference', { text: '{"lamps":[],"maker":{"name":"a","city":"b"}}' }, []],
    ['with what a reference closes', { text: '{"lamps":[],"maker":{"zip":1}}' }, ['answer-body']],
    ['204 with a body', { status: 204 }, ['answer-body-unexpected']],
  ])('%s', (_what, answer, checks) => expect(judged(answer)).toEqual(checks));

  it('may refuse as too long what no server needs to read, and only that', () => {
    const long = `?x=${'y'.repeat(8000)}`;
    for (const status of [414, 431]) {
      expect(judged({ status, text: '' }, long)).toEqual([]);
      expect(judged({ status, text: '' })).toEqual(['answer-status']);
    }
    expect(judged({ status: 418, text: '' }, long)).toEqual(['answer-status']);
  });
});
