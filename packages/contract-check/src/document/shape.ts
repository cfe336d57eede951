import { isObject, type JsonObject, jsonText, remembered, type TypeName, textsIn } from '../json.ts';
import { childrenOf, childSchemas, discriminatorOf, isParent } from './discriminators.ts';
import type { OpenApiDocument } from './document.ts';
import { regularExpression } from './patterns.ts';

/**
 * The constraints of a schema with references followed and `allOf` merged. Values are generated from it. It may be
 * incomplete, because the validator checks every generated value.
 */
export type Shape = Readonly<ReturnType<typeof merged>>;

export interface Choice {
  readonly keyword: 'oneOf' | 'anyOf' | 'if' | 'discriminator';
  readonly source: JsonObject;
  /** The schemas that apply together in each branch. */
  readonly branches: readonly (readonly JsonObject[])[];
}

export const anything: JsonObject = {};
export const nothing: JsonObject = { not: {} };

const allTypes: readonly TypeName[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

const implied: readonly (readonly [TypeName, RegExp])[] = [
  ['object', /propert|required/i],
  ['array', /items|contains/i],
  ['string', /^pattern$|format|length/i],
  ['number', /imum$|multipleOf/],
];

interface Shapes {
  readonly numbers: WeakMap<object, number>;
  readonly shapes: Map<string, Shape>;
}

const memories = new WeakMap<OpenApiDocument, Shapes>();
let count = 0;

/** The shape of one or more schemas that apply together, without branches. */
export function shapeOf(document: OpenApiDocument, ...schemas: readonly JsonObject[]): Shape {
  return shapeWith(document, ['allOf'], schemas);
}

/** The shape of schemas with the parts of all their branches, although no value matches all of them. */
export function wholeShapeOf(document: OpenApiDocument, ...schemas: readonly JsonObject[]): Shape {
  return shapeWith(document, ['allOf', 'oneOf', 'anyOf', 'if', 'then', 'else'], schemas);
}

function shapeWith(document: OpenApiDocument, keywords: readonly string[], schemas: readonly JsonObject[]): Shape {
  const { numbers, shapes } = remembered(memories, document, () => ({ numbers: new WeakMap(), shapes: new Map() }));
  const key = [keywords.length, ...schemas.map((schema) => remembered(numbers, schema, () => ++count))].join();
  return remembered(shapes, key, () => merged(document, schemas, keywords));
}

/** The likely types of a value. Without `type`, those that the other keywords apply to. */
export function likelyTypes(shape: Shape): TypeName[] {
  const types = [...shape.types].filter((type) => type !== 'integer' || !shape.types.has('number'));
  if (types.length < 6) return types;
  const keywords = shape.sources.flatMap((source) => Object.keys(source));
  const likely = implied.flatMap(([type, own]) => (keywords.some((keyword) => own.test(keyword)) ? [type] : []));
  return likely.length > 0 ? likely : types;
}

/** Resolves all choices of the schemas, including nested ones. */
export function settle(
  document: OpenApiDocument,
  schemas: readonly JsonObject[],
  pick: (choice: Choice, settled: readonly JsonObject[]) => readonly JsonObject[] | undefined,
): Shape {
  let settled = schemas;
  let done = 0;
  // A branch can lead back to its own choice.
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const shape = shapeOf(document, ...settled);
    const open = shape.choices.slice(done);
    if (open.length === 0) return shape;
    done = shape.choices.length;
    const before = settled;
    settled = [...before, ...open.flatMap((choice) => pick(choice, before) ?? [])];
  }
  return shapeOf(document, ...settled);
}

/** The schemas of a property; undefined if it is rejected. */
export function memberSchemas(shape: Shape, name: string): readonly JsonObject[] | undefined {
  const named = shape.properties.get(name) ?? [];
  const matching = shape.patternProperties.filter(([pattern]) => regularExpression(pattern).test(name));
  const found = [...named, ...matching.map(([, schema]) => schema)];
  if (found.length > 0) return found;
  return shape.closed ? undefined : shape.additional;
}

