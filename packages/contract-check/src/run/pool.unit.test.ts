import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { isCreating } from './names.ts';
import { Pool } from './pool.ts';

const resource = (name: string) => ({
  type: 'object',
  title: name,
  properties: { id: { type: 'integer' }, tags: { type: 'array', items: { type: 'object', properties: { id: {} } } } },
});
const response = (schema: object) => ({
  responses: { '200': { description: 'Done.', content: { 'application/json': { schema } } } },
});
const list = (name: string) => ({ type: 'array', items: { $ref: `#/components/schemas/${name}` } });
const collection = (name: string) => ({
  get: { operationId: `list${name}`, ...response(list(name)) },
  post: { operationId: `create${name}`, ...response({ $ref: `#/components/schemas/${name}` }) },
});
const item = (name: string) => ({
  parameters: [{ in: 'path', name: 'id', required: true, schema: { type: 'integer' } }],
  delete: { operationId: `delete${name}`, responses: { '204': { description: 'Gone.' } } },
});
const contract = {
  openapi: '3.1.0',
  info: { title: 'Ships', version: '1' },
  paths: {
    '/ships': collection('Ship'),
    '/ships/{id}': item('Ship'),
    '/ports': collection('Port'),
    '/ports/{id}': item('Port'),
    '/manifests': {
      get: {
        operationId: 'listManifests',
        responses: {
          '200': {
            description: 'Done.',
            content: { 'application/json': { schema: { type: 'array', items: { type: 'object' } } } },
            links: { one: { operationId: 'getCargo', parameters: { code: '$response.body#/0/serial' } } },
          },
        },
      },
    },
    '/cargo/{code}': {
      parameters: [{ in: 'path', name: 'code', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getCargo', ...response({ type: 'object' }) },
    },
    '/entities': { get: { operationId: 'listEntities', ...response({ type: 'array', items: { type: 'object' } }) } },
    '/entities/by-name/{kind}/{name}': {
      parameters: ['kind', 'name'].map((name) => ({ in: 'path', name, required: true, schema: { type: 'string' } })),
      get: { operationId: 'getEntity', ...response({ type: 'object' }) },
    },
  },
  components: { schemas: { Ship: resource('Ship'), Port: resource('Port') } },
};

let directory: string;
let document: OpenApiDocument;
let operations: Operation[];
let pool: Pool;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pool-'));
  await writeFile(join(directory, 'openapi.json'), JSON.stringify(contract));
  document = await OpenApiDocument.load(join(directory, 'openapi.json'));
  operations = operationsOf(document);
});
beforeEach(() => {
  pool = new Pool(document, false);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function learn(id: string, value: unknown, status = 200): void {
  const operation = operations.find((one) => one.id === id) as Operation;
  pool.learn({ operation, request: {}, response: { status, json: { value } } } as Exchange, isCreating(operation));
}

/** Resources that a DELETE may remove without `disposable`. */
const deleted = () =>
  operations
    .filter(({ method }) => method === 'DELETE')
    .flatMap((operation) =>
      [4, 5, 6, 7, 61].filter((id) => pool.isCreated(operation, 'id', { id })).map((id) => `${operation.id} ${id}`),
    );

describe('the resources that a run may change', () => {
  it('include those that it created and a list returns later', () => {
    learn('createShip', { id: 5 });
    learn('listShip', [{ id: 4 }, { id: 5 }]);
    expect(deleted()).toEqual(['deleteShip 5']);
  });

  it('exclude existing ones that a create operation returns', () => {
    learn('listShip', [{ id: 4 }]);
    learn('createShip', { id: 4 });
    learn('createShip', { id: 6, created: false });
    learn('createShip', { id: 7, status: 'UNCHANGED' });
    expect(deleted()).toEqual([]);
  });

  it('include known ones that a create operation returns with 201', () => {
    learn('listShip', [{ id: 4 }]);
    learn('createShip', { id: 4 }, 201);
    expect(deleted()).toEqual(['deleteShip 4']);
  });

  it('exclude those of another type with the same ID', () => {
    learn('createShip', { id: 5 });
    learn('listPort', [{ id: 5 }]);
    expect(deleted()).toEqual(['deleteShip 5']);
  });

  it('exclude those embedded in created ones', () => {
    learn('createShip', { id: 5, tags: [{ id: 61 }] });
    expect(deleted()).toEqual(['deleteShip 5']);
  });
});

it('a reference to another type uses the property of the same name, otherwise the ID', () => {
  const createPort = operations.find(({ id }) => id === 'createPort') as Operation;
  learn('listShip', [{ id: 4, shipRef: 'S-004' }]);
  expect(pool.forMember(createPort, 'shipRef', false)[0]).toBe('S-004');
  expect(pool.forMember(createPort, 'shipId', false)[0]).toBe(4);
  const createShip = operations.find(({ id }) => id === 'createShip') as Operation;
  expect(pool.forMember(createShip, 'shipRef', false)[0]).toBe(4);
});

it('a resource without an ID is named by an object in it', () => {
  const getEntity = operations.find(({ id }) => id === 'getEntity') as Operation;
  learn('listEntities', [
    { kind: 'Crane', metadata: { name: 'amber' } },
    { kind: 'Buoy', metadata: { name: 'birch' } },
  ]);
  expect(pool.forParameter(getEntity, 'name', false).likely.toSorted()).toEqual(['amber', 'birch']);
  expect(pool.contextOf(getEntity, 'name', 'amber')).toMatchObject({ kind: 'Crane', name: 'amber' });
});

it('long lists do not push out the only resource of another path', () => {
  learn('listPort', [{ id: 4 }]);
  for (let start = 0; start < 3000; start += 50)
    learn(
      'listShip',
      Array.from({ length: 50 }, (_, at) => ({ id: start + at })),
    );
  expect(pool.forParameter(operations.find(({ id }) => id === 'deletePort') as Operation, 'id', false).likely[0]).toBe(
    4,
  );
});

it('a link of the contract says where a value is used whose name does not', () => {
  learn('listManifests', [{ serial: 'C-7' }]);
  const getCargo = operations.find(({ id }) => id === 'getCargo') as Operation;
  expect(pool.forParameter(getCargo, 'code', false)).toEqual({ likely: ['C-7'], possible: [] });
});
