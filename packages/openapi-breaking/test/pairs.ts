/**
 * Pairs of documents in the forms in which people write them, with the verdict. Most of them were reported as faults of tools that compare
 * documents: what they miss, and what they report although nobody could notice it.
 */
import { parse } from 'yaml';

export type Verdict = 'breaks' | 'same' | 'rejected';

export interface Pair {
  readonly name: string;
  /** Texts of files by name; the first is the document. */
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
  readonly verdict: Verdict;
}

export type Part = string | object;

const object = (part: Part): object => (typeof part === 'string' ? parse(part) : part);

/** A document with one operation, whose parts replace the usual ones. */
export function api(operation: Part = {}, rest: Part = {}): string {
  const usual = { responses: { 200: { description: 'It.' } } };
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1.0.0' },
    paths: { '/pets': { post: { ...usual, ...object(operation) } } },
    ...object(rest),
  });
}

const content = (schema: Part, type = 'application/json') => ({ content: { [type]: { schema: object(schema) } } });
export const body = (schema: Part, type?: string) => ({ requestBody: content(schema, type) });
export const answer = (schema: Part, type?: string) => ({
  responses: { 200: { description: 'It.', ...content(schema, type) } },
});
export const query = (parameter: Part) => ({ parameters: [{ name: 'q', in: 'query', ...object(parameter) }] });

export const pair = (verdict: Verdict, name: string, before: string, after: string): Pair => ({
  name,
  verdict,
  before: { 'openapi.yaml': before },
  after: { 'openapi.yaml': after },
});
export const inRequest = (verdict: Verdict, name: string, before: Part, after: Part) =>
  pair(verdict, `request: ${name}`, api(body(before)), api(body(after)));
export const inResponse = (verdict: Verdict, name: string, before: Part, after: Part) =>
  pair(verdict, `response: ${name}`, api(answer(before)), api(answer(after)));
export const inQuery = (verdict: Verdict, name: string, before: Part, after: Part) =>
  pair(verdict, `parameter: ${name}`, api(query(before)), api(query(after)));

const pet = '{ type: object, properties: { id: { type: string }, name: { type: string } } }';
export const swagger = (paths: Part, rest: Part = {}) =>
  JSON.stringify({ swagger: '2.0', info: { title: 'Pets', version: '1' }, paths: object(paths), ...object(rest) });
const swaggerPets =
  '{ /pets: { get: { responses: { 200: { description: It. } } }, post: { parameters: [{ in: body, name: pet, schema: { type: object, properties: { id: { type: string } } } }], responses: { 201: { description: It. } } } } }';

/** A document in YAML whose `Pet` is what the lines say. */
const yaml = (lines: string) => `openapi: 3.0.3
info: { title: Pets, version: 1.0.0 }
x-base: &base
  type: object
  required: [id]
  properties: { id: { type: string } }
paths:
  /pets:
    get:
      responses:
        '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } } }
components:
  schemas:
    Pet:
${lines.replaceAll(/^/gm, '      ')}
`;

const cats = (discriminator: string) => ({
  ...answer('{ $ref: "#/components/schemas/Pet" }'),
  rest: `{ components: { schemas: {
    Pet: { oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }], discriminator: ${discriminator} },
    Cat: { type: object, required: [kind, type], properties: { kind: { type: string }, type: { type: string } } },
    Dog: { type: object, required: [kind, type], properties: { kind: { type: string }, type: { type: string }, age: { type: integer } } } } } }`,
});
const withCats = (discriminator: string) => {
  const { rest, ...operation } = cats(discriminator);
  return api(operation, rest);
};

const form = (encoding: string) => ({
  requestBody: {
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          properties: { file: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
        },
        encoding: object(encoding),
      },
    },
  },
});

