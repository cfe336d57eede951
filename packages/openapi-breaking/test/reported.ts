/** Further pairs, of kinds that reports about tools which compare documents name, and what is close to them. */
import {
  answer,
  api,
  body,
  inQuery,
  inRequest,
  inResponse,
  type Pair,
  type Part,
  pair,
  query,
  swagger,
  type Verdict,
} from './pairs.ts';

const a = (schema: string) => `{ type: object, properties: { a: ${schema} } }`;
const it = 'responses: { 200: { description: It. } }';
const pet = '{ $ref: "#/components/schemas/Pet" }';
const both = (schema: Part) => ({ ...body(schema), ...answer(schema) });

/** In a request and in a response. */
const inBoth = (verdict: Verdict, name: string, before: string, after: string) => [
  inRequest(verdict, name, a(before), a(after)),
  inResponse(verdict, name, a(before), a(after)),
];
/** A component `Pet` and others. */
const component = (
  verdict: Verdict,
  name: string,
  before: string,
  after: string,
  operation: object = both(pet),
  version = '3.1.0',
) => {
  const whole = (schemas: string) => api(operation, `{ openapi: ${version}, components: { schemas: ${schemas} } }`);
  return pair(verdict, name, whole(before), whole(after));
};
const paths = (verdict: Verdict, name: string, before: string, after: string) =>
  pair(verdict, name, api({}, `{ paths: ${before} }`), api({}, `{ paths: ${after} }`));
const rest = (verdict: Verdict, name: string, before: string, after: string) =>
  pair(verdict, name, api({}, before), api({}, after));
const statuses = (verdict: Verdict, name: string, before: string, after: string) =>
  pair(verdict, name, api(`{ responses: ${before} }`), api(`{ responses: ${after} }`));

const text = 'content: { application/json: { schema: { type: string } } }';
const schemes =
  '{ key: { type: apiKey, in: header, name: X-Key }, token: { type: http, scheme: bearer }, oauth: { type: oauth2, flows: { password: { tokenUrl: "https://a.example/t", scopes: { r: Read } }, implicit: { authorizationUrl: "https://a.example/a", scopes: { r: Read } } } } }';
const secured = (verdict: Verdict, name: string, scheme: string, after: string) => {
  const whole = (all: string) =>
    api(`{ security: [{ ${scheme}: [] }], ${it} }`, `{ components: { securitySchemes: ${all} } }`);
  return pair(verdict, name, whole(schemes), whole(after));
};
const kinds = (discriminator: string, cat = 'Cat') =>
  `{ Pet: { oneOf: [{ $ref: "#/components/schemas/${cat}" }, { $ref: "#/components/schemas/Dog" }], discriminator: ${discriminator} }, ${cat}: { type: object, required: [kind], properties: { kind: { type: string } } }, Dog: { type: object, required: [kind], properties: { kind: { type: string }, age: { type: integer } } } }`;
const heirs = (dog: string, puppy: string) =>
  `{ Pet: { type: object, discriminator: { propertyName: kind }, required: [kind], properties: { kind: { type: string } } }, Dog: { allOf: [${pet}, { type: object, properties: { ${dog} } }] }, Puppy: { allOf: [{ $ref: "#/components/schemas/Dog" }, { type: object, properties: { ${puppy} } }] } }`;
const tree = (more: string) =>
  `{ Pet: { type: object, properties: { young: { type: array, items: { allOf: [${pet}, { type: object, properties: { ${more} } }] } } } } }`;
const called = (schema: string, to = 'url') =>
  `'{$request.body#/${to}}': { post: { requestBody: { content: { application/json: { schema: ${schema} } } }, ${it} } }`;
const calls = (callback: string) => api(`{ ${it}, callbacks: { done: ${callback} } }`);
const condition = (then: string) =>
  `{ type: object, properties: { a: { type: string }, b: { type: string } }, if: { required: [a] }, then: ${then} }`;
const stream = (schema: string) =>
  `{ openapi: 3.2.0, paths: { /events: { get: { responses: { 200: { description: It., content: { application/jsonl: { itemSchema: ${schema} } } } } } } } }`;

