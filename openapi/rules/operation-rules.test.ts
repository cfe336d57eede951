import { describe, expect, test } from 'vitest';
import type { Files } from './small-contract.ts';
import { sentences, set } from './testing.ts';

const search = 'paths/boats/boats_search.yaml';
const boat = 'paths/boats/boat.yaml';
const create = 'paths/boats/boats.yaml';
const update = 'paths/boats/api_boat.yaml';
const token = 'paths/authentication/auth_token.yaml';
const problem = (status: string) => `examples/common/problem${status}.yaml`;
const ref = ($ref: string) => ({ $ref });

type Case = [what: string, change: (files: Files) => void, sentence: RegExp];

const cases: Record<string, Case[]> = {
  'example-problems': [
    [
      'a code that the description does not mention',
      (files) => set(files, problem('409'), ['value', 'code'], 'DUPLICATE_REF'),
      /Remove the example with the code DUPLICATE_REF, or describe in createBoat/,
    ],
    [
      'a code of idempotency without a key',
      (files) => {
        set(files, create, ['post', 'parameters'], undefined);
      },
      /Remove the example with the code IDEMPOTENCY_KEY_REUSED/,
    ],
    [
      'a cursor where there is none',
      (files) => set(files, problem('400'), ['value', 'code'], 'INVALID_CURSOR'),
      /Remove the example with the code INVALID_CURSOR, or describe in createBoat/,
    ],
    [
      'a pointer to a property that the body lacks',
      (files) => set(files, problem('400'), ['value', 'errors', 0, 'pointer'], '/sail'),
      /a problem of createBoat: its body has no value at "\/sail"/,
    ],
    [
      'a pointer to a parameter that the operation lacks',
      (files) => set(files, 'examples/common/invalid_id.yaml', ['value', 'errors', 0, 'pointer'], '/boatId'),
      /a problem of getBoat: its path has no value at "\/boatId"/,
    ],
    [
      'a parameter of another place',
      (files) => set(files, 'examples/common/invalid_id.yaml', ['value', 'errors', 0, 'in'], 'query'),
      /a problem of getBoat: its query has no value at "\/id"/,
    ],
    [
      'a 400 about nothing of the operation',
      (files) => set(files, problem('400'), ['value', 'errors'], []),
      /Show a 400 of createBoat with an invalid value in its body/,
    ],
    [
      'a code without an example',
      (files) => {
        files['schemas/common/ProblemCode.yaml'] = {
          type: 'string',
          enum: ['FORBIDDEN', 'LOCKED'],
          description: 'Code.',
        };
        set(files, 'openapi.yaml', ['components', 'schemas', 'ProblemCode'], ref('schemas/common/ProblemCode.yaml'));
      },
      /Show an example with the code LOCKED/,
    ],
  ],
  'example-references': [
    [
      'an ID that no example has',
      (files) => {
        const parentId = { ...ref('../common/Uuid.yaml'), 'x-references': 'Boat', description: 'Parent.' };
        set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'parentId'], parentId);
        set(files, 'examples/boats/boat_request.yaml', ['value', 'parentId'], '0199a1c2-0c01-7c01-8a4f-5d2e9b60f199');
      },
      /parentId 0199a1c2-0c01-7c01-8a4f-5d2e9b60f199 is not one/,
    ],
    [
      'an ID in a list',
      (files) => {
        const items = { ...ref('../common/Uuid.yaml'), 'x-references': 'Boat' };
        const fleetIds = { type: 'array', maxItems: 9, description: 'Fleet.', items };
        set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'fleetIds'], fleetIds);
        set(files, 'examples/boats/boat_request.yaml', ['value', 'fleetIds'], ['0199a1c2-0c01-7c01-8a4f-5d2e9b60f199']);
      },
      /fleetIds 0199a1c2-0c01-7c01-8a4f-5d2e9b60f199 is not one/,
    ],
  ],
  locations: [
    [
      'an example that is not a path',
      (files) => set(files, 'headers/Location.yaml', ['example'], '/boats/1'),
      /a path with GET: \/boats\/1 is not one/,
    ],
    [
      'a path without GET',
      (files) => set(files, 'headers/Location.yaml', ['example'], '/api/v1/boats/0199a1c2-0c01-7c01-8a4f-5d2e9b60f101'),
      /is not one/,
    ],
    [
      'a creation without it',
      (files) => set(files, create, ['post', 'responses', '201', 'headers', 'Location'], undefined),
      /Declare the header Location of createBoat/,
    ],
    [
      'an ID that the body does not have',
      (files) => set(files, 'headers/Location.yaml', ['example'], '/gql/v1/boat/0199a1c2-0c01-7c01-8a4f-5d2e9b60f199'),
      /Show the same resource in Location of createBoat and in the body/,
    ],
  ],
  'operation-id': [
    [
      'a verb that is not in the table',
      (files) => set(files, boat, ['get', 'operationId'], 'fetchBoat'),
      /verbs are get, list/,
    ],
    ['a verb of another method', (files) => set(files, update, ['patch', 'operationId'], 'createBoat'), /for PATCH/],
    ['snake case', (files) => set(files, boat, ['get', 'operationId'], 'get_boat'), /camelCase/],
  ],
  deprecations: [
    [
      'a deprecated operation without its days',
      (files) => set(files, boat, ['get', 'deprecated'], true),
      /both `deprecated` and `x-deprecation`/,
    ],
    [
      'a sunset too early',
      (files) => {
        set(files, boat, ['get', 'deprecated'], true);
        set(files, boat, ['get', 'x-deprecation'], { since: '2026-10-01', sunset: '2027-03-31' });
      },
      /until 2027-04-01/,
    ],
  ],
  'operation-tag': [
    ['two tags', (files) => set(files, boat, ['get', 'tags'], ['boats', 'ships']), /exactly one tag/],
    [
      'a tag that is not the folder',
      (files) => set(files, boat, ['get', 'tags'], ['ships']),
      /name of its folder, `boats`/,
    ],
    [
      'a tag of its own for an extension',
      (files) => {
        set(files, boat, ['get', 'x-extension'], true);
        set(files, boat, ['get', 'tags'], ['extensions']);
      },
      /name of its folder, `boats`/,
    ],
  ],
  'path-file': [
    [
      'a name that does not follow from the path',
      (files) => {
        files['paths/boats/get_boat.yaml'] = files[boat] ?? {};
        set(files, 'openapi.yaml', ['paths', '/gql/v1/boat/{id}'], ref('paths/boats/get_boat.yaml'));
      },
      /paths\/<tag>\/boat\.yaml/,
    ],
    [
      'a path written in place',
      (files) => set(files, 'openapi.yaml', ['paths', '/gql/v1/boat/{id}'], {}),
      /a file of its own/,
    ],
    ['capitals in a path', (files) => set(files, 'openapi.yaml', ['paths', '/gql/v1/Boats'], ref(boat)), /lower case/],
  ],
  parameters: [
    [
      'no tenant',
      (files) => set(files, boat, ['parameters', 1], ref('../../parameters/Text.yaml')),
      /Declare the header Tenant/,
    ],
    [
      'a tenant that may be left out',
      (files) => set(files, boat, ['parameters', 1], ref('../../parameters/OptionalTenant.yaml')),
      /Require `Tenant`/,
    ],
    [
      'a tenant that the token call requires',
      (files) => set(files, token, ['parameters', 0], ref('../../parameters/Tenant.yaml')),
      /only there/,
    ],
    [
      'a change of one row without If-Match',
      (files) => set(files, update, ['patch', 'parameters'], []),
      /Declare `If-Match`/,
    ],
    [
      'a read of one row without If-None-Match',
      (files) => set(files, boat, ['get', 'parameters'], []),
      /Declare `If-None-Match`/,
    ],
    ['a name in snake case', (files) => set(files, 'parameters/Id.yaml', ['name'], 'boat_id'), /in camelCase/],
    [
      'a part of the path that may be missing',
      (files) => set(files, 'parameters/Id.yaml', ['required'], undefined),
      /Require the parameter id/,
    ],
    [
      'a parameter that the path lacks',
      (files) => set(files, boat, ['parameters', 0], ref('../../parameters/BoatId.yaml')),
      /does not have it/,
    ],
  ],
  statuses: [
    [
      'a status missing that any call can have',
      (files) => set(files, boat, ['get', 'responses', '503'], undefined),
      /Declare 503/,
    ],
    [
      '403 missing where a role is needed',
      (files) => set(files, boat, ['get', 'responses', '403'], undefined),
      /Declare 403/,
    ],
    [
      '304 missing beside If-None-Match',
      (files) => set(files, boat, ['get', 'responses', '304'], undefined),
      /Declare 304/,
    ],
    [
      '404 missing beside a parameter',
      (files) => set(files, boat, ['get', 'responses', '404'], undefined),
      /Declare 404/,
    ],
    [
      '415 missing beside a body',
      (files) => set(files, search, ['post', 'responses', '415'], undefined),
      /Declare 415/,
    ],
    [
      '413 without a body',
      (files) => set(files, boat, ['get', 'responses', '413'], ref('../../responses/Problem413.yaml')),
      /Remove 413/,
    ],
    [
      '412 missing beside If-Match',
      (files) => set(files, update, ['patch', 'responses', '412'], undefined),
      /Declare 412/,
    ],
    ['409 missing beside a key', (files) => set(files, create, ['post', 'responses', '409'], undefined), /Declare 409/],
    [
      'a status of no meaning',
      (files) => set(files, boat, ['get', 'responses', '418'], ref('../../responses/Problem404.yaml')),
      /Remove 418/,
    ],
    [
      'two successes',
      (files) => set(files, boat, ['get', 'responses', '202'], { description: 'x' }),
      /exactly one status of success/,
    ],
  ],
  responses: [
    [
      'a success without its limit',
      (files) => set(files, boat, ['get', 'responses', '200', 'headers', 'RateLimit'], undefined),
      /header RateLimit/,
    ],
    [
      'a row without its version',
      (files) => set(files, boat, ['get', 'responses', '200', 'headers', 'ETag'], undefined),
      /header ETag/,
    ],
    [
      'a version of what is not a row',
      (files) => set(files, search, ['post', 'responses', '200', 'headers', 'ETag'], ref('../../headers/ETag.yaml')),
      /Remove the header ETag/,
    ],
    [
      'a new row without its version',
      (files) => set(files, create, ['post', 'responses', '201', 'headers', 'ETag'], undefined),
      /header ETag for 201/,
    ],
    [
      'a body of 304',
      (files) => set(files, boat, ['get', 'responses', '304', 'content'], { 'application/json': {} }),
      /Remove the content of 304/,
    ],
    [
      '201 without a place',
      (files) => set(files, create, ['post', 'responses', '201', 'headers', 'Location'], undefined),
      /header Location/,
    ],
    [
      'a key whose replay does not show',
      (files) => set(files, create, ['post', 'responses', '201', 'headers', 'Idempotency-Replayed'], undefined),
      /header Idempotency-Replayed/,
    ],
    [
      'a token that caches may keep',
      (files) => set(files, token, ['post', 'responses', '200', 'headers', 'Cache-Control'], undefined),
      /Cache-Control/,
    ],
    [
      'an error without its limit',
      (files) => set(files, 'responses/Problem403.yaml', ['headers', 'RateLimit'], undefined),
      /RateLimit for 403/,
    ],
    [
      'an error of no form',
      (files) => set(files, 'responses/Problem404.yaml', ['content', 'application/problem+json', 'schema'], undefined),
      /a `schema`/,
    ],
    [
      'a problem of another status',
      (files) =>
        set(
          files,
          'responses/Problem404.yaml',
          ['content', 'application/problem+json', 'schema'],
          ref('../schemas/common/Problem400.yaml'),
        ),
      /`status` in the problem to 404/,
    ],
    [
      '429 without a time to wait',
      (files) => set(files, 'responses/Problem429.yaml', ['headers', 'Retry-After'], undefined),
      /Retry-After/,
    ],
    [
      'an error as plain JSON',
      (files) => set(files, 'responses/Problem400.yaml', ['content'], { 'application/json': {} }),
      /problem\+json/,
    ],
    [
      'an error of another form',
      (files) =>
        set(
          files,
          'responses/Problem400.yaml',
          ['content', 'application/problem+json', 'schema'],
          ref('../schemas/boats/Harbor.yaml'),
        ),
      /on `Problem`/,
    ],
  ],
  roles: [
    ['no role', (files) => set(files, boat, ['get', 'x-roles'], undefined), /List the roles/],
    ['a role that does not exist', (files) => set(files, boat, ['get', 'x-roles'], ['BOAT_X']), /`BOAT_X` is not one/],
    [
      'a role of a field that does not exist',
      (files) => set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'homeCode', 'x-read-roles'], ['BOAT_X']),
      /`BOAT_X` is not one/,
    ],
    [
      'an implied role that does not exist',
      (files) =>
        set(files, 'schemas/common/Role.yaml', ['x-implied-roles'], {
          everyone: ['BOAT_X'],
          administrator: 'BOAT_Y',
          exceptions: ['BOAT_R'],
        }),
      /`BOAT_Y` is not one/,
    ],
    [
      'a role for a value that does not exist',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['x-value-roles'], { AFLOAT: ['BOAT_X'] }),
      /`BOAT_X` is not one/,
    ],
    [
      'roles of a value that does not exist',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['x-value-roles'], { SUNK_TWICE: ['BOAT_R'] }),
      /`SUNK_TWICE` is not one/,
    ],
    [
      'roles of a value that a boolean does not have',
      (files) =>
        set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'isAfloat'], {
          type: 'boolean',
          description: 'Whether it floats.',
          'x-value-roles': { yes: ['BOAT_R'] },
        }),
      /`yes` is not one/,
    ],
    [
      'a role of a transition that does not exist',
      (files) =>
        set(files, 'schemas/boats/BoatStatus.yaml', ['x-state-machine', 'transitions', 0, 'roles'], ['BOAT_X']),
      /`BOAT_X` is not one/,
    ],
    [
      'a marker beside a role',
      (files) => set(files, boat, ['get', 'x-roles'], ['ANY', 'BOAT_R']),
      /must be the only one/,
    ],
    ['a public call that wants a token', (files) => set(files, token, ['post', 'security'], undefined), /both/],
    [
      'a record role that does not exist',
      (files) => set(files, 'schemas/boats/Boat.yaml', ['x-record', 'readRoles'], ['NO']),
      /`NO`/,
    ],
    ['no list of roles', (files) => set(files, 'openapi.yaml', ['components'], {}), /schema `Role`/],
  ],
  limits: [
    [
      'a policy that does not exist',
      (files) => set(files, boat, ['get', 'x-rate-limit'], 'fast'),
      /token, read, write/,
    ],
    ['a policy missing', (files) => set(files, boat, ['get', 'x-rate-limit'], undefined), /Name a policy/],
    ['a read that counts as a write', (files) => set(files, boat, ['get', 'x-rate-limit'], 'write'), /policy `read`/],
    [
      'the policy of the token elsewhere',
      (files) => set(files, create, ['post', 'x-rate-limit'], 'token'),
      /only for them/,
    ],
    ['a body without a limit', (files) => set(files, search, ['post', 'x-body-limit'], undefined), /largest body/],
    ['a limit without a body', (files) => set(files, boat, ['get', 'x-body-limit'], 'search'), /Remove `x-body-limit`/],
    [
      'a weight that the table does not show',
      (files) => set(files, 'openapi.yaml', ['x-search-limits', 'weights', 'relation'], 11),
      /in this order: 1, 1, 2, 5, 11, 15/,
    ],
    [
      'a limit of the cost that the text does not say',
      (files) => set(files, 'openapi.yaml', ['x-search-limits', 'cost'], 90),
      /costs more than 90/,
    ],
    [
      'a cost of costly searches that the text does not say',
      (files) => set(files, 'openapi.yaml', ['x-search-limits', 'costly'], 20),
      /costs 20 or more/,
    ],
    [
      'limits of JSON bodies that the text does not say',
      (files) =>
        set(files, 'openapi.yaml', ['x-json-limits'], {
          depth: 1,
          values: 2,
          digits: 3,
          nameLength: 4,
          combiningMarks: 5,
        }),
      /these limits: 1, 2, 3, 4, 5/,
    ],
    [
      'a size of bulk writes that the text does not say',
      (files) => set(files, 'openapi.yaml', ['x-write-limits'], { bulk: 20 }),
      /A write of 20 items or more/,
    ],
    [
      'a size of pages that the text does not say',
      (files) => set(files, 'openapi.yaml', ['x-page-bytes'], 2 ** 21),
      /a page ends at 2 MiB/,
    ],
    [
      'a limit of rows that no description says',
      (files) => set(files, 'openapi.yaml', ['x-row-limits'], { fleet: 3000 }),
      /limit `fleet` applies to .* "more than 3,000"/,
    ],
    [
      'an unknown limit of tenants',
      (files) => set(files, create, ['post', 'x-tenant-limit'], 'boats'),
      /Name a limit in `x-tenant-limit`/,
    ],
  ],
  repetition: [
    [
      'nothing said',
      (files) => set(files, boat, ['get', 'x-idempotent'], undefined),
      /can be repeated: true, false, key or systemRef/,
    ],
    ['a key that is not taken', (files) => set(files, create, ['post', 'parameters'], []), /`Idempotency-Key`/],
    ['a read that may not be repeated', (files) => set(files, boat, ['get', 'x-idempotent'], false), /a GET can/],
    ['a search that may not be repeated', (files) => set(files, search, ['post', 'x-idempotent'], false), /a read can/],
    ['a creation that is repeated', (files) => set(files, create, ['post', 'x-idempotent'], true), /two rows/],
  ],
  examples: [
    [
      'an answer without an example',
      (files) => set(files, boat, ['get', 'responses', '200', 'content', 'application/json', 'examples'], undefined),
      /at least one example/,
    ],
    [
      'a body without an example',
      (files) => set(files, search, ['post', 'requestBody', 'content', 'application/json', 'examples'], {}),
      /at least one example/,
    ],
    [
      'a parameter without an example',
      (files) => set(files, 'parameters/Tenant.yaml', ['example'], undefined),
      /example to the parameter/,
    ],
    [
      'a header without an example',
      (files) => set(files, 'headers/ETag.yaml', ['example'], undefined),
      /example to the header/,
    ],
    [
      'an example without a summary',
      (files) => set(files, 'examples/boats/boat.yaml', ['summary'], undefined),
      /`summary`/,
    ],
    ['an example without a value', (files) => set(files, 'examples/boats/boat.yaml', ['value'], undefined), /`value`/],
    [
      'an example written in place',
      (files) =>
        set(files, boat, ['get', 'responses', '200', 'content', 'application/json', 'examples', 'one'], {
          summary: 'x',
          value: 1,
        }),
      /into a file/,
    ],
    [
      'an example in camelCase',
      (files) =>
        set(
          files,
          boat,
          ['get', 'responses', '200', 'content', 'application/json', 'examples', 'oneBoat'],
          ref('../../examples/boats/boat.yaml'),
        ),
      /snake_case/,
    ],
  ],
  'root-references': [
    [
      'something beside the reference of a body',
      (files) =>
        set(files, search, ['post', 'requestBody', 'content', 'application/json', 'schema', 'minProperties'], 1),
      /Wrap the reference/,
    ],
    [
      'something beside the reference of a parameter',
      (files) => set(files, 'parameters/Id.yaml', ['schema'], { $ref: '../schemas/common/Uuid.yaml', minLength: 1 }),
      /Wrap/,
    ],
  ],
  'query-text': [
    [
      'free text in the query',
      (files) => set(files, boat, ['get', 'parameters'], [ref('../../parameters/Text.yaml')]),
      /allowReserved/,
    ],
  ],
  'partial-update-defaults': [
    [
      'a default in the fields',
      (files) => set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'name', 'default'], 'x'),
      /`x-on-create`/,
    ],
    [
      'a default in the body of a change',
      (files) =>
        set(files, 'schemas/boats/BoatUpdateRequest.yaml', ['properties'], {
          note: { type: 'string', maxLength: 1, default: 'x' },
        }),
      /`x-on-create`/,
    ],
  ],
};

for (const [rule, list] of Object.entries(cases)) {
  describe(rule, () => {
    test.for(list)('finds %s', async ([, change, sentence]) => {
      expect(await sentences(rule, change)).toContainEqual(expect.stringMatching(sentence));
    });
  });
}
