/**
 * Every extension of the contract: where it can be used, its form, and who reads it. An extension that is not listed here
 * has no effect, which the rule `extensions` reports.
 */

const names = (pattern: string) => ({
  type: 'array',
  minItems: 1,
  uniqueItems: true,
  items: { type: 'string', pattern },
});
const roleName = '^[A-Z][A-Z0-9_]*$';
const role = { type: 'string', pattern: roleName };
const roles = names(roleName);
const typeName = { type: 'string', pattern: '^[A-Z][A-Za-z0-9]*$' };
const policyName = { type: 'string', pattern: '^[a-z]+$' };
const day = { type: 'string', pattern: '^20[0-9]{2}-[01][0-9]-[0-3][0-9]$' };
const closed = { type: 'object', additionalProperties: false } as const;
const camelCase = '^[a-z][A-Za-z0-9]*$';
const calculation = {
  ...closed,
  minProperties: 1,
  properties: {
    times: names(camelCase),
    plus: names(camelCase),
    minus: names(camelCase),
    sum: { type: 'string' },
    of: { type: 'string' },
  },
};
const duration = { type: 'string', pattern: '^P(\\d+D|T\\d+[HMS])$' } as const;
const oneOrMore = { type: 'integer', minimum: 1 } as const;
const weightNames = ['condition', 'hundredValues', 'pattern', 'unanchoredPattern', 'relation', 'negatedRelation'];
const searchWeights = {
  ...closed,
  required: weightNames,
  properties: Object.fromEntries(weightNames.map((name) => [name, oneOrMore])),
};

const referenceToFile = {
  ...closed,
  required: ['$ref'],
  properties: { $ref: { type: 'string', pattern: '^[a-z]+/[A-Za-z0-9-]+\\.yaml$' } },
};
const responsesInFiles = {
  ...closed,
  patternProperties: { '^[1-5][0-9]{2}$': referenceToFile },
};

/** What a type of rows is to the interface that writes it row by row. */
const rows = {
  ...closed,
  required: ['operations', 'readRoles', 'writeRoles', 'recordsUrl'],
  properties: {
    operations: names('^(UPSERT|UPDATE|DELETE)$'),
    readRoles: roles,
    writeRoles: roles,
    recordsUrl: { type: 'string', pattern: '^/(gql|api)/v1/[A-Za-z0-9_/-]+$' },
    importsOnly: { const: true },
  },
};
const eventOperations = names('^(CREATE|UPDATE|DELETE)$');

const states = names('^[A-Z][A-Z0-9_]*$');
const transition = {
  ...closed,
  required: ['from', 'to'],
  properties: {
    from: states,
    to: { type: 'string' },
    operations: names(camelCase),
    events: names(camelCase),
    roles,
    requires: names(camelCase),
    conditions: names(camelCase),
    repeatable: { const: true },
  },
};
const sentence = { type: 'string', pattern: '^[A-Z].*[.]$', maxLength: 200 };
const valuesOfField = { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: states };
const valuesOfRow = {
  type: 'object',
  minProperties: 1,
  additionalProperties: { ...states, items: { anyOf: [states.items, { type: 'null' }] } },
};
const rowCondition = {
  ...closed,
  required: ['remedy'],
  minProperties: 2,
  maxProperties: 2,
  properties: {
    zero: names(camelCase),
    positive: names(camelCase),
    is: valuesOfField,
    isNot: valuesOfField,
    remedy: sentence,
  },
};

/** The extensions that declare by which interface, and with which roles, the rows of a schema are written and read. */
export const rowExtensions = ['x-record', 'x-code-type', 'x-entry-type'];

interface Extension {
  /** Types of OpenAPI's objects, by Redocly's names. */
  on: readonly string[];
  schema: object;
  /** Whether it applies to this schema alone, and not to one that is composed of it. */
  ofSchemaAlone?: true;
  /** What it is for. */
  why: string;
}

