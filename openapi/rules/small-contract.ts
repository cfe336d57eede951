/**
 * A contract in small that keeps every rule: boats are listed and searched by POST, made with a key, read and changed
 * one by one; a token comes from a key; and an event tells of a new boat.
 */
import type { JsonObject } from './contract.ts';

/** The files of a contract by their paths. */
export type Files = Record<string, JsonObject>;

const ref = ($ref: string) => ({ $ref });
const text = { type: 'string', minLength: 1, maxLength: 100, description: 'Some text.' };

function operators(value: JsonObject) {
  const list = { type: 'array', maxItems: 100, items: value };
  return { _eq: value, _neq: value, _in: list, _nin: list, _is_null: { type: 'boolean' } };
}

function header(description: string) {
  return { description, schema: { type: 'string', maxLength: 100 }, example: 'x' };
}

function parameter(name: string, place: string, more: JsonObject = {}) {
  return {
    name,
    in: place,
    description: 'A parameter.',
    schema: { ...text, pattern: '^[a-z]+$' },
    example: 'x',
    ...more,
  };
}

function headers(...names: string[]) {
  return Object.fromEntries(names.map((name) => [name, ref(`../../headers/${name}.yaml`)]));
}

const common = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

function problems(...statuses: string[]) {
  return Object.fromEntries(statuses.map((status) => [status, ref(`../../responses/Problem${status}.yaml`)]));
}

function answer(schema: string, example: string, ...more: string[]) {
  return {
    description: 'The answer.',
    headers: headers(...common, ...more),
    content: content(schema, example),
  };
}

function content(schema: string, example: string) {
  return {
    'application/json': {
      schema: ref(`../../schemas/${schema}.yaml`),
      examples: { one: ref(`../../examples/${example}.yaml`) },
    },
  };
}

const everywhere = ['400', '401', '403', '406', '429', '500', '503'];
const withBody = ['413', '415'];
const shared = ['Tenant', 'Traceparent', 'ClientIdHeader'].map((name) => ref(`../../parameters/${name}.yaml`));

