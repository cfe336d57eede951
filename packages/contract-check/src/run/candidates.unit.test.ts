import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { check } from '../check.ts';

/** The schemas of two families of types. Their fields have a `type` property whose values are not valid in the path. */
const types = { codes: 'WorkCode', entries: 'TimeEntry' } as const;
const field = {
  type: 'object',
  required: ['name', 'type'],
  additionalProperties: false,
  properties: { name: { type: 'string' }, type: { type: 'string' } },
};
const schema = {
  type: 'object',
  required: ['name', 'fields'],
  additionalProperties: false,
  properties: { name: { type: 'string' }, fields: { type: 'array', items: field } },
};
const paths = Object.entries(types).map(([family, example]) => [
  `/${family}/schema/{type}`,
  {
    get: {
      operationId: `read-${family}`,
      parameters: [{ in: 'path', name: 'type', required: true, schema: { type: 'string', minLength: 1 }, example }],
      responses: {
        200: { description: 'The schema.', content: { 'application/json': { schema } } },
        404: { description: 'Unknown type.' },
      },
    },
  },
]);

const folder = await mkdtemp(join(tmpdir(), 'candidates-'));
const spec = join(folder, 'openapi.json');
await writeFile(
  spec,
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Types', version: '1' },
    paths: {
      ...Object.fromEntries(paths),
      '/records': {
        get: {
          operationId: 'list-records',
          responses: {
            200: {
              description: 'The records.',
              content: {
                'application/json': {
                  schema: {
                    type: 'array',
                    items: { type: 'object', properties: { type: { type: 'string' }, text: { type: 'string' } } },
                  },
                },
              },
            },
          },
        },
      },
      '/records/{type}': {
        get: {
          operationId: 'read-record',
          parameters: [
            { in: 'path', name: 'type', required: true, schema: { type: 'string' }, example: 'Deal' },
            { in: 'query', name: 'ref', required: true, schema: { type: 'string' }, example: 'D-1' },
          ],
          responses: { 200: { description: 'The record.' }, 404: { description: 'Unknown.' } },
        },
      },
    },
  }),
);
const server = createServer((request, response) => {
  if (request.url === '/records/Deal?ref=D-1') return response.writeHead(200).end();
  if (request.url === '/records')
    return response.writeHead(200, { 'content-type': 'application/json' }).end('[{"type":"Note","text":"N-1"}]');
  const [, family = '', , type] = (request.url ?? '').split('/');
  const found = Object.entries(types).find(([name, known]) => name === family && known === type);
  if (found === undefined) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  return response.end(JSON.stringify({ name: type, fields: [{ name: 'hours', type: 'DECIMAL' }] }));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

it('an operation is reached with the examples of its parameters if properties of the same names have other meanings', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { operations } = await check({ spec, url, checks: ['responses'], probes: 1 });
  expect(operations.map(({ id, reached }) => [id, reached])).toEqual([
    ['read-codes', true],
    ['read-entries', true],
    ['list-records', true],
    ['read-record', true],
  ]);
});
