import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resourceTypesOf } from '../src/checks/behavior/resources/resource-types.ts';
import { OpenApiDocument } from '../src/document/document.ts';
import { Session } from '../src/run/session.ts';

const component = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const inPath = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string' } });
const operation = (operationId: string, status: number, schema?: string, body?: string, type = 'application/json') => ({
  operationId,
  ...(body === undefined ? {} : { requestBody: { content: { [type]: { schema: component(body) } } } }),
  responses: {
    [status]: {
      description: 'It.',
      ...(schema === undefined ? {} : { content: { 'application/json': { schema: component(schema) } } }),
    },
  },
});

async function typesOf(paths: object) {
  const schemas = { Job: object('id', 'status'), Export: object('id', 'rows'), Customer: object('id', 'email') };
  const folder = await mkdtemp(join(tmpdir(), 'resource-types-'));
  const spec = join(folder, 'openapi.json');
  await writeFile(
    spec,
    JSON.stringify({ openapi: '3.1.0', info: { title: 'Types', version: '1' }, paths, components: { schemas } }),
  );
  const session = new Session(await OpenApiDocument.load(spec), 'http://127.0.0.1:9', { spec, disposable: true });
  const types = resourceTypesOf(session).map(({ create, read, updates }) => ({
    create: create.id,
    read: read?.id,
    updates: updates.map(({ id }) => id),
  }));
  await session.transport.close();
  await rm(folder, { recursive: true });
  return types;
}

test('resourceTypesOf › reads an accepted job where jobs are read, not where its result is', async () => {
  const types = await typesOf({
    '/exports': { post: operation('createExport', 202, 'Job', 'Export') },
    '/exports/{exportId}': { parameters: [inPath('exportId')], get: operation('getExport', 200, 'Export') },
    '/jobs/{jobId}': { parameters: [inPath('jobId')], get: operation('getJob', 200, 'Job') },
  });
  expect(types).toEqual([{ create: 'createExport', read: 'getJob', updates: [] }]);
});

test('resourceTypesOf › updates by POST to the path of a resource, unless it has PUT or PATCH', async () => {
  const form = 'application/x-www-form-urlencoded';
  const paths = (more: object) => ({
    '/customers': { post: operation('createCustomer', 200, 'Customer', 'Customer', form) },
    '/customers/{customer}': {
      parameters: [inPath('customer')],
      get: operation('getCustomer', 200, 'Customer'),
      post: operation('updateCustomer', 200, 'Customer', 'Customer', form),
      ...more,
    },
  });
  const type = { create: 'createCustomer', read: 'getCustomer' };
  expect(await typesOf(paths({}))).toEqual([{ ...type, updates: ['updateCustomer'] }]);
  expect(await typesOf(paths({ patch: operation('patchCustomer', 200, 'Customer', 'Customer') }))).toEqual([
    { ...type, updates: ['patchCustomer'] },
  ]);
});