export const reported: readonly Pair[] = [
  // Media types whose content is JSON.
  ...['*/*', 'application/*', 'application/x-ndjson', 'application/yaml'].flatMap((type) => [
    pair(
      'breaks',
      `null in ${type}`,
      api(answer(a('{ type: string }'), type)),
      api(answer(a('{ type: [string, "null"] }'), type)),
    ),
    pair(
      'breaks',
      `a number in ${type}`,
      api(answer(a('{ type: string }'), type)),
      api(answer(a('{ type: integer }'), type)),
    ),
  ]),
  pair(
    'same',
    'a number in text/csv',
    api(answer('{ type: string }', 'text/csv')),
    api(answer('{ type: integer }', 'text/csv')),
  ),
  pair(
    'breaks',
    'Swagger 2.0: null by x-nullable',
    swagger(`{ /pets: { get: { responses: { 200: { description: It., schema: ${a('{ type: string }')} } } } } }`),
    swagger(
      `{ /pets: { get: { responses: { 200: { description: It., schema: ${a('{ type: string, x-nullable: true }')} } } } } }`,
    ),
  ),
  // Items of streams.
  rest('breaks', 'an item of a stream changes its type', stream(a('{ type: string }')), stream(a('{ type: integer }'))),
  rest(
    'same',
    'an item of a stream has a further property',
    stream('{ type: object }'),
    stream(a('{ type: integer }')),
  ),
  // Beside references.
  component(
    'breaks',
    'a bound beside a reference',
    `{ Pet: ${a('{ $ref: "#/components/schemas/Name" }')}, Name: { type: string } }`,
    `{ Pet: ${a('{ $ref: "#/components/schemas/Name", maxLength: 5 }')}, Name: { type: string } }`,
  ),
  component(
    'same',
    'a description beside a reference',
    `{ Pet: ${a('{ $ref: "#/components/schemas/Name" }')}, Name: { type: string } }`,
    `{ Pet: ${a('{ $ref: "#/components/schemas/Name", description: Words. }')}, Name: { type: string } }`,
  ),
  component(
    'same',
    'a default beside a reference instead of an allOf of one',
    `{ Pet: ${a('{ allOf: [{ $ref: "#/components/schemas/Name" }], default: x }')}, Name: { type: string } }`,
    `{ Pet: ${a('{ $ref: "#/components/schemas/Name", default: x }')}, Name: { type: string } }`,
  ),
  // Schemas that contain themselves.
  component(
    'same',
    'a cycle through an allOf of one',
    `{ Pet: ${a(`{ type: array, items: { allOf: [${pet}] } }`)} }`,
    `{ Pet: ${a(`{ type: array, items: ${pet} }`)} }`,
  ),
  component('same', 'a cycle through an allOf of two', tree('b: { type: string }'), tree('b: { type: string }')),
  component(
    'breaks',
    'a cycle through an allOf of two that changes',
    tree('b: { type: string }'),
    tree('b: { type: integer }'),
  ),
  // Discriminators.
  component(
    'breaks',
    'a component whose name a discriminator means is renamed',
    kinds('{ propertyName: kind }'),
    kinds('{ propertyName: kind }', 'Feline'),
  ),
  component(
    'same',
    'a component that a mapping names is renamed',
    kinds('{ propertyName: kind, mapping: { c: Cat, d: Dog } }'),
    kinds('{ propertyName: kind, mapping: { c: Feline, d: Dog } }', 'Feline'),
  ),
  component(
    'same',
    'a mapping that says the names',
    kinds('{ propertyName: kind }'),
    kinds('{ propertyName: kind, mapping: { Cat: "#/components/schemas/Cat", Dog: Dog } }'),
  ),
  component(
    'breaks',
    'a schema with the parent in its allOf loses a property',
    heirs('bark: { type: string }', ''),
    heirs('', ''),
  ),
  component(
    'breaks',
    'a schema with the parent of its parent loses a property',
    heirs('', 'age: { type: integer }'),
    heirs('', ''),
  ),
  component(
    'same',
    'a schema with the parent in its allOf has a further property',
    heirs('', ''),
    heirs('bark: { type: string }', ''),
  ),
  // Unions.
  ...inBoth('same', 'an anyOf of one', '{ type: string }', '{ anyOf: [{ type: string }] }'),
  ...inBoth('same', 'a oneOf of one', '{ oneOf: [{ type: string }] }', '{ type: string }'),
  ...inBoth(
    'same',
    'a list of types as a union',
    '{ type: [string, integer] }',
    '{ anyOf: [{ type: string }, { type: integer }] }',
  ),
  ...inBoth(
    'same',
    'oneOf of types that exclude each other',
    '{ anyOf: [{ type: string, maxLength: 5 }, { type: integer }] }',
    '{ oneOf: [{ type: string, maxLength: 5 }, { type: integer }] }',
  ),
  inRequest(
    'breaks',
    'oneOf of objects that can both match',
    `{ anyOf: [${a('{ type: string }')}, { type: object }] }`,
    `{ oneOf: [${a('{ type: string }')}, { type: object }] }`,
  ),
  inRequest(
    'breaks',
    'a list of types loses one',
    a('{ type: [string, integer] }'),
    a('{ anyOf: [{ type: string }] }'),
  ),
  inRequest(
    'same',
    'a schema becomes a branch',
    a('{ type: string, maxLength: 5 }'),
    a('{ anyOf: [{ type: string, maxLength: 5 }, { type: object }] }'),
  ),
  inResponse(
    'breaks',
    'a schema becomes a branch',
    a('{ type: string, maxLength: 5 }'),
    a('{ anyOf: [{ type: string, maxLength: 5 }, { type: object }] }'),
  ),
  inRequest(
    'breaks',
    'a branch becomes the schema',
    a('{ anyOf: [{ type: string, maxLength: 5 }, { type: object }] }'),
    a('{ type: string, maxLength: 5 }'),
  ),
  pair(
    'same',
    'nullable beside an allOf becomes a oneOf with null',
    api(
      both(a('{ nullable: true, allOf: [{ $ref: "#/components/schemas/B" }] }')),
      `{ openapi: 3.0.3, components: { schemas: { B: ${a('{ type: string }')} } } }`,
    ),
    api(
      both(a('{ oneOf: [{ $ref: "#/components/schemas/B" }, { type: "null" }] }')),
      `{ components: { schemas: { B: ${a('{ type: string }')} } } }`,
    ),
  ),
  // Keywords in two forms.
  ...inBoth('same', 'a constant with its enum', '{ type: string, const: x, enum: [x] }', '{ type: string, const: x }'),
  ...inBoth(
    'same',
    'an exclusive bound of an integer',
    '{ type: integer, exclusiveMinimum: 0, exclusiveMaximum: 9 }',
    '{ type: integer, minimum: 1, maximum: 8 }',
  ),
  inRequest(
    'breaks',
    'an exclusive bound of a number',
    a('{ type: number, minimum: 0 }'),
    a('{ type: number, exclusiveMinimum: 0 }'),
  ),
  ...inBoth('same', 'base64', '{ type: string, format: byte }', '{ type: string, contentEncoding: base64 }'),
  inRequest('breaks', 'a text becomes base64', a('{ type: string }'), a('{ type: string, format: byte }')),
  ...inBoth(
    'same',
    'a file',
    '{ type: string, format: binary }',
    '{ type: string, contentMediaType: application/octet-stream }',
  ),
  inRequest(
    'same',
    'a number can be a text of a pattern',
    a('{ type: integer }'),
    a('{ type: [integer, string], pattern: "^[0-9]+$" }'),
  ),
  inRequest(
    'same',
    'a text can be an object with required properties',
    a('{ type: string }'),
    a('{ type: [string, object], required: [b], properties: { b: {} } }'),
  ),
  inRequest(
    'breaks',
    'a number or text gets a pattern',
    a('{ type: [integer, string] }'),
    a('{ type: [integer, string], pattern: "^[0-9]+$" }'),
  ),
  inRequest(
    'breaks',
    'a property must match if a condition holds',
    condition('{ required: [b] }'),
    condition('{ required: [b], properties: { b: { minLength: 3 } } }'),
  ),
  component(
    'breaks',
    'a $dynamicRef leads elsewhere',
    '{ Pet: { $dynamicAnchor: node, type: object, properties: { young: { $dynamicRef: "#node" } } } }',
    '{ Pet: { $dynamicAnchor: node, type: object, properties: { young: { type: string } } } }',
  ),
  component(
    'same',
    'a default of a read-only property',
    '{ Pet: { type: object, properties: { a: { type: string, readOnly: true, default: x } } } }',
    '{ Pet: { type: object, properties: { a: { type: string, readOnly: true, default: y } } } }',
  ),
  // Statuses and headers of responses.
  statuses(
    'same',
    'a range becomes one of its statuses',
    `{ 2XX: { description: It., ${text} } }`,
    `{ 200: { description: It., ${text} } }`,
  ),
  statuses(
    'breaks',
    'a status of a range has another schema',
    `{ 2XX: { description: It., ${text} } }`,
    `{ 200: { description: It., ${text.replace('string', 'integer')} } }`,
  ),
  statuses(
    'breaks',
    'a status of success becomes a range',
    `{ 200: { description: It., ${text} } }`,
    `{ 2XX: { description: It., ${text} } }`,
  ),
  statuses(
    'same',
    'a status of failure becomes a range',
    `{ 200: { description: It. }, 400: { description: No., ${text} } }`,
    `{ 200: { description: It. }, 4XX: { description: No., ${text} } }`,
  ),
  statuses(
    'breaks',
    'a status of failure becomes a range with another schema',
    `{ 200: { description: It. }, 400: { description: No., ${text} } }`,
    `{ 200: { description: It. }, 4XX: { description: No., ${text.replace('string', 'integer')} } }`,
  ),
  statuses('same', 'a range in other case', `{ 2XX: { description: It. } }`, `{ 2xx: { description: It. } }`),
  statuses(
    'same',
    'Content-Type as a header of a response',
    '{ 200: { description: It., headers: { Content-Type: { schema: { type: string } } } } }',
    '{ 200: { description: It. } }',
  ),
  // Parameters.
  inQuery(
    'breaks',
    'a parameter becomes JSON',
    '{ schema: { type: object } }',
    '{ content: { application/json: { schema: { type: object } } } }',
  ),
  inQuery(
    'breaks',
    'a parameter is no longer JSON',
    '{ content: { application/json: { schema: { type: object } } } }',
    '{ schema: { type: object } }',
  ),
  inQuery('same', 'explode of a text', '{ schema: { type: string } }', '{ explode: false, schema: { type: string } }'),
  inQuery(
    'same',
    'explode of a deepObject',
    '{ style: deepObject, schema: { type: object } }',
    '{ style: deepObject, explode: true, schema: { type: object } }',
  ),
  inQuery(
    'breaks',
    'explode of an object',
    '{ schema: { type: object } }',
    '{ explode: false, schema: { type: object } }',
  ),
  pair(
    'breaks',
    'explode of a list behind a reference',
    api(query('{ schema: { $ref: "#/components/schemas/L" } }'), '{ components: { schemas: { L: { type: array } } } }'),
    api(
      query('{ explode: false, schema: { $ref: "#/components/schemas/L" } }'),
      '{ components: { schemas: { L: { type: array } } } }',
    ),
  ),
  // Callbacks.
  pair(
    'breaks',
    'a callback is sent elsewhere',
    calls(`{ ${called('{}')} }`),
    calls(`{ ${called('{}', 'callbackUrl')} }`),
  ),
  ...(['breaks', 'same'] as const).map((verdict) => {
    const whole = (schema: string) =>
      api(
        `{ ${it}, callbacks: { done: { $ref: "#/components/callbacks/Done" } } }`,
        `{ components: { callbacks: { Done: { ${called(schema)} } } } }`,
      );
    const [more, fewer] = [whole('{ enum: [a, b] }'), whole('{ enum: [a] }')];
    return pair(
      verdict,
      `values of an enum of a callback among the components, ${verdict}`,
      verdict === 'breaks' ? fewer : more,
      verdict === 'breaks' ? more : fewer,
    );
  }),
  // Servers.
  rest(
    'breaks',
    'the value of a prefix that is a variable',
    '{ servers: [{ url: "/{base}", variables: { base: { default: v1 } } }] }',
    '{ servers: [{ url: "/{base}", variables: { base: { default: v2 } } }] }',
  ),
  rest(
    'same',
    'a prefix that is a variable of one value',
    '{ servers: [{ url: "/{base}", variables: { base: { default: v1, enum: [v1] } } }] }',
    '{ servers: [{ url: /v1 }] }',
  ),
  rest(
    'breaks',
    'a value of a prefix that is a variable',
    '{ servers: [{ url: "/{base}", variables: { base: { default: v1, enum: [v1, v2, v3] } } }] }',
    '{ servers: [{ url: "/{base}", variables: { base: { default: v1, enum: [v1, v2] } } }] }',
  ),
  rest('same', 'the host itself as a server', '{ servers: [{ url: / }] }', '{ servers: [] }'),
  paths(
    'same',
    'a path beside one that differs in a parameter',
    `{ /a/mine: { get: { ${it} } } }`,
    `{ /a/mine: { get: { ${it} } }, "/a/{id}": { get: { parameters: [{ name: id, in: path, required: true, schema: { type: string } }], ${it} } } }`,
  ),
  pair(
    'same',
    'Swagger 2.0: basePath moves into the paths',
    swagger(`{ /pets: { get: { ${it} } } }`, '{ basePath: /v1 }'),
    swagger(`{ /v1/pets: { get: { ${it} } } }`),
  ),
  // Security.
  secured('same', 'a header with a key in other case', 'key', schemes.replace('X-Key', 'x-key')),
  secured('breaks', 'a header with a key has another name', 'key', schemes.replace('X-Key', 'X-Api-Key')),
  secured('same', 'the form of a token', 'token', schemes.replace('bearer', 'Bearer, bearerFormat: JWT')),
  secured('breaks', 'basic instead of bearer', 'token', schemes.replace('bearer', 'basic')),
  secured('breaks', 'a flow is removed', 'oauth', schemes.replace(/, implicit: .*? } }/, '')),
  secured(
    'same',
    'a flow of a scheme that no operation requires is removed',
    'key',
    schemes.replace(/, implicit: .*? } }/, ''),
  ),
];
