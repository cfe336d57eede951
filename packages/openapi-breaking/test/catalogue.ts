/**
 * Changes to try a comparison with: our own pairs, one for each kind of change in the catalogue of checks of oasdiff
 * (https://github.com/oasdiff/oasdiff, Apache 2.0). `unlike` says why we judge a pair otherwise than oasdiff does.
 *
 * Not in the table, because they are no properties of requests and responses:
 * - that an operation is deprecated for a while before it is removed, and its stability level: each removal is a break;
 * - version numbers, which `pnpm contract:release` checks;
 * - `x-extensible-enum`, an extension that we do not have.
 */
export type Way = 'narrower' | 'wider';
export type Direction = 'request' | 'response';
type Schema = Readonly<Record<string, unknown>>;

export interface Constraint {
  readonly name: string;
  readonly wide: Schema;
  readonly narrow: Schema;
  /** Where a change is a break. Default: in requests if it is narrower, in responses if it is wider. */
  readonly breaks?: Readonly<Record<Way, readonly Direction[]>>;
  /** The same where values are text: in parameters and headers. */
  readonly breaksInText?: Readonly<Record<Way, readonly Direction[]>>;
  readonly unlike?: string;
}

export const text = { type: 'string' } as const;
const whole = { type: 'integer' } as const;
const list = { type: 'array', items: text } as const;
const pair = { type: 'object', properties: { a: text, b: text } } as const;
const closed = { ...pair, additionalProperties: false } as const;
const more = (schema: Schema, keywords: Schema): Schema => ({ ...schema, ...keywords });
const row = (name: string, wide: Schema, narrow: Schema, rest: Partial<Constraint> = {}): Constraint => {
  return { name, wide, narrow, ...rest };
};
const added = (name: string, wide: Schema, keywords: Schema, rest: Partial<Constraint> = {}) =>
  row(name, wide, more(wide, keywords), rest);
const changed = (name: string, schema: Schema, one: Schema, other: Schema, rest: Partial<Constraint> = {}) =>
  row(name, more(schema, one), more(schema, other), rest);

const undecided = { breaks: { narrower: ['request', 'response'], wider: ['request', 'response'] } } as const;
const never = { breaks: { narrower: [], wider: [] } } as const;
const sameText = { breaksInText: never.breaks } as const;
const removed = { breaks: { narrower: ['request', 'response'], wider: [] } } as const;
const opened = {
  breaks: { narrower: ['request'], wider: [] },
  unlike: 'oasdiff reports that a response is opened, although it lets properties be added to a closed one.',
} as const;
const onlyInRequests = { breaks: { narrower: ['request'], wider: ['request'] } } as const;
// Not a literal: an object with `then` looks like a promise to linters.
const thenB: Schema = Object.fromEntries([['then', { required: ['b'] }]]);
const branch = { type: 'object', required: ['kind'], properties: { kind: { const: 'x' } } } as const;
const other = { type: 'object', required: ['kind'], properties: { kind: { const: 'y' } } } as const;

