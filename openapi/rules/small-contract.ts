/**
 * A small contract that follows every rule: boats are searched by POST, created with a key, read and updated
 * one by one; a token comes from a key; and an event reports a new boat.
 */
import { type JsonObject, objectOf } from './contract.ts';

/** The files of a contract by their paths. */
export type Files = Record<string, JsonObject>;

const ref = ($ref: string) => ({ $ref });
const text = { type: 'string', minLength: 1, maxLength: 100, description: 'Some text.' };

const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
const problem = { type: 'urn:x', title: 'X', detail: 'It is invalid.', instance: 'urn:x', requestId: id };
const invalidName = { errors: [{ in: 'body', pointer: '', code: 'REQUIRED', detail: 'It is missing.' }] };
/** Of some statuses only one code can come. */
const codes: Record<string, string> = {
  '400': 'VALIDATION_ERROR',
  '403': 'FORBIDDEN',
  '409': 'IDEMPOTENCY_KEY_REUSED',
};
const ofProblems = ['code', ...Object.keys(problem)];

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
    description: 'The response.',
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

const weights = {
  condition: 1,
  hundredValues: 1,
  pattern: 2,
  unanchoredPattern: 5,
  relation: 10,
  negatedRelation: 15,
};
const costTable = [
  'A clause that costs more than 100 is rejected. One that costs 10 or more is costly.',
  '| part | cost |',
  '|---|---|',
  ...Object.entries(weights).map(([part, cost]) => `| ${part} | ${cost} |`),
].join('\n');