export const extensionTable: Record<string, Extension> = {
  'x-operation-defaults': {
    on: ['Root'],
    schema: {
      ...closed,
      required: ['cases', 'statuses'],
      properties: {
        cases: {
          type: 'object',
          additionalProperties: {
            ...closed,
            properties: {
              pathParameters: { type: 'array', items: referenceToFile },
              parameters: { type: 'array', items: referenceToFile },
              requestBody: { ...closed, properties: { required: { const: true } } },
              success: {
                ...closed,
                properties: {
                  headers: { type: 'object', additionalProperties: referenceToFile },
                  content: {
                    type: 'object',
                    additionalProperties: {
                      ...closed,
                      required: ['schema'],
                      properties: { schema: { type: 'object' }, examples: { type: 'object' } },
                    },
                  },
                },
              },
              responses: responsesInFiles,
              extensions: { ...closed, patternProperties: { '^x-': true } },
            },
          },
        },
        statuses: responsesInFiles,
      },
    },
    why: 'what operations have without saying so in their path files',
  },
  'x-roles': { on: ['Operation'], schema: roles, why: 'the roles of which any one allows the call' },
  'x-additional-roles': {
    on: ['Operation'],
    schema: roles,
    why: 'further roles, of which the call requires one as well',
  },
  'x-rate-limit': { on: ['Operation'], schema: policyName, why: 'the policy that the call counts against' },
  'x-body-limit': { on: ['Operation'], schema: policyName, why: 'the largest body that the operation accepts' },
  'x-tenant-limit': {
    on: ['Operation'],
    schema: { type: 'string', pattern: camelCase },
    why: 'the number that a tenant can have of what the operation creates',
  },
  'x-idempotent': {
    on: ['Operation'],
    schema: { enum: [true, false, 'key', 'systemRef'] },
    why: 'whether a call can be repeated',
  },
  'x-deprecation': {
    on: ['Operation'],
    schema: {
      ...closed,
      required: ['since', 'sunset'],
      properties: { since: day, sunset: day },
    },
    why: 'since when an operation is deprecated, and when it is removed at the earliest',
  },
  'x-extension': {
    on: ['Operation'],
    schema: { const: true },
    why: 'an operation that was added to the product interface',
  },
  'x-own-check': {
    on: ['Schema'],
    schema: { type: 'array', minItems: 1, items: { type: 'string' } },
    why: 'the keywords of a schema that the service checks in other words',
  },
  'x-on-create': {
    on: ['Schema'],
    schema: {
      ...closed,
      minProperties: 1,
      maxProperties: 1,
      properties: { value: {}, rule: { type: 'string', minLength: 1 } },
    },
    why: 'the value that the service sets if a field is omitted on creation',
  },
  'x-only-for': {
    on: ['Schema'],
    schema: { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: states },
    why: 'the values of another property with which this one can have a value',
  },
  'x-open-enum': {
    on: ['Schema'],
    schema: { const: true },
    why: 'values can be added to the enum in any release',
  },
  'x-unique': { on: ['Schema'], schema: { const: true }, why: 'no two rows of a tenant share the value' },
  'x-changes-with-day': {
    on: ['Schema'],
    schema: { const: true },
    why: 'the value changes with the day alone, without an event',
  },
  'x-references': { on: ['Schema'], schema: typeName, why: 'the type of the row that an ID refers to' },
  'x-scale': { on: ['Schema'], schema: { type: 'integer', minimum: 0, maximum: 6 }, why: 'decimal places' },
  'x-references-by': {
    on: ['Schema'],
    schema: {
      ...closed,
      required: ['key', 'types'],
      properties: { key: { type: 'string', pattern: '^[a-z][A-Za-z0-9]*$' }, types: names(typeName.pattern) },
    },
    why: 'the field, of rows of these types, whose value a reference other than an ID contains',
  },
  'x-entity': {
    on: ['Schema'],
    schema: { const: true },
    why: 'a row: it has the base fields of every entity',
  },
  'x-row-roles': {
    on: ['Schema'],
    schema: {
      type: 'object',
      minProperties: 1,
      additionalProperties: { type: 'object', minProperties: 1, additionalProperties: roles },
    },
    why: 'by a field and its value, the roles of which one is required to see rows with that value',
  },
  'x-lines-of': {
    on: ['Schema'],
    schema: { type: 'string', pattern: camelCase },
    why: 'the list of the JSON body whose items are the lines of this one',
  },
  'x-schema-name': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: typeName,
    why: 'the name of the schema in the bundle, where generators could not use that of the type',
  },
  'x-type': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: typeName,
    why: 'in the bundle, the type of a schema with another name',
  },
  'x-paging': {
    on: ['Schema'],
    schema: { enum: ['offset', 'number', 'cursor', 'feed'] },
    why: 'a page of rows, and how `page` counts; `cursor`: there is no `page`; `feed`: `after` continues, and there is no end',
  },
  'x-contract-check': {
    on: ['Operation', 'Schema'],
    schema: {
      ...closed,
      minProperties: 1,
      properties: {
        stable: { const: false },
        effect: { const: 'read' },
        calculated: calculation,
        conditional: { const: true },
        partial: { const: true },
      },
    },
    why: 'what the contract check cannot see: `stable: false`, the same request can have another response at any time; `effect: read`, the operation changes nothing; `calculated`, how an amount follows from others; `conditional: true`, other values or data decide whether a value is accepted; `partial: true`, rows then lack properties',
  },
  'x-dry-run': {
    on: ['Operation'],
    schema: { const: false },
    why: 'the operation rejects the header `Dry-Run`; otherwise writes accept it, and reads ignore it',
  },
  'x-aggregate': {
    on: ['Schema'],
    schema: typeName,
    why: 'the type of the rows that a request calculates figures over',
  },
  'x-record': { on: ['Schema'], ofSchemaAlone: true, schema: rows, why: 'what the records API does with the type' },
  'x-code-type': { on: ['Schema'], ofSchemaAlone: true, schema: rows, why: 'what the codes API does with the type' },
  'x-entry-type': { on: ['Schema'], ofSchemaAlone: true, schema: rows, why: 'what the entries API does with the type' },
  'x-read-roles': { on: ['Schema'], schema: roles, why: 'the roles of which one is required to see the value' },
  'x-write-roles': { on: ['Schema'], schema: roles, why: 'the roles of which one is required to write the value' },
  'x-imports-only': { on: ['Schema'], schema: { const: true }, why: 'only an import can set the value' },
  'x-of-change': {
    on: ['Schema'],
    schema: { const: true },
    why: 'the value belongs to a change of the row: a new row has none, and an import writes it with the last transition',
  },
  'x-immutable': {
    on: ['Schema'],
    schema: {
      anyOf: [
        { const: true },
        { ...closed, required: ['unless'], properties: { unless: valuesOfRow } },
        { ...closed, required: ['once'], properties: { once: { type: 'string', pattern: '[.]$' } } },
      ],
    },
    why: 'the value cannot change after creation: at all, unless the row has one of the values of each property before or after the change, or once a condition is met',
  },
  'x-value-roles': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: { type: 'object', minProperties: 1, additionalProperties: roles },
    why: 'by a value, the roles of which one is required to send it',
  },
  'x-implied-roles': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: {
      ...closed,
      required: ['everyone', 'administrator', 'exceptions'],
      properties: { everyone: roles, administrator: role, exceptions: roles },
    },
    why: 'the roles that every API user has, and the one that implies all but the exceptions',
  },
  'x-state-machine': {
    on: ['Schema'],
    schema: {
      ...closed,
      required: ['initial', 'operations', 'transitions'],
      properties: {
        initial: states,
        operations: { ...names(camelCase), minItems: 0 },
        imported: states,
        fixed: states,
        transitions: { type: 'array', minItems: 1, items: transition },
        conditions: {
          type: 'object',
          minProperties: 1,
          propertyNames: { pattern: camelCase },
          additionalProperties: { anyOf: [sentence, rowCondition] },
        },
      },
    },
    why: 'the states that a row can have, and what moves it from one to another',
  },
  'x-by-type': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: {
      ...closed,
      required: ['types', 'suffix'],
      properties: {
        types: names(`^(${rowExtensions.join('|')})$`),
        operation: { enum: ['UPSERT', 'UPDATE', 'DELETE'] },
        suffix: typeName,
        attributes: { enum: ['written', 'read'] },
        custom: { const: true },
        unnamed: { const: true },
      },
    },
    why: 'another form for each type of row: in the bundle a union with a member for each',
  },
  'x-items-open': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: { anyOf: [{ type: 'object' }, { const: true }] },
    why: 'an item of a request that fails alone if it is invalid; in a union by type, the common part of all items',
  },
  'x-disabled-events': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: {
      type: 'array',
      minItems: 1,
      items: {
        ...closed,
        required: ['entityType', 'operations'],
        properties: { entityType: typeName, operations: eventOperations },
      },
    },
    why: 'events of the catalog without subscriptions',
  },
  'x-event': {
    on: ['Operation', 'PathItem'],
    schema: {
      ...closed,
      required: ['entityType', 'operation'],
      properties: {
        entityType: typeName,
        operation: { enum: ['CREATE', 'UPDATE', 'DELETE'] },
        readRoles: roles,
        setting: { type: 'string', pattern: camelCase },
      },
    },
    why: 'the row of the catalog that the webhook is, the roles that read such rows, the setting of tenants that enables it',
  },
  'x-codes-outside-operations': {
    on: ['Schema'],
    ofSchemaAlone: true,
    schema: { type: 'object', minProperties: 1, additionalProperties: { type: 'integer', minimum: 400, maximum: 599 } },
    why: 'problem codes that no operation returns, with their status',
  },
  'x-search-limits': {
    on: ['Root'],
    schema: {
      ...closed,
      required: ['depth', 'predicates', 'cost', 'costly', 'weights'],
      properties: {
        depth: oneOrMore,
        predicates: oneOrMore,
        cost: oneOrMore,
        costly: oneOrMore,
        weights: searchWeights,
      },
    },
    why: 'how large a where clause may be, and what its parts count towards its cost',
  },
  'x-json-limits': {
    on: ['Root'],
    schema: {
      ...closed,
      required: ['depth', 'values', 'digits', 'nameLength', 'combiningMarks'],
      properties: {
        depth: oneOrMore,
        values: oneOrMore,
        digits: oneOrMore,
        nameLength: oneOrMore,
        combiningMarks: oneOrMore,
      },
    },
    why: 'how much a JSON body may have of what takes time to read',
  },
  'x-write-limits': {
    on: ['Root'],
    schema: { ...closed, required: ['bulk'], properties: { bulk: oneOrMore } },
    why: 'the number of items from which on a write is a bulk write, of which few run at the same time',
  },
  'x-row-limits': {
    on: ['Root'],
    schema: {
      type: 'object',
      minProperties: 1,
      propertyNames: { type: 'string', pattern: camelCase },
      additionalProperties: oneOrMore,
    },
    why: 'the maximum numbers of rows that one call can write or return in a file',
  },
  'x-tenant-limits': {
    on: ['Root'],
    schema: {
      type: 'object',
      minProperties: 1,
      propertyNames: { type: 'string', pattern: camelCase },
      additionalProperties: oneOrMore,
    },
    why: 'the limits that `x-tenant-limit` names',
  },
  'x-page-bytes': {
    on: ['Root'],
    schema: oneOrMore,
    why: 'the size in bytes at which a page ends, even if it has fewer rows than requested',
  },
  'x-durations': {
    on: ['Root'],
    schema: {
      type: 'object',
      minProperties: 1,
      propertyNames: { type: 'string', pattern: camelCase },
      additionalProperties: { anyOf: [duration, { type: 'array', minItems: 1, items: duration }] },
    },
    why: 'durations that callers rely on',
  },
  'x-release': {
    on: ['Root'],
    schema: { type: 'string', pattern: '^v\\d+\\.\\d+\\.\\d+(\\+unreleased)?$' },
    why: 'the release of the service, as in the changelog',
  },
  'x-rate-limit-policies': {
    on: ['Root'],
    schema: {
      type: 'object',
      minProperties: 1,
      propertyNames: policyName,
      additionalProperties: {
        ...closed,
        required: ['limit', 'window'],
        properties: { limit: oneOrMore, window: oneOrMore },
      },
    },
    why: 'the policies that `x-rate-limit` names',
  },
  'x-body-limits': {
    on: ['Root'],
    schema: { type: 'object', minProperties: 1, propertyNames: policyName, additionalProperties: oneOrMore },
    why: 'the limits that `x-body-limit` names',
  },
  'x-displayName': {
    on: ['Tag'],
    schema: { type: 'string', minLength: 1, maxLength: 60 },
    why: 'the title of the chapter',
  },
  'x-tagGroups': {
    on: ['Root'],
    schema: {
      type: 'array',
      minItems: 1,
      items: {
        ...closed,
        required: ['name', 'tags'],
        properties: { name: { type: 'string', minLength: 1 }, tags: names('^[a-z]+$') },
      },
    },
    why: 'the parts of the reference',
  },
};