/** The keywords of a schema. Each pair is compared in both directions, in every place that a schema can have. */
export const constraints: readonly Constraint[] = [
  row('integers instead of numbers', { type: 'number' }, whole),
  row(
    'booleans instead of text',
    text,
    { type: 'boolean' },
    {
      ...undecided,
      breaksInText: { narrower: ['request'], wider: ['response'] },
    },
  ),
  row('text or object', { type: ['string', 'object'] }, { type: 'object' }),
  row('fewer types', { type: ['string', 'integer'] }, text, sameText),
  row('no null', { type: ['string', 'null'] }, text, {
    ...sameText,
    unlike: 'oasdiff reports parameters and headers, too, but no text is null.',
  }),
  row('no null as a branch', { anyOf: [text, { type: 'null' }] }, text, sameText),
  row('no null as a branch of an object', { oneOf: [branch, { type: 'null' }] }, branch, sameText),
  row('null in two forms', { oneOf: [text, { type: 'null' }] }, { type: ['string', 'null'] }, never),
  row('a property of any form', more(pair, { properties: { ...pair.properties, c: true } }), pair, {
    ...removed,
    unlike: 'oasdiff only warns for requests. An open object accepts the property, but what it says is ignored.',
  }),
  added('enum', text, { enum: ['a', 'b'] }),
  changed('value of an enum', text, { enum: ['a', 'b'] }, { enum: ['a'] }),
  added('const', text, { const: 'a' }),
  changed('another const', text, { const: 'a' }, { const: 'b' }, undecided),
  added('format', text, { format: 'email' }),
  changed('another format', text, { format: 'date' }, { format: 'date-time' }, undecided),
  added('pattern', text, { pattern: '^a$' }),
  changed(
    'another pattern',
    text,
    { pattern: '^a+$' },
    { pattern: '^a$' },
    {
      ...undecided,
      unlike: 'oasdiff lets patterns of responses change. Clients that parse the text depend on them.',
    },
  ),
  changed('a pattern that all match', text, { pattern: '' }, { pattern: '^a$' }),
  added('minLength', text, { minLength: 1 }),
  changed('greater minLength', text, { minLength: 1 }, { minLength: 2 }),
  added('maxLength', text, { maxLength: 9 }),
  changed('less maxLength', text, { maxLength: 9 }, { maxLength: 8 }),
  added('minimum', whole, { minimum: 1 }),
  changed('greater minimum', whole, { minimum: 1 }, { minimum: 2 }),
  added('maximum', whole, { maximum: 9 }),
  changed('less maximum', whole, { maximum: 9 }, { maximum: 8 }),
  added('exclusiveMinimum', whole, { exclusiveMinimum: 1 }),
  changed('greater exclusiveMinimum', whole, { exclusiveMinimum: 1 }, { exclusiveMinimum: 2 }),
  changed('exclusive instead of inclusive', whole, { maximum: 9 }, { exclusiveMaximum: 9 }),
  changed('less exclusiveMaximum', whole, { exclusiveMaximum: 9 }, { exclusiveMaximum: 8 }),
  added('multipleOf', whole, { multipleOf: 5 }),
  added('minItems', list, { minItems: 1 }),
  changed('greater minItems', list, { minItems: 1 }, { minItems: 2 }),
  added('maxItems', list, { maxItems: 9 }),
  changed('less maxItems', list, { maxItems: 9 }, { maxItems: 8 }),
  added('uniqueItems', list, { uniqueItems: true }),
  changed('narrower items', { type: 'array' }, { items: text }, { items: { ...text, maxLength: 3 } }),
  added('items', { type: 'array' }, { items: text }),
  added('items of any form', { type: 'array' }, { items: {} }, never),
  added('prefixItems', list, { prefixItems: [{ const: 'a' }] }),
  changed(
    'one more of prefixItems',
    { type: 'array' },
    { prefixItems: [text] },
    { prefixItems: [text, whole] },
    { unlike: 'oasdiff reads a longer list as wider. The second item could be anything, and must now be a number.' },
  ),
  row(
    'one more of prefixItems where no further item is allowed',
    { type: 'array', prefixItems: [text, whole], items: false },
    { type: 'array', prefixItems: [text], items: false },
  ),
  added('contains', list, { contains: { const: 'a' } }),
  changed('minContains', list, { contains: { const: 'a' } }, { contains: { const: 'a' }, minContains: 2 }),
  changed('greater minContains', more(list, { contains: { const: 'a' } }), { minContains: 2 }, { minContains: 3 }),
  changed('minContains of zero', more(list, { contains: { const: 'a' } }), { minContains: 0 }, {}),
  added('maxContains', more(list, { contains: { const: 'a' } }), { maxContains: 2 }),
  changed('less maxContains', more(list, { contains: { const: 'a' } }), { maxContains: 3 }, { maxContains: 2 }),
  added('unevaluatedItems', { type: 'array', prefixItems: [text] }, { unevaluatedItems: false }),
  added('contentEncoding', text, { contentEncoding: 'base64' }),
  changed('another contentEncoding', text, { contentEncoding: 'base64' }, { contentEncoding: 'base32' }, undecided),
  changed(
    'another contentMediaType',
    text,
    { contentMediaType: 'text/html' },
    { contentMediaType: 'text/css' },
    undecided,
  ),
  added('contentSchema', text, { contentSchema: { type: 'object' } }),
  added('required', pair, { required: ['a'] }),
  added('minProperties', pair, { minProperties: 1 }),
  added('maxProperties', pair, { maxProperties: 1 }),
  added('additionalProperties', pair, { additionalProperties: false }, opened),
  added('additionalProperties of a type', pair, { additionalProperties: text }),
  added('unevaluatedProperties', pair, { unevaluatedProperties: false }, opened),
  added('propertyNames', { type: 'object' }, { propertyNames: { pattern: '^x' } }),
  added('patternProperties', pair, { patternProperties: { '^x': text } }),
  changed(
    'one more of patternProperties',
    pair,
    { patternProperties: { '^x': text } },
    { patternProperties: { '^x': text, '^y': text } },
  ),
  changed(
    'narrower patternProperties',
    pair,
    { patternProperties: { '^x': text } },
    { patternProperties: { '^x': { ...text, maxLength: 3 } } },
  ),
  row('patternProperties of a closed object', more(closed, { patternProperties: { '^x': text } }), closed),
  added('dependentRequired', pair, { dependentRequired: { a: ['b'] } }),
  changed(
    'one more of dependentRequired',
    pair,
    { dependentRequired: { a: ['b'] } },
    { dependentRequired: { a: ['b', 'c'] } },
  ),
  changed(
    'another property of dependentRequired',
    pair,
    { dependentRequired: { a: ['b'] } },
    {
      dependentRequired: { a: ['b'], b: ['a'] },
    },
  ),
  changed(
    'other properties of dependentRequired',
    pair,
    { dependentRequired: { a: ['b'] } },
    { dependentRequired: { a: ['c'] } },
    undecided,
  ),
  added('dependentSchemas', pair, { dependentSchemas: { a: { required: ['b'] } } }),
  added('if, then', pair, { if: { required: ['a'] }, ...thenB }),
  added('else', more(pair, { if: { required: ['a'] } }), { else: { required: ['b'] } }),
  changed(
    'another condition',
    more(pair, thenB),
    { if: { required: ['a'] } },
    { if: { properties: { a: { const: 'x' } } } },
    undecided,
  ),
  added('not', pair, { not: { required: ['a'] } }),
  changed(
    'another schema under not',
    pair,
    { not: { required: ['a'] } },
    { not: { required: ['b'] } },
    { ...undecided, unlike: 'oasdiff does not judge it. What the schema rejects now, it accepted before.' },
  ),
  changed('a narrower part of allOf', {}, { allOf: [pair] }, { allOf: [more(pair, { required: ['a'] })] }),
  added('a part of allOf', { allOf: [pair] }, { allOf: [pair, { required: ['a'] }] }),
  row(
    'a part of allOf that only describes',
    { allOf: [pair] },
    { allOf: [pair, { description: 'Words.' }] },
    {
      ...never,
      unlike: 'The same on the pages of oasdiff; its 1.15 reports each part.',
    },
  ),
  row(
    'a branch of anyOf',
    { anyOf: [text, whole] },
    { anyOf: [text] },
    {
      ...sameText,
      unlike: 'oasdiff lets responses have another branch of anyOf, but not of oneOf. In text every number is a text.',
    },
  ),
  row('a branch of oneOf', { oneOf: [branch, other] }, { oneOf: [branch] }),
  row('a schema that becomes a branch of oneOf', { oneOf: [branch, other] }, branch),
  added('another default', more(pair, { required: [] }), { default: {} }, never),
  changed(
    'default',
    text,
    { default: 'a' },
    { default: 'b' },
    {
      ...onlyInRequests,
      unlike: 'oasdiff lets defaults of bodies change. A caller who omits the property gets another one.',
    },
  ),
  row('a property of a closed object', more(closed, { properties: { ...pair.properties, c: text } }), closed, removed),
];