export const pairs: readonly Pair[] = [
  // YAML and files.
  pair('breaks', 'a property behind a merge key is removed', yaml('<<: *base'), yaml('<<: *base\nproperties: {}')),
  pair(
    'breaks',
    'what is merged changes its type',
    yaml('<<: *base'),
    yaml('<<: *base').replace('type: string', 'type: integer'),
  ),
  pair(
    'same',
    'what is merged is written out',
    yaml('<<: *base'),
    yaml('type: object\nrequired: [id]\nproperties: { id: { type: string } }'),
  ),
  pair('same', 'an alias is used 150 times', manyAliases('string'), manyAliases('string')),
  pair('breaks', 'an alias that is used 150 times changes', manyAliases('string'), manyAliases('integer')),
  {
    name: 'a schema in another file changes its type',
    verdict: 'breaks',
    before: { 'openapi.yaml': api(answer('{ $ref: "pet.yaml" }')), 'pet.yaml': pet },
    after: { 'openapi.yaml': api(answer('{ $ref: "pet.yaml" }')), 'pet.yaml': pet.replace('string', 'integer') },
  },
  {
    name: 'a schema moves to another file',
    verdict: 'same',
    before: { 'openapi.yaml': api(answer(pet)) },
    after: { 'openapi.yaml': api(answer('{ $ref: "schemas.yaml#/Pet" }')), 'schemas.yaml': `Pet: ${pet}` },
  },
  {
    name: 'a path moves to another file and loses a method',
    verdict: 'breaks',
    before: { 'openapi.yaml': api() },
    after: {
      'openapi.yaml': JSON.stringify({
        openapi: '3.1.0',
        info: { title: 'Pets', version: '1' },
        paths: { '/pets': { $ref: 'pets.yaml' } },
      }),
      'pets.yaml': '{ get: { responses: { 200: { description: It. } } } }',
    },
  },
  {
    name: 'a file that does not exist',
    verdict: 'rejected',
    before: { 'openapi.yaml': api() },
    after: { 'openapi.yaml': api(answer('{ $ref: "missing.yaml" }')) },
  },
  pair('rejected', 'no OpenAPI document', api(), '{ "name": "pets" }'),
  pair('rejected', 'a version that does not exist', api(), api().replace('3.1.0', '4.0.0')),
  pair('rejected', 'text that is no YAML', api(), 'openapi: [3.1.0'),
  pair('rejected', 'a reference that leads nowhere', api(), api(answer('{ $ref: "#/components/schemas/Missing" }'))),
  pair(
    'rejected',
    'a reference that leads to itself',
    api(),
    api(
      answer('{ $ref: "#/components/schemas/A" }'),
      '{ components: { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } } }',
    ),
  ),
  // Swagger 2.0.
  pair('breaks', 'Swagger 2.0 loses all paths', swagger(swaggerPets), swagger('{}')),
  pair(
    'breaks',
    'Swagger 2.0 requires a property of a body',
    swagger(swaggerPets),
    swagger(swaggerPets.replace('type: object,', 'type: object, required: [id],')),
  ),
  pair('same', 'Swagger 2.0 without a change', swagger(swaggerPets), swagger(swaggerPets)),
  pair('breaks', 'Swagger 2.0 removes a value of an enum of a parameter', swaggerEnum('[a, b]'), swaggerEnum('[a]')),
  // Path items and methods.
  pair(
    'breaks',
    'a path item among the components loses its method',
    pathItem('{ get: { responses: { 200: { description: It. } } } }'),
    pathItem('{}'),
  ),
  pair(
    'same',
    'a path item is written out',
    pathItem('{ get: { responses: { 200: { description: It. } } } }'),
    api({}, '{ paths: { /pets: { get: { responses: { 200: { description: It. } } } } } }'),
  ),
  pair(
    'breaks',
    'the method query is removed',
    api({}, query32('{ query: { responses: { 200: { description: It. } } } }')),
    api({}, query32('{}')),
  ),
  pair(
    'breaks',
    'the method query requires a parameter',
    api({}, query32('{ query: { responses: { 200: { description: It. } } } }')),
    api(
      {},
      query32(
        '{ query: { parameters: [{ name: a, in: query, required: true, schema: { type: string } }], responses: { 200: { description: It. } } } }',
      ),
    ),
  ),
  pair(
    'breaks',
    'an additional operation is removed',
    api({}, query32('{ additionalOperations: { LINK: { responses: { 200: { description: It. } } } } }')),
    api({}, query32('{ additionalOperations: {} }')),
  ),
  pair(
    'same',
    'an additional operation is added',
    api({}, query32('{}')),
    api({}, query32('{ additionalOperations: { LINK: { responses: { 200: { description: It. } } } } }')),
  ),
  pair('breaks', 'a path is removed', api(), api({}, '{ paths: {} }')),
  pair(
    'same',
    'a path is added',
    api(),
    api(
      {},
      '{ paths: { /pets: { post: { responses: { 200: { description: It. } } } }, /cats: { get: { responses: { 200: { description: It. } } } } } }',
    ),
  ),
  pair('same', 'a path parameter is renamed', api({}, petById('id')), api({}, petById('petId'))),
  // Components.
  pair(
    'same',
    'a default response refers to a component',
    api(
      '{ responses: { default: { description: No., content: { application/json: { schema: { $ref: "#/components/schemas/Fault" } } } } } }',
      '{ components: { schemas: { Fault: { type: object } } } }',
    ),
    api(
      '{ responses: { default: { description: No., content: { application/json: { schema: { $ref: "#/components/schemas/Fault" } } } } } }',
      '{ components: { schemas: { Fault: { type: object } } } }',
    ),
  ),
  pair(
    'breaks',
    'the component of a default response changes',
    api(
      '{ responses: { default: { description: No., content: { application/json: { schema: { $ref: "#/components/schemas/Fault" } } } } } }',
      '{ components: { schemas: { Fault: { type: object } } } }',
    ),
    api(
      '{ responses: { default: { description: No., content: { application/json: { schema: { $ref: "#/components/schemas/Fault" } } } } } }',
      '{ components: { schemas: { Fault: { type: array } } } }',
    ),
  ),
  pair('same', 'an unused component refers to a type that is only a part', api({}, unused('A')), api({}, unused('A'))),
  pair('same', 'an unused component is removed', api({}, unused('A')), api()),
  pair(
    'breaks',
    'a definition inside a schema changes',
    api(answer('{ $ref: "#/components/schemas/Pet" }'), definitions('string')),
    api(answer('{ $ref: "#/components/schemas/Pet" }'), definitions('integer')),
  ),
  pair(
    'same',
    'a reference into definitions',
    api(answer('{ $ref: "#/components/schemas/Pet/$defs/Name" }'), definitions('string')),
    api(answer('{ $ref: "#/components/schemas/Pet/$defs/Name" }'), definitions('string')),
  ),
  pair(
    'same',
    'a reference into the schema of another response',
    api({}, intoResponse('string')),
    api({}, intoResponse('string')),
  ),
  pair(
    'breaks',
    'the schema of another response, which is referred to, changes',
    api({}, intoResponse('string')),
    api({}, intoResponse('integer')),
  ),
  pair(
    'same',
    'a component is renamed',
    api(answer('{ $ref: "#/components/schemas/Pet" }'), `{ components: { schemas: { Pet: ${pet} } } }`),
    api(answer('{ $ref: "#/components/schemas/Animal" }'), `{ components: { schemas: { Animal: ${pet} } } }`),
  ),
  pair(
    'same',
    'a schema becomes a component',
    api(answer(pet)),
    api(answer('{ $ref: "#/components/schemas/Pet" }'), `{ components: { schemas: { Pet: ${pet} } } }`),
  ),
  // Discriminators.
  pair(
    'breaks',
    'the property of a discriminator changes',
    withCats('{ propertyName: kind }'),
    withCats('{ propertyName: type }'),
  ),
  pair(
    'breaks',
    'a value of a mapping is removed',
    withCats('{ propertyName: kind, mapping: { cat: "#/components/schemas/Cat", dog: "#/components/schemas/Dog" } }'),
    withCats('{ propertyName: kind, mapping: { cat: "#/components/schemas/Cat" } }'),
  ),
  pair(
    'breaks',
    'a value of a mapping leads to another schema',
    withCats('{ propertyName: kind, mapping: { cat: "#/components/schemas/Cat", dog: "#/components/schemas/Dog" } }'),
    withCats('{ propertyName: kind, mapping: { cat: "#/components/schemas/Dog", dog: "#/components/schemas/Cat" } }'),
  ),
  // Forms and XML.
  pair(
    'breaks',
    'a part of a form has another media type',
    api(form('{ file: { contentType: image/png } }')),
    api(form('{ file: { contentType: image/jpeg } }')),
  ),
  pair(
    'breaks',
    'a list of a form is written otherwise',
    api(form('{ tags: { style: form, explode: true } }')),
    api(form('{ tags: { style: form, explode: false } }')),
  ),
  pair(
    'same',
    'a part of a form says the default',
    api(form('{}')),
    api(form('{ tags: { style: form, explode: true } }')),
  ),
  pair(
    'breaks',
    'an element of XML has another name',
    api(answer('{ type: object, properties: { id: { type: string, xml: { name: ident } } } }', 'application/xml')),
    api(answer('{ type: object, properties: { id: { type: string, xml: { name: identifier } } } }', 'application/xml')),
  ),
  pair(
    'breaks',
    'an element of XML becomes an attribute',
    api(answer('{ type: object, properties: { id: { type: string } } }', 'application/xml')),
    api(answer('{ type: object, properties: { id: { type: string, xml: { attribute: true } } } }', 'application/xml')),
  ),
  pair(
    'same',
    'the XML name of a schema that is only JSON',
    api(answer('{ type: object, xml: { name: pet } }')),
    api(answer('{ type: object, xml: { name: animal } }')),
  ),
  // Servers.
  pair('breaks', 'a value of a variable of a server is removed', api({}, server('[eu, us]')), api({}, server('[eu]'))),
  pair('same', 'a value of a variable of a server is added', api({}, server('[eu]')), api({}, server('[eu, us]'))),
  pair(
    'same',
    'another host',
    api({}, '{ servers: [{ url: "https://a.example.com/v1" }] }'),
    api({}, '{ servers: [{ url: "https://b.example.com/v1" }] }'),
  ),
  pair(
    'same',
    'a prefix moves into the servers',
    api(
      {},
      '{ servers: [{ url: "https://a.example.com" }], paths: { /v1/pets: { get: { responses: { 200: { description: It. } } } } } }',
    ),
    api(
      {},
      '{ servers: [{ url: "https://a.example.com/v1" }], paths: { /pets: { get: { responses: { 200: { description: It. } } } } } }',
    ),
  ),
  pair(
    'breaks',
    'the prefix of the servers changes',
    api({}, '{ servers: [{ url: /v1 }] }'),
    api({}, '{ servers: [{ url: /v2 }] }'),
  ),
  // Parameters.
  inQuery('same', 'a description', '{ schema: { type: string } }', '{ description: Words., schema: { type: string } }'),
  pair('same', 'a list of no webhooks', api({}, { webhooks: {} }), api({}, { openapi: '3.0.3' })),
  pair(
    'same',
    'parameter: a new one between others that can be null',
    api({ parameters: optionalOfPydantic('q', 'since', 'sort') }),
    api({ parameters: optionalOfPydantic('kind', 'q', 'since', 'sort') }),
  ),
  inQuery('same', 'deprecated', '{ schema: { type: string } }', '{ deprecated: true, schema: { type: string } }'),
  inQuery(
    'same',
    'the default style and explode',
    '{ schema: { type: array, items: { type: string } } }',
    '{ style: form, explode: true, schema: { type: array, items: { type: string } } }',
  ),
  inQuery(
    'breaks',
    'another style',
    '{ schema: { type: array, items: { type: string } } }',
    '{ style: pipeDelimited, explode: false, schema: { type: array, items: { type: string } } }',
  ),
  inQuery('same', 'required is false', '{ schema: { type: string } }', '{ required: false, schema: { type: string } }'),
  inQuery('breaks', 'required', '{ schema: { type: string } }', '{ required: true, schema: { type: string } }'),
  inQuery('same', 'no longer required', '{ required: true, schema: { type: string } }', '{ schema: { type: string } }'),
  inQuery(
    'same',
    'a schema becomes content',
    '{ schema: { type: string } }',
    '{ schema: { type: string }, example: a }',
  ),
  inQuery('breaks', 'another type', '{ schema: { type: string } }', '{ schema: { type: integer } }'),
  inQuery('same', 'an integer becomes a string', '{ schema: { type: integer } }', '{ schema: { type: string } }'),
  pair(
    'same',
    'a parameter moves to the path',
    api(query('{ schema: { type: string } }')),
    api(
      {},
      '{ paths: { /pets: { parameters: [{ name: q, in: query, schema: { type: string } }], post: { responses: { 200: { description: It. } } } } } }',
    ),
  ),
  pair(
    'breaks',
    'a required parameter is added to the path',
    api(),
    api(
      {},
      '{ paths: { /pets: { parameters: [{ name: q, in: query, required: true, schema: { type: string } }], post: { responses: { 200: { description: It. } } } } } }',
    ),
  ),
  pair(
    'same',
    'parameters in another order',
    api(
      '{ parameters: [{ name: a, in: query, schema: { type: string } }, { name: b, in: query, schema: { type: integer } }], responses: {} }',
    ),
    api(
      '{ parameters: [{ name: b, in: query, schema: { type: integer } }, { name: a, in: query, schema: { type: string } }], responses: {} }',
    ),
  ),
  pair(
    'same',
    'a parameter becomes a component',
    api(query('{ schema: { type: string } }')),
    api(
      '{ parameters: [{ $ref: "#/components/parameters/Q" }] }',
      '{ components: { parameters: { Q: { name: q, in: query, schema: { type: string } } } } }',
    ),
  ),
  pair(
    'same',
    'Authorization and Accept as parameters',
    api(),
    api(
      '{ parameters: [{ name: Authorization, in: header, required: true, schema: { type: string } }, { name: Accept, in: header, required: true, schema: { type: string } }] }',
    ),
  ),
  pair(
    'same',
    'a header parameter in other case',
    api('{ parameters: [{ name: X-Page, in: header, schema: { type: string } }] }'),
    api('{ parameters: [{ name: x-page, in: header, schema: { type: string } }] }'),
  ),
  pair('breaks', 'a parameter is removed', api(query('{ schema: { type: string } }')), api()),
  pair(
    'breaks',
    'a parameter moves from the query to a header',
    api(query('{ schema: { type: string } }')),
    api('{ parameters: [{ name: q, in: header, schema: { type: string } }] }'),
  ),
  // Security.
  pair(
    'same',
    'the security of the root is repeated',
    secured('{}', true),
    secured('{ security: [{ key: [] }] }', true),
  ),
  pair(
    'same',
    'schemes in another order',
    secured('{ security: [{ key: [], token: [] }] }', false),
    secured('{ security: [{ token: [], key: [] }] }', false),
  ),
  pair('breaks', 'security is required', secured('{}', false), secured('{}', true)),
  pair('same', 'security is no longer required', secured('{}', true), secured('{ security: [] }', true)),
  pair(
    'same',
    'an alternative is added',
    secured('{ security: [{ key: [] }] }', false),
    secured('{ security: [{ key: [] }, { token: [] }] }', false),
  ),
  pair(
    'breaks',
    'an alternative is removed',
    secured('{ security: [{ key: [] }, { token: [] }] }', false),
    secured('{ security: [{ key: [] }] }', false),
  ),
  // Media types.
  pair('same', 'a media type in other case', api(body(pet)), api(body(pet, 'Application/JSON'))),
  pair('same', 'a request takes any media type', api(body(pet)), api(body(pet, '*/*'))),
  pair('breaks', 'a request takes one media type', api(body(pet, '*/*')), api(body(pet))),
  pair('same', 'a response has one media type of any', api(answer(pet, '*/*')), api(answer(pet))),
  pair('breaks', 'a response has any media type', api(answer(pet)), api(answer(pet, '*/*'))),
  pair('breaks', 'another media type', api(answer(pet)), api(answer(pet, 'text/csv'))),
  // Schemas.
  ...(['request', 'response'] as const).flatMap((place) => {
    const both = place === 'request' ? inRequest : inResponse;
    const whole = (schema: string) => `{ type: object, properties: { a: ${schema} } }`;
    const same = (name: string, one: string, other: string) => [
      both('same', name, whole(one), whole(other)),
      both('same', `${name}, the other way`, whole(other), whole(one)),
    ];
    return [
      ...same('an enum of one and a constant', '{ type: string, enum: [a] }', '{ type: string, const: a }'),
      ...same(
        'a format that the bounds say',
        '{ type: integer, minimum: 0, maximum: 9 }',
        '{ type: integer, minimum: 0, maximum: 9, format: int32 }',
      ),
      ...same(
        'a format that the enum says',
        '{ type: integer, enum: [4] }',
        '{ type: integer, enum: [4], format: int32 }',
      ),
      both(
        // A response that returns fewer values hurts nobody.
        place === 'request' ? 'breaks' : 'same',
        'a format that is narrower than the bounds',
        whole('{ type: integer, minimum: 0, maximum: 4294967296 }'),
        whole('{ type: integer, minimum: 0, maximum: 4294967296, format: int32 }'),
      ),
      ...same('minLength 0', '{ type: string }', '{ type: string, minLength: 0 }'),
      ...same('additionalProperties of any form', '{ type: object }', '{ type: object, additionalProperties: {} }'),
      ...same('additionalProperties true', '{ type: object }', '{ type: object, additionalProperties: true }'),
      ...same('a list of one type', '{ type: string }', '{ type: [string] }'),
      ...same(
        'minItems 0 and uniqueItems false',
        '{ type: array, items: { type: string } }',
        '{ type: array, items: { type: string }, minItems: 0, uniqueItems: false }',
      ),
      ...same(
        'an allOf of one',
        '{ type: object, properties: { b: { type: string } } }',
        '{ allOf: [{ type: object, properties: { b: { type: string } } }] }',
      ),
      ...same('deprecated', '{ type: string }', '{ type: string, deprecated: true }'),
      ...same('an empty list of required properties', '{ type: object }', '{ type: object, required: [] }'),
      ...same(
        'required properties in another order',
        '{ type: object, required: [b, c], properties: { b: {}, c: {} } }',
        '{ type: object, required: [c, b], properties: { c: {}, b: {} } }',
      ),
      ...same('values of an enum in another order', '{ enum: [a, b] }', '{ enum: [b, a] }'),
      ...same('a schema that is true', '{}', 'true'),
      both('breaks', 'another type', whole('{ type: string }'), whole('{ type: boolean }')),
      both(
        'breaks',
        'another format',
        whole('{ type: string, format: date }'),
        whole('{ type: string, format: date-time }'),
      ),
    ];
  }),
  pair(
    'same',
    'nullable of 3.0 becomes a type of 3.1',
    nullable('3.0.3', '{ type: string, nullable: true }'),
    nullable('3.1.0', '{ type: [string, "null"] }'),
  ),
  pair(
    'same',
    'a bound of 3.0 that is exclusive',
    nullable('3.0.3', '{ type: integer, minimum: 1, exclusiveMinimum: true }'),
    nullable('3.1.0', '{ type: integer, exclusiveMinimum: 1 }'),
  ),
  pair(
    'breaks',
    'a response that can be null',
    nullable('3.0.3', '{ type: string }'),
    nullable('3.0.3', '{ type: string, nullable: true }'),
  ),
  inRequest('breaks', 'a value of an enum is removed', '{ enum: [a, b] }', '{ enum: [a] }'),
  inRequest('same', 'a value of an enum is added', '{ enum: [a] }', '{ enum: [a, b] }'),
  inResponse('breaks', 'a value of an enum is added', '{ enum: [a] }', '{ enum: [a, b] }'),
  inResponse(
    'same',
    'a value of an open enum is added',
    '{ enum: [a], x-open-enum: true }',
    '{ enum: [a, b], x-open-enum: true }',
  ),
  inResponse('breaks', 'an enum is opened, and a value added', '{ enum: [a] }', '{ enum: [a, b], x-open-enum: true }'),
  inRequest('breaks', 'a value of an open enum is removed', '{ enum: [a, b], x-open-enum: true }', '{ enum: [a] }'),
  inResponse(
    'same',
    'a closed object is opened',
    pet.replace('type: object,', 'type: object, additionalProperties: false,'),
    pet,
  ),
  inRequest(
    'breaks',
    'a required property is added',
    pet,
    pet.replace('type: object,', 'type: object, required: [name],'),
  ),
  inResponse(
    'breaks',
    'a property is no longer required',
    pet.replace('type: object,', 'type: object, required: [name],'),
    pet,
  ),
  inResponse('breaks', 'a property is removed', pet, '{ type: object, properties: { id: { type: string } } }'),
  inResponse('same', 'a property is added', '{ type: object, properties: { id: { type: string } } }', pet),
  inRequest('same', 'an optional property is added', '{ type: object, properties: { id: { type: string } } }', pet),
  inRequest(
    'breaks',
    'a closed object',
    pet,
    pet.replace('type: object,', 'type: object, additionalProperties: false,'),
  ),
  inRequest(
    'breaks',
    'a property inside an allOf is required',
    `{ allOf: [${pet}] }`,
    `{ allOf: [${pet}, { required: [name] }] }`,
  ),
  inResponse(
    'breaks',
    'an item of a list changes its type',
    '{ type: array, items: { type: string } }',
    '{ type: array, items: { type: integer } }',
  ),
  inRequest(
    'same',
    'examples and descriptions',
    '{ type: string }',
    '{ type: string, description: Words., example: a, title: T }',
  ),
  pair(
    'breaks',
    'a status of success is removed',
    api('{ responses: { 200: { description: It. }, 201: { description: It. } } }'),
    api(),
  ),
  pair(
    'same',
    'a status is added',
    api(),
    api('{ responses: { 200: { description: It. }, 404: { description: No. } } }'),
  ),
  pair(
    'breaks',
    'a body becomes required',
    api('{ requestBody: { content: { application/json: { schema: {} } } } }'),
    api('{ requestBody: { required: true, content: { application/json: { schema: {} } } } }'),
  ),
  pair(
    'breaks',
    'a header of a response is removed',
    api('{ responses: { 200: { description: It., headers: { ETag: { schema: { type: string } } } } } }'),
    api(),
  ),
];

