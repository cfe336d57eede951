import { describe, expect, test } from 'vitest';
import { objectOf } from './contract.ts';
import { type Files, smallContract } from './small-contract.ts';
import { lint, sentences, set } from './testing.ts';

const ref = ($ref: string) => ({ $ref });
const fields = 'schemas/boats/BoatFields.yaml';
const row = 'schemas/boats/Boat.yaml';
const webhook = 'webhooks/boat_created.yaml';
const body = ['post', 'requestBody', 'content', 'application/json', 'schema'];

/** Puts a property among the fields of a boat. */
function property(name: string, schema: unknown) {
  return (files: Files) => set(files, fields, ['properties', name], schema);
}

/** Puts a rate among the properties of a schema. */
function rated(roles: object, schema = fields) {
  return (files: Files) => {
    const type = {
      ...files['schemas/common/Money.yaml'],
      type: ['string', 'null'],
      'x-scale': 4,
      description: 'A rate.',
    };
    files['schemas/common/NullableRate.yaml'] = type;
    const dayRate = { ...ref('../common/NullableRate.yaml'), description: 'Price of a day.', ...roles };
    set(files, schema, ['properties'], { ...objectOf(files[schema]?.properties), dayRate });
  };
}

/** Changes the state machine of boats. */
function machine(keys: (string | number)[], value: unknown) {
  return (files: Files) => set(files, 'schemas/boats/BoatStatus.yaml', ['x-state-machine', ...keys], value);
}

type Case = [what: string, change: (files: Files) => void, sentence: RegExp];