export interface Edit {
  readonly name: string;
  readonly before: Schema;
  readonly after: Schema;
  readonly isBreak: boolean;
  readonly unlike?: string;
}

const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
const returns = (more: Schema = {}) => ({ responses: { 200: { description: 'It.', ...more } } });
const plain = returns();
const query = (more: Schema = {}) => ({ ...plain, parameters: [{ name: 'a', in: 'query', schema: text, ...more }] });
const sends = (content: Schema, required = false) => ({ ...plain, requestBody: { required, content } });
const properties = (schema: Schema) => json({ type: 'object', properties: { a: schema } });
const header = (more: Schema) => returns({ headers: { 'X-A': { schema: text, ...more } } });

/** A change, and whether it and its reverse are breaks. */
function both(
  name: string,
  before: Schema,
  after: Schema,
  [forth, back]: readonly [boolean, boolean],
  unlike?: string,
): Edit[] {
  const reason = unlike === undefined ? {} : { unlike };
  return [
    { name, before, after, isBreak: forth, ...reason },
    { name: `${name}, reversed`, before: after, after: before, isBreak: back, ...reason },
  ];
}

const stricter = 'oasdiff only mentions it. Calls without it fail from now on.';
const oauth = (...scopes: string[]) => ({ ...plain, security: [{ oauth: scopes }] });
const hook = (body: Schema) => ({
  ...plain,
  callbacks: { done: { '{$url}': { post: { ...plain, requestBody: body } } } },
});