/** The schemas of an array item; undefined if it is rejected. */
export function itemSchemas(shape: Shape, index: number): readonly JsonObject[] | undefined {
  const schemas = shape.prefixItems[index] ?? shape.items ?? [];
  return schemas.includes(nothing) ? undefined : schemas;
}

function merged(document: OpenApiDocument, schemas: readonly JsonObject[], keywords: readonly string[]) {
  const found = new Set<JsonObject>();
  for (const schema of schemas) collect(document, schema, found, keywords);
  const sources = [...found];
  const all = (keyword: string) =>
    sources.flatMap((source) => (source[keyword] === undefined ? [] : [source[keyword]]));
  const numbers = (keyword: string) => all(keyword).filter((value) => typeof value === 'number');
  const texts = (keyword: string) => all(keyword).filter((value) => typeof value === 'string');
  const flag = (keyword: string) => all(keyword).includes(true);
  const entriesOf = (keyword: string) =>
    all(keyword)
      .filter(isObject)
      .flatMap((group) => Object.entries(group));
  const schemasAt = (keyword: string) => all(keyword).filter(isSchema).map(schemaOf);
  const greatest = (keyword: string, none: number) => Math.max(none, ...numbers(keyword));
  const least = (keyword: string) => Math.min(Number.POSITIVE_INFINITY, ...numbers(keyword));
  const items = schemasAt('items');
  const additional = [...schemasAt('additionalProperties'), ...schemasAt('unevaluatedProperties')];
  return {
    /** `number` implies `integer`. Empty if no value is valid. */
    types: typesOf(sources) as ReadonlySet<TypeName>,
    enum: enumOf(sources),
    format: texts('format')[0],
    patterns: texts('pattern'),
    /** In code points. */
    minLength: greatest('minLength', 0),
    maxLength: least('maxLength'),
    minimum: finite(Math.max(...numbers('minimum'))),
    maximum: finite(Math.min(...numbers('maximum'))),
    exclusiveMinimum: finite(Math.max(...numbers('exclusiveMinimum'))),
    exclusiveMaximum: finite(Math.min(...numbers('exclusiveMaximum'))),
    multiplesOf: numbers('multipleOf').filter((step) => step > 0),
    minItems: greatest('minItems', 0),
    maxItems: least('maxItems'),
    uniqueItems: flag('uniqueItems'),
    prefixItems: prefixesOf(all('prefixItems')),
    /** The schemas of items after `prefixItems`; undefined if there are none. */
    items: items.length === 0 ? undefined : items,
    /** The schemas of each property; several if parts of an `allOf` declare it. */
    properties: propertiesOf(all('properties')),
    patternProperties: entriesOf('patternProperties').map(([pattern, one]) => [pattern, schemaOf(one)] as const),
    propertyNames: schemasAt('propertyNames'),
    required: new Set(textsIn(all('required').flat())),
    dependentRequired: entriesOf('dependentRequired').map(([name, needed]) => [name, textsIn(needed)] as const),
    minProperties: greatest('minProperties', 0),
    maxProperties: least('maxProperties'),
    closed: additional.includes(nothing),
    /** The schemas of undeclared properties; empty if there are none. */
    additional: additional.filter((schema) => schema !== nothing && schema !== anything),
    readOnly: flag('readOnly'),
    /** A value matches one branch of each. */
    choices: sources.flatMap((source) => [...choicesOf(source), ...choiceOfChildren(document, source, sources)]),
    discriminators: sources.flatMap((source) => discriminatorOf(document, source)),
    /** The merged schemas as objects of the document, in order. */
    sources: sources as readonly JsonObject[],
    examples: [...all('examples').flat(), ...all('example')],
  };
}