export function smallContract(): Files {
  const files: Files = {
    'openapi.yaml': {
      openapi: '3.1.0',
      info: { title: 'Boats', version: '1.0.0' },
      tags: [{ name: 'boats', 'x-displayName': 'Boats', description: 'Boats.' }],
      components: { schemas: { Role: ref('schemas/common/Role.yaml') } },
      'x-rate-limit-policies': {
        token: { limit: 1, window: 1 },
        read: { limit: 1, window: 1 },
        write: { limit: 1, window: 1 },
      },
      'x-body-limits': { search: 1000, write: 1000 },
      webhooks: { boatCreated: ref('webhooks/boat_created.yaml') },
      paths: {
        '/v1/auth/token': ref('paths/authentication/auth_token.yaml'),
        '/gql/v1/boats/search': ref('paths/boats/boats_search.yaml'),
        '/gql/v1/boat/{id}': ref('paths/boats/boat.yaml'),
        '/api/v1/boats': ref('paths/boats/boats.yaml'),
        '/api/v1/boats/{boatId}': ref('paths/boats/api_boat.yaml'),
      },
    },
    'paths/authentication/auth_token.yaml': {
      parameters: [ref('../../parameters/OptionalTenant.yaml'), ...shared.slice(1)],
      post: {
        operationId: 'createToken',
        tags: ['authentication'],
        summary: 'Exchange a key for a token',
        description: 'Answers a token.',
        security: [],
        'x-roles': ['PUBLIC'],
        'x-rate-limit': 'token',
        'x-body-limit': 'write',
        'x-idempotent': false,
        requestBody: { required: true, content: content('boats/BoatCreateRequest', 'boats/boat_request') },
        responses: {
          '200': answer('boats/BoatPage', 'boats/boats_page', 'Cache-Control'),
          ...problems('400', '401', '406', '429', '500', '503', ...withBody),
        },
      },
    },
    'paths/boats/boats_search.yaml': {
      parameters: shared,
      post: {
        operationId: 'searchBoats',
        tags: ['boats'],
        summary: 'Search boats',
        description: 'Answers the boats that match.',
        'x-roles': ['BOAT_R'],
        'x-rate-limit': 'read',
        'x-body-limit': 'search',
        'x-idempotent': true,
        requestBody: { required: true, content: content('boats/BoatSearchRequest', 'boats/boats_search') },
        responses: { '200': answer('boats/BoatPage', 'boats/boats_page'), ...problems(...everywhere, ...withBody) },
      },
    },
    'paths/boats/boat.yaml': {
      parameters: [ref('../../parameters/Id.yaml'), ...shared],
      get: {
        operationId: 'getBoat',
        tags: ['boats'],
        summary: 'Read a boat',
        description: 'Answers a boat.',
        'x-roles': ['BOAT_R'],
        'x-rate-limit': 'read',
        'x-idempotent': true,
        responses: { '200': answer('boats/Boat', 'boats/boat', 'ETag'), ...problems(...everywhere, '404') },
      },
    },
    'paths/boats/boats.yaml': {
      parameters: shared,
      post: {
        operationId: 'createBoat',
        tags: ['boats'],
        summary: 'Make a boat',
        description: 'Makes a boat.',
        'x-roles': ['BOAT_W'],
        'x-rate-limit': 'write',
        'x-body-limit': 'write',
        'x-idempotent': 'key',
        parameters: [ref('../../parameters/IdempotencyKey.yaml')],
        requestBody: { required: true, content: content('boats/BoatCreateRequest', 'boats/boat_request') },
        responses: {
          '201': answer('boats/Boat', 'boats/boat', 'Location', 'Idempotency-Replayed'),
          ...problems(...everywhere, ...withBody, '409'),
        },
      },
    },
    'paths/boats/api_boat.yaml': {
      parameters: [ref('../../parameters/BoatId.yaml'), ...shared],
      patch: {
        operationId: 'updateBoat',
        tags: ['boats'],
        summary: 'Change a boat',
        description: 'Changes a boat.',
        'x-roles': ['BOAT_W'],
        'x-rate-limit': 'write',
        'x-body-limit': 'write',
        'x-idempotent': false,
        parameters: [ref('../../parameters/IfMatch.yaml')],
        requestBody: { required: true, content: content('boats/BoatUpdateRequest', 'boats/boat_request') },
        responses: {
          '200': answer('boats/Boat', 'boats/boat', 'ETag'),
          ...problems(...everywhere, ...withBody, '404', '412'),
        },
      },
    },
    'webhooks/boat_created.yaml': {
      post: {
        operationId: 'boatCreated',
        'x-event': { entityType: 'Boat', operation: 'CREATE' },
        parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'traceparent'].map((name) =>
          parameter(name, 'header'),
        ),
        responses: { '2XX': { description: 'Received.' }, '410': { description: 'No more.' } },
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                allOf: [
                  ref('../schemas/events/EventEnvelope.yaml'),
                  {
                    type: 'object',
                    properties: {
                      entityType: { const: 'Boat' },
                      operation: { const: 'CREATE' },
                      data: ref('../schemas/boats/Boat.yaml'),
                    },
                  },
                ],
                unevaluatedProperties: false,
              },
              examples: { boat_created: ref('../examples/boats/boat_created.yaml') },
            },
          },
        },
      },
    },
    'schemas/events/EventEnvelope.yaml': {
      type: 'object',
      description: 'What every event says.',
      required: ['entityType', 'operation', 'data'],
      properties: {
        entityType: text,
        operation: { type: 'string', enum: ['CREATE', 'UPDATE'], description: 'What happened.' },
        data: { type: 'object', description: 'The row.' },
      },
    },
    'schemas/common/Role.yaml': { type: 'string', enum: ['BOAT_R', 'BOAT_W'], description: 'A role.' },
    'schemas/common/Uuid.yaml': { type: 'string', format: 'uuid', maxLength: 36, description: 'An id.' },
    'schemas/common/Instant.yaml': { type: 'string', format: 'date-time', maxLength: 35, description: 'An instant.' },
    'schemas/common/Money.yaml': {
      type: 'string',
      format: 'decimal',
      pattern: '^[0-9]+[.][0-9]{2}$',
      maxLength: 16,
      'x-scale': 2,
      description: 'Money.',
    },
    'schemas/common/TextFilter.yaml': {
      type: 'object',
      description: 'A condition on a text.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators({ type: 'string', maxLength: 100 }),
    },
    'schemas/common/UuidFilter.yaml': {
      type: 'object',
      description: 'A condition on an id.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators(ref('./Uuid.yaml')),
    },
    'schemas/common/OrderDirection.yaml': { type: 'string', enum: ['asc', 'desc'], description: 'A direction.' },
    'schemas/common/EntityBase.yaml': {
      type: 'object',
      description: 'What every row has.',
      required: ['id', 'version', 'createdAt'],
      properties: {
        id: { ...ref('./Uuid.yaml'), readOnly: true },
        version: { type: 'integer', minimum: 1, maximum: 1000, readOnly: true, description: 'The version.' },
        createdAt: { ...ref('./Instant.yaml'), readOnly: true },
      },
    },
    'schemas/common/Problem.yaml': {
      type: 'object',
      description: 'What went wrong.',
      required: ['status'],
      properties: { status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status.' } },
    },
    'schemas/boats/Harbor.yaml': { type: 'object', description: 'A harbor.', additionalProperties: false },
    'schemas/boats/BoatStatus.yaml': { type: 'string', enum: ['AFLOAT', 'ASHORE'], description: 'Where it is.' },
    'schemas/boats/BoatStatusFilter.yaml': {
      type: 'object',
      description: 'A condition on the status.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators(ref('./BoatStatus.yaml')),
    },
    'schemas/boats/BoatFields.yaml': {
      type: 'object',
      description: 'What a caller may write.',
      properties: {
        name: { ...text, 'x-unique': true },
        status: { ...ref('./BoatStatus.yaml'), 'x-on-create': { value: 'ASHORE' } },
        harborId: { ...ref('../common/Uuid.yaml'), 'x-references': 'Harbor' },
        homeCode: { ...text, 'x-references-by': { key: 'name', types: ['Boat'] } },
        feeAmount: ref('../common/Money.yaml'),
        launchedAt: ref('../common/Instant.yaml'),
      },
    },
    'schemas/boats/Boat.yaml': {
      type: 'object',
      description: 'A boat.',
      'x-record': {
        operations: ['UPSERT'],
        readRoles: ['BOAT_R'],
        writeRoles: ['BOAT_W'],
        recordsUrl: '/gql/v1/boats/search',
      },
      required: ['name', 'status', 'harborId', 'homeCode', 'feeAmount', 'launchedAt'],
      allOf: [ref('../common/EntityBase.yaml'), ref('./BoatFields.yaml')],
      unevaluatedProperties: false,
    },
    'schemas/boats/BoatPage.yaml': {
      type: 'object',
      description: 'A page of boats.',
      additionalProperties: false,
      required: ['data', 'home'],
      properties: {
        data: { type: 'array', maxItems: 10, description: 'The boats.', items: ref('./Boat.yaml') },
        home: ref('./Harbor.yaml'),
      },
    },
    'schemas/boats/BoatColumns.yaml': {
      type: 'object',
      description: 'The columns of a boat.',
      properties: {
        name: ref('../common/TextFilter.yaml'),
        status: ref('./BoatStatusFilter.yaml'),
        harborId: ref('../common/UuidFilter.yaml'),
      },
    },
    'schemas/boats/BoatWhere.yaml': {
      type: 'object',
      description: 'Which boats are wanted.',
      allOf: [
        ref('./BoatColumns.yaml'),
        {
          type: 'object',
          properties: {
            _not: ref('./BoatWhere.yaml'),
            _and: { type: 'array', maxItems: 9, items: ref('./BoatWhere.yaml') },
          },
        },
      ],
      unevaluatedProperties: false,
    },
    'schemas/boats/BoatOrderBy.yaml': {
      type: 'object',
      description: 'A key to sort by.',
      additionalProperties: false,
      properties: { name: ref('../common/OrderDirection.yaml') },
    },
    'schemas/boats/BoatSearchRequest.yaml': {
      type: 'object',
      description: 'Which boats are wanted, and in which order.',
      additionalProperties: false,
      properties: {
        where: ref('./BoatWhere.yaml'),
        orderBy: { type: 'array', maxItems: 5, description: 'The keys.', items: ref('./BoatOrderBy.yaml') },
      },
      not: { required: ['where', 'orderBy'], properties: { orderBy: { type: 'array' } } },
    },
    'schemas/boats/BoatCreateRequest.yaml': {
      type: 'object',
      description: 'A new boat.',
      required: ['name'],
      allOf: [ref('./BoatFields.yaml')],
      unevaluatedProperties: false,
    },
    'schemas/boats/BoatUpdateRequest.yaml': {
      type: 'object',
      description: 'What changes.',
      minProperties: 1,
      allOf: [ref('./BoatFields.yaml')],
      unevaluatedProperties: false,
    },
    'parameters/Id.yaml': parameter('id', 'path', { required: true }),
    'parameters/BoatId.yaml': parameter('boatId', 'path', { required: true }),
    'parameters/Tenant.yaml': parameter('Tenant', 'header', { required: true }),
    'parameters/OptionalTenant.yaml': parameter('Tenant', 'header'),
    'parameters/Traceparent.yaml': parameter('traceparent', 'header'),
    'parameters/ClientIdHeader.yaml': parameter('X-Client-Id', 'header'),
    'parameters/IdempotencyKey.yaml': parameter('Idempotency-Key', 'header'),
    'parameters/IfMatch.yaml': parameter('If-Match', 'header'),
    'parameters/Text.yaml': parameter('text', 'query', { schema: text }),
  };
  for (const name of [
    ...common,
    'ETag',
    'Location',
    'Idempotency-Replayed',
    'Cache-Control',
    'WWW-Authenticate',
    'Retry-After',
  ]) {
    files[`headers/${name}.yaml`] = header(name);
  }
  const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
  const launchedAt = '2026-03-02T17:04:11.382Z';
  const fields = { name: 'Ida', status: 'AFLOAT', harborId: id, homeCode: 'PDX', feeAmount: '12.50', launchedAt };
  const boat = { id, version: 1, createdAt: launchedAt, ...fields };
  const values: Record<string, JsonObject> = {
    boat,
    boat_request: { name: 'Ida' },
    boats_page: { data: [boat], home: {} },
    boats_search: { where: { name: { _eq: 'Ida' } } },
    boat_created: { entityType: 'Boat', operation: 'CREATE', data: boat },
  };
  for (const [name, value] of Object.entries(values)) files[`examples/boats/${name}.yaml`] = { summary: name, value };
  const special: Record<string, string[]> = {
    '401': ['X-Request-Id', 'WWW-Authenticate'],
    '429': [...common, 'Retry-After'],
    '503': ['X-Request-Id', 'Retry-After'],
  };
  for (const status of [...everywhere, ...withBody, '404', '409', '412']) {
    files[`schemas/common/Problem${status}.yaml`] = {
      type: 'object',
      description: 'What went wrong, and nothing more.',
      allOf: [ref('./Problem.yaml'), { type: 'object', properties: { status: { const: Number(status) } } }],
      unevaluatedProperties: false,
    };
    files[`examples/common/problem${status}.yaml`] = { summary: 'A problem', value: { status: Number(status) } };
    files[`responses/Problem${status}.yaml`] = {
      description: 'A problem.',
      headers: Object.fromEntries((special[status] ?? common).map((name) => [name, ref(`../headers/${name}.yaml`)])),
      content: {
        'application/problem+json': {
          schema: ref(`../schemas/common/Problem${status}.yaml`),
          examples: { problem: ref(`../examples/common/problem${status}.yaml`) },
        },
      },
    };
  }
  return structuredClone(files);
}