const cases: Record<string, Case[]> = {
  extensions: [
    ['an extension that is not in the table', (files) => set(files, row, ['x-colour'], 'red'), /Remove `x-colour`/],
    ['one of another place', (files) => set(files, row, ['x-roles'], ['BOAT_R']), /Move `x-roles`/],
    [
      'one of another form',
      (files) => set(files, row, ['x-record', 'operations'], ['ERASE']),
      /Correct the form of `x-record`/,
    ],
    [
      'one beside a reference',
      (files) => set(files, fields, ['properties', 'harborId', 'x-reference'], 'Harbor'),
      /`x-reference`/,
    ],
  ],
  references: [
    [
      'rows that are read nowhere',
      (files) => set(files, row, ['x-record', 'recordsUrl'], '/gql/v1/ships'),
      /path \/gql\/v1\/ships does not exist/,
    ],
    [
      'a reference to no type',
      (files) => set(files, fields, ['properties', 'harborId', 'x-references'], 'Habour'),
      /the schema `Habour` does not exist/,
    ],
    [
      'a reference by no field',
      (files) => set(files, fields, ['properties', 'homeCode', 'x-references-by', 'key'], 'code'),
      /`code` does not exist/,
    ],
  ],
  descriptions: [
    [
      'an operation without a summary',
      (files) => set(files, 'paths/boats/boat.yaml', ['get', 'summary'], undefined),
      /a `summary`/,
    ],
    [
      'a summary with a full stop',
      (files) => set(files, 'paths/boats/boat.yaml', ['get', 'summary'], 'Read.'),
      /60 characters/,
    ],
    [
      'a long summary',
      (files) => set(files, 'paths/boats/boat.yaml', ['get', 'summary'], 'x'.repeat(61)),
      /60 characters/,
    ],
    [
      'an operation without a description',
      (files) => set(files, 'paths/boats/boat.yaml', ['get', 'description'], ''),
      /`description` to the operation/,
    ],
    ['a schema without a description', (files) => set(files, row, ['description'], undefined), /to the schema/],
    ['a property without a description', property('note', { type: 'string', maxLength: 9 }), /to the property note/],
    [
      'a header without a description',
      (files) => set(files, 'headers/ETag.yaml', ['description'], undefined),
      /to the header/,
    ],
  ],
  names: [
    [
      'a property in snake case',
      property('home_port', { type: 'string', maxLength: 9, description: 'x' }),
      /home_port in camelCase/,
    ],
    [
      'a value in lower case',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['enum', 0], 'afloat'),
      /afloat in UPPER_SNAKE/,
    ],
    [
      'a schema in lower case',
      (files) => {
        files['schemas/boats/port.yaml'] = { type: 'object', description: 'A port.', additionalProperties: false };
        set(files, 'schemas/boats/BoatPage.yaml', ['properties', 'home'], ref('./port.yaml'));
      },
      /port in PascalCase/,
    ],
  ],
  'property-types': [
    [
      'an id that is any text',
      property('ownerId', { type: 'string', maxLength: 9, description: 'x' }),
      /Declare ownerId as a reference to Uuid/,
    ],
    [
      'ids that are any text',
      property('ownerIds', { type: 'array', maxItems: 1, items: { type: 'string', maxLength: 1 } }),
      /list of references to Uuid/,
    ],
    [
      'an instant of its own',
      property('soldAt', { type: 'string', format: 'date-time', maxLength: 9 }),
      /Declare soldAt as/,
    ],
    ['a day that is an instant', property('soldDate', ref('../common/Instant.yaml')), /Declare soldDate as/],
    ['an amount that is a number', property('totalAmount', { type: 'integer' }), /Declare totalAmount as a decimal/],
    ['a truth value that is text', property('isNew', { type: 'string', maxLength: 1 }), /Declare isNew as a boolean/],
  ],
  bounds: [
    ['a string without end', property('note', { type: 'string' }), /`maxLength`/],
    ['a string whose pattern has no end', property('note', { type: 'string', pattern: '^[a-z]+$' }), /`maxLength`/],
    ['a string whose pattern is open', property('note', { type: 'string', pattern: '[a-z]{2}' }), /`maxLength`/],
    ['an array without end', property('notes', { type: 'array', items: { enum: ['A'] } }), /`maxItems`/],
    ['an integer without a floor', property('count', { type: 'integer', maximum: 9 }), /`minimum`/],
    ['an integer without a ceiling', property('count', { type: 'integer', minimum: 0 }), /`maximum`/],
    ['a float', property('length', { type: 'number', minimum: 0, maximum: 9 }), /a float is not exact/],
    ['a nullable string without end', property('note', { type: ['string', 'null'] }), /`maxLength`/],
    ['a value of any type', property('note', { description: 'x' }), /Declare the `type`/],
    [
      'an enum of any type',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['type'], undefined),
      /Declare the `type`/,
    ],
    [
      'a decimal string of any form',
      (files) => set(files, 'schemas/common/Money.yaml', ['pattern'], undefined),
      /a `pattern`/,
    ],
    ['a composed schema of any type', (files) => set(files, row, ['type'], undefined), /Declare the `type`/],
    ['an array of anything', property('notes', { type: 'array', maxItems: 3 }), /Declare the `items`/],
    ['a parameter of any type', (files) => set(files, 'parameters/Id.yaml', ['schema'], {}), /Declare the `type`/],
  ],
  'closed-bodies': [
    [
      'an open body',
      (files) => set(files, 'schemas/boats/BoatCreateRequest.yaml', ['unevaluatedProperties'], undefined),
      /Close the object/,
    ],
    [
      'an open object within',
      property('engine', { type: 'object', properties: {}, description: 'x' }),
      /Close the object/,
    ],
    [
      'an open object in a list',
      property('masts', { type: 'array', maxItems: 3, items: { type: 'object' } }),
      /Close the object/,
    ],
    ['a map without end', property('tags', { type: 'object', additionalProperties: true }), /`maxProperties`/],
    ['an open alternative', property('engine', { anyOf: [{ type: 'object' }, { type: 'null' }] }), /Close the object/],
    [
      'a body of no form',
      (files) => set(files, 'paths/boats/boats.yaml', ['post', 'requestBody', 'content'], {}),
      /with one schema/,
    ],
    [
      'an open response',
      (files) => set(files, 'schemas/boats/BoatPage.yaml', ['additionalProperties'], undefined),
      /Close the object/,
    ],
  ],
  entities: [
    ['a field that may be missing', (files) => set(files, row, ['required'], []), /Require name/],
    ['fields that require', (files) => set(files, fields, ['required'], ['name']), /Require nothing/],
    [
      'a record type without the fields that a caller may write',
      (files) => {
        files['schemas/boats/BoatParts.yaml'] = files[fields] ?? {};
        delete files[fields];
        for (const file of Object.values(files)) {
          const text = JSON.stringify(file).replaceAll('/BoatFields.yaml', '/BoatParts.yaml');
          Object.assign(file, JSON.parse(text));
        }
      },
      /a schema BoatFields/,
    ],
    [
      'an id of nothing',
      (files) => set(files, fields, ['properties', 'harborId', 'x-references'], undefined),
      /what harborId refers to/,
    ],
  ],
  'complete-responses': [
    [
      'a response that may lack a property',
      (files) => set(files, 'schemas/boats/BoatPage.yaml', ['required'], ['data']),
      /Require home/,
    ],
  ],
  searches: [
    [
      'a filter that lacks an operator',
      (files) => set(files, 'schemas/boats/BoatStatusFilter.yaml', ['properties', '_nin'], undefined),
      /operator _nin/,
    ],
    [
      'a filter that may be empty',
      (files) => set(files, 'schemas/boats/BoatStatusFilter.yaml', ['minProperties'], undefined),
      /`minProperties: 1`/,
    ],
    [
      'a column that no row has',
      (files) =>
        set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'colour'], ref('../common/TextFilter.yaml')),
      /Remove colour/,
    ],
    [
      'a sort key that no row has',
      (files) =>
        set(files, 'schemas/boats/BoatOrderBy.yaml', ['properties', 'colour'], ref('../common/OrderDirection.yaml')),
      /Remove colour/,
    ],
    [
      'a filter of another type',
      (files) =>
        set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'harborId'], ref('../common/TextFilter.yaml')),
      /Filter harborId by UuidFilter/,
    ],
    [
      'a number of the row that is no column',
      (files) => set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'feeAmount'], undefined),
      /Add feeAmount to the columns/,
    ],
    [
      'a column of all rows that is no sort key',
      (files) => set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'id'], ref('../common/UuidFilter.yaml')),
      /Add id to the sort keys/,
    ],
  ],
  'state-machines': [
    ['an initial state that no row can have', machine(['initial'], ['ASHORE', 'ALOFT']), /ALOFT is not one/],
    ['an imported state that no row can have', machine(['imported'], ['ALOFT']), /ALOFT is not one/],
    ['a transition from no state', machine(['transitions', 2, 'from'], ['AFLOAT', 'ALOFT']), /ALOFT is not one/],
    ['a transition to no state', machine(['transitions', 2, 'to'], 'ALOFT'), /ALOFT is not one/],
    ['a state that nothing leads to', machine(['transitions', 2], undefined), /leads to SUNK/],
    ['states that only lead to each other', machine(['transitions', 0, 'from'], ['SUNK']), /leads to AFLOAT/],
    ['a transition from a state to itself', machine(['transitions', 2, 'from'], ['AFLOAT', 'SUNK']), /Remove SUNK/],
    ['an operation that does not exist', machine(['operations'], ['moveBoat']), /moveBoat is not one/],
    ['an operation that reads', machine(['transitions', 1, 'operations'], ['getBoat']), /getBoat is not one/],
    [
      'operations that no transition takes',
      machine(['transitions', 0, 'events'], ['tideRisen']),
      /Remove the operations/,
    ],
    ['a transition that nothing causes', machine(['operations'], []), /Name the operations or events/],
    [
      'two transitions by the same operation',
      machine(['transitions', 2], { from: ['ASHORE'], to: 'AFLOAT', operations: ['updateBoat'] }),
      /second transition from ASHORE to AFLOAT by updateBoat/,
    ],
    [
      'two transitions by the same event',
      machine(['transitions', 0], { from: ['AFLOAT'], to: 'SUNK', events: ['hullBroken'] }),
      /second transition from AFLOAT to SUNK by hullBroken/,
    ],
    ['roles of an event', machine(['transitions', 2, 'roles'], ['BOAT_W']), /an event has no caller/],
    ['a condition without a definition', machine(['conditions'], undefined), /Define the condition isTight/],
    [
      'a condition that no transition has',
      machine(['transitions', 0, 'conditions'], undefined),
      /Remove the condition isTight/,
    ],
    [
      'a machine of something else than an enum',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['enum'], undefined),
      /only on a string enum/,
    ],
    [
      'a machine of an integer',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['type'], 'integer'),
      /only on a string enum/,
    ],
    [
      'a machine beside a reference',
      (files) => set(files, fields, ['properties', 'status', 'x-state-machine'], {}),
      /Move the state machine/,
    ],
  ],
  'restricted-fields': [
    [
      'a restricted value that is never null',
      (files) => set(files, fields, ['properties', 'name', 'x-read-roles'], ['BOAT_R']),
      /Allow null in name/,
    ],
    [
      'a restricted object that is never null',
      property('harbor', { anyOf: [ref('./Harbor.yaml')], description: 'x', 'x-read-roles': ['BOAT_R'] }),
      /Allow null in harbor/,
    ],
  ],
  'restricted-rates': [
    ['a rate that everybody sees', rated({ 'x-write-roles': ['BOAT_W'] }), /x-read-roles/],
    ['a rate that those who do not see it can write', rated({ 'x-read-roles': ['BOAT_R'] }), /x-write-roles/],
    ['a rate in a response alone', rated({}, row), /x-read-roles/],
    ['a rate in a request alone', rated({}, 'schemas/boats/BoatCreateRequest.yaml'), /x-write-roles/],
    [
      'a rate of another type',
      property('dayRate', ref('../common/Money.yaml')),
      /Declare dayRate as a reference to Rate/,
    ],
  ],
  'restricted-searches': [
    [
      'a condition on a restricted value of rows that the service does not check',
      (files) => {
        set(files, row, ['x-record'], undefined);
        set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'homeCode'], ref('../common/TextFilter.yaml'));
      },
      /Remove homeCode/,
    ],
    [
      'a condition on a restricted value of a related row that the service does not check',
      (files) => {
        set(files, row, ['x-record'], undefined);
        files['schemas/boats/BoatRelationWhere.yaml'] = {
          type: 'object',
          description: 'Conditions on a related boat.',
          additionalProperties: false,
          properties: { homeCode: ref('../common/TextFilter.yaml') },
        };
        set(files, 'schemas/boats/BoatColumns.yaml', ['properties', 'tender'], ref('./BoatRelationWhere.yaml'));
      },
      /Remove homeCode/,
    ],
    [
      'a sort key that is restricted',
      (files) =>
        set(files, 'schemas/boats/BoatOrderBy.yaml', ['properties', 'homeCode'], ref('../common/OrderDirection.yaml')),
      /Remove homeCode/,
    ],
  ],
  pages: [
    [
      'a page that may go on, of rows or of pages',
      (files) => set(files, 'schemas/boats/BoatPage.yaml', ['x-paging'], undefined),
      /Declare in `x-paging`/,
    ],
    [
      'a list named a page that is returned whole',
      (files) => {
        set(files, 'schemas/boats/BoatPage.yaml', ['x-paging'], undefined);
        set(files, 'schemas/boats/BoatPage.yaml', ['properties', 'hasMore', 'const'], false);
      },
      /End the names of pages/,
    ],
    ['paging without rows', (files) => set(files, row, ['x-paging'], 'offset'), /Remove `x-paging`/],
  ],
  webhooks: [
    [
      'a webhook of another name',
      (files) => set(files, 'openapi.yaml', ['webhooks'], { boatMade: ref('webhooks/boat_created.yaml') }),
      /Name the webhook boatCreated/,
    ],
    ['a webhook without its event', (files) => set(files, webhook, ['post', 'x-event'], undefined), /which event/],
    [
      'an operationId of another name',
      (files) => set(files, webhook, ['post', 'operationId'], 'boatMade'),
      /its name, boatCreated/,
    ],
    [
      'a body of another event',
      (files) => set(files, webhook, ['post', 'x-event', 'operation'], 'UPDATE'),
      /Fix `operation` in the body/,
    ],
    [
      'an event without its signature',
      (files) => set(files, webhook, ['post', 'parameters', 2], undefined),
      /header webhook-signature/,
    ],
    [
      'an event without the response that ends its subscription',
      (files) => set(files, webhook, ['post', 'responses', '410'], undefined),
      /responds with 410/,
    ],
    [
      'another row in the body',
      (files) => set(files, webhook, [...body, 'allOf', 1, 'properties', 'data'], ref('../schemas/boats/Harbor.yaml')),
      /with the schema Boat/,
    ],
    [
      'roles that the schema of the row names too',
      (files) => set(files, webhook, ['post', 'x-event', 'readRoles'], ['BOAT_R']),
      /either in `readRoles`/,
    ],
  ],
  keywords: [
    [
      'what validators do not follow',
      (files) => set(files, row, ['dependentSchemas'], {}),
      /Replace `dependentSchemas`/,
    ],
    [
      'a tuple of open length',
      property('pair', { type: 'array', maxItems: 2, prefixItems: [{ enum: ['A'] }] }),
      /a `minItems`/,
    ],
    ['a field that only the service writes', property('age', { type: 'integer', readOnly: true }), /Remove `readOnly`/],
    [
      'a field that is never returned',
      property('pin', { ...ref('../common/Uuid.yaml'), writeOnly: true }),
      /Remove `writeOnly`/,
    ],
  ],
  'enum-values': [
    [
      'a value without an explanation',
      (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['enum'], ['AFLOAT', 'ASHORE', 'SUNK', 'TOWED', 'OTHER']),
      /Explain `TOWED` in the description of BoatStatus/,
    ],
  ],
  'named-enums': [
    [
      'the values of another enum',
      property('lastStatus', {
        type: 'string',
        description: 'Status before.',
        enum: ['SUNK', 'AFLOAT', 'ASHORE'],
      }),
      /Create a schema for AFLOAT, ASHORE, SUNK/,
    ],
  ],
  'unique-names': [
    [
      'a parameter with the name of a schema',
      (files) => {
        files['parameters/Boat.yaml'] = files['parameters/Id.yaml'] ?? {};
        set(files, 'paths/boats/boat.yaml', ['parameters', 0], ref('../../parameters/Boat.yaml'));
      },
      /Rename Boat/,
    ],
    [
      'two examples of one name',
      (files) => {
        files['examples/common/boat.yaml'] = { summary: 'x', value: {} };
        set(
          files,
          'paths/boats/boats_search.yaml',
          ['post', 'responses', '200', 'content', 'application/json', 'examples', 'two'],
          ref('../../examples/common/boat.yaml'),
        );
      },
      /Rename boat/,
    ],
    [
      'two schemas of one name',
      (files) => {
        files['schemas/common/Harbor.yaml'] = files['schemas/boats/Harbor.yaml'] ?? {};
        set(files, fields, ['properties', 'harbor'], ref('../common/Harbor.yaml'));
      },
      /Rename Harbor/,
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

describe('exceptions that the contract itself shows', () => {
  const allowed: [what: string, change: (files: Files) => void][] = [
    [
      'counts by status have the statuses as keys',
      (files) => {
        const count = { type: 'integer', minimum: 0, maximum: 9, description: 'How many.' };
        const counts = {
          type: 'object',
          additionalProperties: false,
          required: ['AFLOAT'],
          properties: { AFLOAT: count },
          description: 'Counts.',
        };
        set(files, 'schemas/boats/BoatPage.yaml', ['properties', 'counts'], counts);
        set(files, 'schemas/boats/BoatPage.yaml', ['required'], ['data', 'home', 'hasMore', 'counts']);
      },
    ],
    [
      'an id beside the type that it is of',
      (files) => {
        property('ownerId', ref('../common/Uuid.yaml'))(files);
        property('ownerType', { type: 'string', enum: ['Boat', 'Harbor'], description: 'The type of the owner.' })(
          files,
        );
        set(
          files,
          row,
          ['required'],
          ['name', 'status', 'harborId', 'homeCode', 'feeAmount', 'launchedAt', 'ownerId', 'ownerType'],
        );
      },
    ],
    [
      'a map with an end',
      (files) => {
        property('tags', {
          type: 'object',
          maxProperties: 9,
          additionalProperties: { type: 'string', maxLength: 9 },
          description: 'x',
        })(files);
        set(files, row, ['required'], ['name', 'status', 'harborId', 'homeCode', 'feeAmount', 'launchedAt', 'tags']);
      },
    ],
  ];
  test.for(allowed)('%s', async ([, change]) => {
    const files = smallContract();
    change(files);
    expect(await lint(files)).toEqual([]);
  });
});