/**
 * Collects a schema and what applies with it: references, whose siblings apply, too, and the parts in keywords. Dependent
 * schemas always apply: a value that follows them is valid with and without the dependency.
 */
function collect(
  document: OpenApiDocument,
  schema: JsonObject,
  found: Set<JsonObject>,
  keywords: readonly string[],
): void {
  if (found.has(schema)) return;
  found.add(schema);
  const dependent = isObject(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : [];
  const children = keywords.length > 1 && isParent(schema) ? childSchemas(document, schema) : [];
  const parts = [...keywords.flatMap((keyword) => schema[keyword] ?? []), ...dependent, ...children]
    .filter(isSchema)
    .map(schemaOf);
  for (const part of [...document.referred(schema), ...parts]) collect(document, part, found, keywords);
}

function isSchema(value: unknown): value is JsonObject | boolean {
  return typeof value === 'boolean' || isObject(value);
}

function schemaOf(value: unknown): JsonObject {
  return value === false ? nothing : isObject(value) ? value : anything;
}

export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

function typesOf(sources: readonly JsonObject[]): Set<TypeName> {
  let types = new Set<TypeName>(sources.includes(nothing) ? [] : allTypes);
  for (const source of sources) {
    if (source.type === undefined) continue;
    const named = new Set([source.type].flat().filter(isTypeName));
    if (named.has('number')) named.add('integer');
    types = types.intersection(named);
  }
  return types;
}

function isTypeName(value: unknown): value is TypeName {
  return (allTypes as readonly unknown[]).includes(value);
}

function enumOf(sources: readonly JsonObject[]): unknown[] | undefined {
  const lists = sources.flatMap((source) => [
    ...(Array.isArray(source.enum) ? [source.enum] : []),
    ...('const' in source ? [[source.const]] : []),
  ]);
  const [first, ...others] = lists;
  const text = (value: unknown) => jsonText(value);
  return first?.filter((value) => others.every((list) => list.some((other) => text(other) === text(value))));
}

function prefixesOf(lists: readonly unknown[]): JsonObject[][] {
  const prefixes: JsonObject[][] = [];
  for (const list of lists.filter(Array.isArray))
    for (const [index, schema] of list.entries()) prefixes[index] = [...(prefixes[index] ?? []), schemaOf(schema)];
  return prefixes;
}

function propertiesOf(groups: readonly unknown[]): ReadonlyMap<string, readonly JsonObject[]> {
  const properties = new Map<string, JsonObject[]>();
  for (const group of groups.filter(isObject))
    for (const [name, schema] of Object.entries(group))
      properties.set(name, [...(properties.get(name) ?? []), schemaOf(schema)]);
  return properties;
}

const choicesBySource = new WeakMap<JsonObject, Choice[]>();

/** Returns the same objects for the same source, so that choices can be compared across shapes. */
function choicesOf(source: JsonObject): Choice[] {
  return remembered(choicesBySource, source, () => {
    const choices: Choice[] = (['oneOf', 'anyOf'] as const).flatMap((keyword) => {
      const list = source[keyword];
      return Array.isArray(list) ? [{ keyword, source, branches: list.map((branch) => [schemaOf(branch)]) }] : [];
    });
    if (isSchema(source.if) && (source.then !== undefined || source.else !== undefined)) {
      const branches = [[schemaOf(source.if), schemaOf(source.then ?? true)], [schemaOf(source.else ?? true)]];
      choices.push({ keyword: 'if', source, branches });
    }
    return choices;
  });
}

const parents = new WeakMap<JsonObject, Choice>();

function choiceOfChildren(document: OpenApiDocument, source: JsonObject, sources: readonly JsonObject[]): Choice[] {
  const branches = childrenOf(document, source, sources).map((child) => [child]);
  if (branches.length === 0) return [];
  const choice: Choice = { keyword: 'discriminator', source, branches };
  return [branches.length === 1 ? choice : remembered(parents, source, () => choice)];
}