function manyAliases(type: string): string {
  const properties = Array.from({ length: 150 }, (_, index) => `          p${index}: *text`).join('\n');
  return `openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
x-text: &text { type: ${type} }
paths:
  /pets:
    get:
      responses:
        '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } } }
components:
  schemas:
    Pet:
      type: object
      properties:
${properties.replaceAll(/^ {10}/gm, '        ')}
`;
}

function swaggerEnum(values: string): string {
  return swagger(
    `{ /pets: { get: { parameters: [{ in: query, name: kind, type: string, enum: ${values} }], responses: { 200: { description: It. } } } } }`,
  );
}

function pathItem(item: string): string {
  return api(
    {},
    `{ paths: { /pets: { $ref: "#/components/pathItems/Pets" } }, components: { pathItems: { Pets: ${item} } } }`,
  );
}

/** Optional parameters as FastAPI describes them. */
function optionalOfPydantic(...names: string[]): object[] {
  return names.map((name) => {
    const own = { q: { minLength: 2 }, since: { format: 'date-time' }, sort: { enum: ['name'] } };
    const text = { type: 'string', ...Object.entries(own).find(([one]) => one === name)?.[1] };
    return { name, in: 'query', schema: name === 'sort' ? text : { anyOf: [text, { type: 'null' }] } };
  });
}