export function smallContract(): Files {
  const files: Files = {
    'openapi.yaml': {
      openapi: '3.1.0',
      info: { title: 'Boats', version: '1.0.0', description: costTable },
      tags: [{ name: 'boats', 'x-displayName': 'Boats', description: 'Boats.' }],
      components: { schemas: { Role: ref('schemas/common/Role.yaml') } },
      'x-rate-limit-policies': {
        token: { limit: 1, window: 1 },
        read: { limit: 1, window: 1 },
        write: { limit: 1, window: 1 },
      },
      'x-search-limits': { depth: 8, predicates: 64, cost: 100, costly: 10, weights },
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
        description: 'Returns a token.',
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
        description: 'Returns the boats that match.',
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
        summary: 'Get a boat',
        description: 'Returns a boat.',
        'x-roles': ['BOAT_R'],
        'x-rate-limit': 'read',
        'x-idempotent': true,
        parameters: [ref('../../parameters/IfNoneMatch.yaml')],
        responses: {
          '200': answer('boats/Boat', 'boats/boat', 'ETag'),
          '304': { description: 'Nothing has changed.', headers: headers(...common, 'ETag') },
          ...problems(...everywhere, '404'),
          '400': ref('../../responses/InvalidId.yaml'),
        },
      },
    },
    'paths/boats/boats.yaml': {
      parameters: shared,
      post: {
        operationId: 'createBoat',
        tags: ['boats'],
        summary: 'Create a boat',
        description: 'Creates a boat.',
        'x-roles': ['BOAT_W'],
        'x-rate-limit': 'write',
        'x-body-limit': 'write',
        'x-idempotent': 'key',
        parameters: [ref('../../parameters/IdempotencyKey.yaml')],
        requestBody: { required: true, content: content('boats/BoatCreateRequest', 'boats/boat_request') },
        responses: {
          '201': answer('boats/Boat', 'boats/boat', 'Location', 'ETag', 'Idempotency-Replayed'),
          ...problems(...everywhere, ...withBody, '409'),
        },
      },
    },
    'paths/boats/api_boat.yaml': {
      parameters: [ref('../../parameters/BoatId.yaml'), ...shared],
      patch: {
        operationId: 'updateBoat',
        tags: ['boats'],
        summary: 'Update a boat',
        description: 'Updates a boat.',
        'x-roles': ['BOAT_W'],
        'x-rate-limit': 'write',
        'x-body-limit': 'write',
        'x-idempotent': false,
        parameters: [ref('../../parameters/IfMatch.yaml'), ref('../../parameters/IdempotencyKey.yaml')],
        requestBody: { required: true, content: content('boats/BoatUpdateRequest', 'boats/boat_request') },
        responses: {
          '200': answer('boats/Boat', 'boats/boat', 'ETag', 'Idempotency-Replayed'),
          ...problems(...everywhere, ...withBody, '404', '412', '409'),
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
      description: 'Fields of every event.',
      required: ['entityType', 'operation', 'data'],
      properties: {
        entityType: text,
        operation: { type: 'string', enum: ['CREATE', 'UPDATE'], description: 'What happened.' },
        data: { type: 'object', description: 'The row.' },
      },
    },
    'schemas/common/Role.yaml': {
      type: 'string',
      enum: ['BOAT_R', 'BOAT_W'],
      description: 'A role: `BOAT_R` reads, `BOAT_W` writes.',
    },
    'schemas/common/Uuid.yaml': { type: 'string', format: 'uuid', maxLength: 36, description: 'An ID.' },
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
      description: 'Condition on a text.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators({ type: 'string', maxLength: 100 }),
    },
    'schemas/common/UuidFilter.yaml': {
      type: 'object',
      description: 'Condition on an ID.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators(ref('./Uuid.yaml')),
    },
    'schemas/common/DecimalFilter.yaml': {
      type: 'object',
      description: 'Condition on a number.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators(ref('./Money.yaml')),
    },
    'schemas/common/OrderDirection.yaml': {
      type: 'string',
      enum: ['asc', 'desc'],
      description: 'A direction: `asc` or `desc`.',
    },
    'schemas/common/EntityBase.yaml': {
      type: 'object',
      description: 'Fields of every row.',
      'x-entity': true,
      required: ['id', 'version', 'createdAt'],
      properties: {
        id: ref('./Uuid.yaml'),
        version: { type: 'integer', minimum: 1, maximum: 1000, description: 'The version.' },
        createdAt: ref('./Instant.yaml'),
      },
    },
    'schemas/common/Problem.yaml': {
      type: 'object',
      description: 'Problem details.',
      required: ['status', ...ofProblems],
      properties: {
        status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status.' },
        ...Object.fromEntries(ofProblems.map((name) => [name, text])),
        errors: {
          type: 'array',
          maxItems: 9,
          description: 'Invalid values. Present if values are invalid.',
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['in', 'pointer', 'code', 'detail'],
            properties: { in: text, pointer: text, code: text, detail: text },
          },
        },
        requestId: ref('./Uuid.yaml'),
      },
    },
    'schemas/boats/Harbor.yaml': { type: 'object', description: 'A harbor.', additionalProperties: false },
    'schemas/boats/BoatStatus.yaml': {
      type: 'string',
      enum: ['AFLOAT', 'ASHORE', 'SUNK'],
      description: 'Location of a boat: `AFLOAT`, `ASHORE` or `SUNK`.',
      'x-state-machine': {
        initial: ['ASHORE'],
        operations: ['updateBoat'],
        transitions: [
          { from: ['ASHORE'], to: 'AFLOAT', roles: ['BOAT_W'], conditions: ['isTight'] },
          { from: ['AFLOAT'], to: 'ASHORE', operations: ['updateBoat'], events: ['stormReported'] },
          { from: ['AFLOAT'], to: 'SUNK', events: ['hullBroken'] },
        ],
        conditions: { isTight: 'The hull has no leak.' },
      },
    },
    'schemas/boats/BoatStatusFilter.yaml': {
      type: 'object',
      description: 'A condition on the status.',
      additionalProperties: false,
      minProperties: 1,
      properties: operators(ref('./BoatStatus.yaml')),
    },
    'schemas/boats/BoatFields.yaml': {
      type: 'object',
      description: 'Fields that a caller can write.',
      properties: {
        name: { ...text, 'x-unique': true },
        status: { ...ref('./BoatStatus.yaml'), 'x-on-create': { value: 'ASHORE' } },
        harborId: { ...ref('../common/Uuid.yaml'), 'x-references': 'Harbor' },
        homeCode: {
          ...text,
          type: ['string', 'null'],
          'x-references-by': { key: 'name', types: ['Boat'] },
          'x-read-roles': ['BOAT_R'],
          'x-write-roles': ['BOAT_W'],
        },
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
      required: ['data', 'home', 'hasMore'],
      'x-paging': 'offset',
      properties: {
        hasMore: { type: 'boolean', description: 'Whether there are more boats.' },
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
        feeAmount: ref('../common/DecimalFilter.yaml'),
      },
    },
    'schemas/boats/BoatWhere.yaml': {
      type: 'object',
      description: 'Boat filter.',
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
      description: 'Filter and order of a search of boats.',
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
      description: 'Fields to update.',
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
    'parameters/IfNoneMatch.yaml': parameter('If-None-Match', 'header'),
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
  const launchedAt = '2026-03-02T17:04:11.382Z';
  const fields = { name: 'Ida', status: 'AFLOAT', harborId: id, homeCode: 'PDX', feeAmount: '12.50', launchedAt };
  const boat = { id, version: 1, createdAt: launchedAt, ...fields };
  const values: Record<string, JsonObject> = {
    boat,
    boat_request: { name: 'Ida' },
    boats_page: { data: [boat], home: {}, hasMore: false },
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
      description: 'Problem details of one status.',
      allOf: [ref('./Problem.yaml'), { type: 'object', properties: { status: { const: Number(status) } } }],
      unevaluatedProperties: false,
    };
    files[`examples/common/problem${status}.yaml`] = {
      summary: 'A problem',
      value: { status: Number(status), code: codes[status] ?? 'X', ...problem, ...(status === '400' && invalidName) },
    };
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
  const { summary, value } = files['examples/common/problem400.yaml'] ?? {};
  const errors = [{ in: 'path', pointer: '/id', code: 'PATTERN', detail: 'It does not match.' }];
  files['examples/common/invalid_id.yaml'] = { summary, value: { ...objectOf(value), errors } };
  files['responses/InvalidId.yaml'] = {
    ...files['responses/Problem400.yaml'],
    content: {
      'application/problem+json': {
        schema: ref('../schemas/common/Problem400.yaml'),
        examples: { id: ref('../examples/common/invalid_id.yaml') },
      },
    },
  };
  files['headers/Location.yaml'] = { ...header('Location'), example: `/gql/v1/boat/${id}` };
  return structuredClone(files);
}