/** Changes of operations. */
export const edits: readonly Edit[] = [
  ...both('an optional parameter', plain, query(), [false, true]),
  ...both('a required parameter', plain, query({ required: true }), [true, true]),
  ...both('a parameter that must be sent', query(), query({ required: true }), [true, false]),
  ...both('a deprecated parameter', query(), query({ deprecated: true }), [false, false]),
  ...both('a deprecated operation', plain, { ...plain, deprecated: true }, [false, false]),
  ...both('a default of a parameter', query(), query({ schema: { ...text, default: 'a' } }), [true, true]),
  ...both('another form of a parameter', query(), query({ style: 'pipeDelimited' }), [true, true]),
  ...both('a parameter in another place', query(), query({ in: 'header' }), [true, true]),
  ...both('tags', plain, { ...plain, tags: ['a'] }, [false, false]),
  ...both(
    'an operationId',
    plain,
    { ...plain, operationId: 'a' },
    [false, true],
    'Generated clients have it as a name.',
  ),
  ...both('a body that may be sent', plain, sends({ 'text/plain': { schema: text } }), [false, true]),
  ...both('a body that must be sent', plain, sends({ 'text/plain': { schema: text } }, true), [true, true]),
  ...both('a body that became required', sends({ 'text/plain': {} }), sends({ 'text/plain': {} }, true), [true, false]),
  ...both('a media type of a body', sends({ 'text/plain': {} }), sends({ 'text/plain': {}, 'application/json': {} }), [
    false,
    true,
  ]),
  ...both('a schema of a body', sends({ 'text/plain': {} }), sends({ 'text/plain': { schema: text } }), [true, false]),
  ...both(
    'an element of XML',
    sends({ 'a/xml': { schema: { type: 'object' } } }),
    sends({ 'a/xml': { schema: text } }),
    [false, true],
  ),
  ...both(
    'an element of XML in a response',
    returns({ content: { 'a/xml': { schema: text } } }),
    returns({ content: { 'a/xml': { schema: { type: 'object' } } } }),
    [false, true],
  ),
  ...both(
    'a number in a form',
    sends({ 'application/x-www-form-urlencoded': { schema: { type: 'object', properties: { a: whole } } } }),
    sends({ 'application/x-www-form-urlencoded': { schema: { type: 'object', properties: { a: text } } } }),
    [false, true],
  ),
  ...both(
    'a schema of a response',
    returns({ content: { 'a/json': {} } }),
    returns({ content: { 'a/json': { schema: pair } } }),
    [false, true],
  ),
  ...both(
    'a media type of a response',
    returns({ content: { 'text/plain': {} } }),
    returns({ content: { 'text/plain': {}, 'application/json': {} } }),
    [false, true],
  ),
  ...both(
    'a narrower media type',
    returns({ content: { 'application/json': {} } }),
    returns({ content: { 'application/problem+json': {} } }),
    [true, true],
    'oasdiff lets it become narrower. Clients compare the header.',
  ),
  ...both('a status of success', plain, { responses: { ...plain.responses, 202: { description: 'Soon.' } } }, [
    false,
    true,
  ]),
  ...both(
    'a status of failure',
    plain,
    { responses: { ...plain.responses, 409: { description: 'No.' } } },
    [false, true],
    'oasdiff lets it be removed. Clients that handle it depend on it.',
  ),
  ...both('responses', {}, plain, [false, true]),
  ...both('an optional header', plain, header({}), [false, true]),
  ...both('a required header', plain, header({ required: true }), [false, true]),
  ...both('a header that may be missing', header({ required: true }), header({}), [true, false]),
  ...both('security', plain, oauth('r'), [true, false], stricter),
  ...both('a scope', oauth('r'), oauth('r', 'w'), [true, false], stricter),
  ...both(
    'another scheme',
    oauth('r'),
    { ...plain, security: [{ oauth: ['r'] }, { key: [] }] },
    [false, true],
    stricter,
  ),
  ...both(
    'a property that can only be read',
    { ...plain, requestBody: properties(text) },
    { ...plain, requestBody: properties({ ...text, readOnly: true }) },
    [true, false],
    'oasdiff only mentions it. What callers send is no longer accepted.',
  ),
  ...both(
    'a property that can only be written',
    returns(properties(text)),
    returns(properties({ ...text, writeOnly: true })),
    [true, false],
    'oasdiff only mentions it. Callers no longer get it.',
  ),
  ...both(
    'a required property that is never returned',
    returns(json({ ...pair, properties: { a: { ...text, writeOnly: true } } })),
    returns(json({ ...pair, required: ['a'], properties: { a: { ...text, writeOnly: true } } })),
    [false, false],
  ),
  ...both(
    'a discriminator',
    sends({ 'a/json': { schema: { oneOf: [branch, other] } } }),
    sends({ 'a/json': { schema: { oneOf: [branch, other], discriminator: { propertyName: 'kind' } } } }),
    [false, false],
  ),
  ...both('a body of a callback', hook(properties(text)), hook(json({ type: 'object' })), [true, false]),
  ...both('a value of an enum of a callback', hook(json({ enum: ['a'] })), hook(json({ enum: ['a', 'b'] })), [
    true,
    false,
  ]),
];