function query32(item: string): string {
  return `{ openapi: 3.2.0, paths: { /pets: ${item}, /cats: { get: { responses: { 200: { description: It. } } } } } }`;
}

function petById(name: string): string {
  return `{ paths: { "/pets/{${name}}": { get: { parameters: [{ name: ${name}, in: path, required: true, schema: { type: string } }], responses: { 200: { description: It. } } } } } }`;
}

function unused(name: string): string {
  return `{ components: { schemas: { ${name}: { type: object, properties: { part: { $ref: "#/components/schemas/Part" } } }, Part: { type: object }, Whole: { allOf: [{ $ref: "#/components/schemas/Part" }] } } } }`;
}

function definitions(type: string): string {
  return `{ components: { schemas: { Pet: { type: object, properties: { name: { $ref: "#/components/schemas/Pet/$defs/Name" } }, $defs: { Name: { type: ${type} } } } } } }`;
}

function intoResponse(type: string): string {
  return `{ paths: {
    /pets: { get: { responses: { 200: { description: It., content: { application/json: { schema: { type: object, properties: { id: { type: ${type} } } } } } } } } },
    /cats: { get: { responses: { 200: { description: It., content: { application/json: { schema: { $ref: "#/paths/~1pets/get/responses/200/content/application~1json/schema" } } } } } } } } }`;
}

function server(values: string): string {
  return `{ servers: [{ url: "https://{region}.example.com", variables: { region: { default: eu, enum: ${values} } } }] }`;
}

function secured(operation: string, isRoot: boolean): string {
  const root = isRoot ? 'security: [{ key: [] }], ' : '';
  return api(
    operation,
    `{ ${root}components: { securitySchemes: { key: { type: apiKey, in: header, name: X-Key }, token: { type: http, scheme: bearer } } } }`,
  );
}

function nullable(version: string, schema: string): string {
  return api(answer(`{ type: object, properties: { a: ${schema} } }`), `{ openapi: ${version} }`);
}
