import type { Operation } from '../../src/contract/contract.ts';
import { escapePointer } from '../../src/contract/pointer.ts';
import { declaredOf, exampleOf, type FullSchema, objectOf, rawParameters, resolve } from '../bad-requests.ts';
import { type GrownRequest, type GrowthCase, sizesWithin } from './measure.ts';
import { headerValues, lists, nested, numbers, pumped, type Shape, structures, texts } from './shapes.ts';

/** Bodies up to here are checked in the main thread. */
const smallBody = 30_000;
/** What remains of the 16 kB that Node accepts of a request line and headers, beside the headers that every request has. */
const head = 14_000;

/** Stands for the value in a body until it is written as JSON. */
const mark = 'the value';

/** Returns cases for every value of the body of an operation, its parameters and its path. */
export function growthCases(operation: Operation, headers: Readonly<Record<string, string>>): GrowthCase[] {
  const path = operation.path.replaceAll(/\{[^}]+\}/g, '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101');
  const { method } = operation;
  const found: GrowthCase[] = [];
  const example = operation.bodyLimit === null ? undefined : JSON.stringify(exampleOf(operation));
  const json = { ...headers, 'content-type': 'application/json' };
  const withHead = (place: string, shapes: readonly Shape[], request: (value: string) => Partial<GrownRequest>) => {
    const whole = (value: string) => ({
      method,
      path,
      headers: example === undefined ? headers : json,
      body: example,
      ...request(value),
    });
    for (const shape of shapes)
      found.push(growthCase(operation.id, place, shape, [], head, whole, (value) => encodeURIComponent(value).length));
  };
  for (const { name, in: place } of rawParameters(operation)) {
    if (place === 'header') continue;
    if (place === 'path') {
      withHead(`path ${name}`, texts, (value) => ({
        path: operation.path.replace(`{${name}}`, encodeURIComponent(value)).replaceAll(/\{[^}]+\}/g, '1'),
      }));
      continue;
    }
    withHead(`query ${name}`, texts, (value) => ({ path: `${path}?${name}=${encodeURIComponent(value)}` }));
    withHead(`query ${name}`, [[`${name} many times`, (n) => `&${name}=1`.repeat(n)]], (value) => ({
      path: `${path}?${value.slice(1)}`,
    }));
  }
  for (const { pointer, shapes, sizes, limit, put } of bodyValues(operation)) {
    const request = (value: string) => ({ method, path, headers: json, body: put(value) });
    for (const shape of shapes)
      found.push(growthCase(operation.id, `body ${pointer}`, shape, sizes, limit, request, Buffer.byteLength));
  }
  return found;
}

/** Returns cases for what all operations read in the same way: unknown parameters, paths and headers. */
export function commonCases(name: string, base: GrownRequest): GrowthCase[] {
  const queries: Shape[] = [
    ['many parameters', (n) => Array.from({ length: n }, (_, index) => `&p${index}=1`).join('')],
    ['a parameter many times', (n) => '&p=1'.repeat(n)],
    ['empty parameters', (n) => '&'.repeat(n)],
    ['escapes', (n) => '%41'.repeat(n)],
    ['brackets', (n) => `p${'[a]'.repeat(n)}=1`],
    ['spaces', (n) => '+'.repeat(n)],
  ];
  const paths: Shape[] = [
    ['segments', (n) => '/a'.repeat(n)],
    ['empty segments', (n) => '/'.repeat(n)],
    ['dots', (n) => '/..'.repeat(n)],
    ['escapes in a path', (n) => '%41'.repeat(n)],
    ['semicolons in a path', (n) => ';a'.repeat(n)],
  ];
  const headers = [
    ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'content-type', 'content-encoding', 'cookie'],
    ...['forwarded', 'host', 'idempotency-key', 'if-match', 'if-modified-since', 'if-none-match', 'origin', 'range'],
    ...['referer', 'stripe-signature', 'tenant', 'traceparent', 'x-client-id', 'x-forwarded-for', 'x-forwarded-host'],
    ...['x-forwarded-proto', 'x-unknown'],
  ];
  const cases = (place: string, shapes: readonly Shape[], request: (value: string) => Partial<GrownRequest>) =>
    shapes.map((shape) =>
      growthCase(name, place, shape, [], head, (value) => ({ ...base, ...request(value) }), Buffer.byteLength),
    );
  return [
    ...cases('query', queries, (value) => ({ path: `${base.path}?${value}` })),
    ...cases('path', paths, (value) => ({ path: `${base.path}${value}` })),
    ...headers.flatMap((header) =>
      cases(`header ${header}`, headerValues, (value) => ({
        headers: { ...base.headers, [header]: value.trim() },
      })),
    ),
  ];
}

/** Returns cases for bodies that are no JSON: forms, and notifications of payments. */
export function formCases(name: string, base: GrownRequest, bytes: number): GrowthCase[] {
  const fields: Shape[] = [
    ['many fields', (n) => Array.from({ length: n }, (_, index) => `&f${index}=1`).join('')],
    ['a field many times', (n) => '&formKey=1'.repeat(n)],
    ['escapes in a form', (n) => `amount=${'%31'.repeat(n)}`],
  ];
  return [...fields, ...texts.map(([shape, create]): Shape => [shape, (n) => `amount=${create(n)}`])].map((shape) =>
    growthCase(name, 'form', shape, [], bytes, (body) => ({ ...base, body }), Buffer.byteLength),
  );
}

function growthCase(
  operation: string,
  place: string,
  shape: Shape,
  sizes: readonly number[],
  bytes: number,
  request: GrowthCase['request'],
  lengthOf: (value: string) => number,
): GrowthCase {
  const [, create] = shape;
  // Calculated when they are needed: it takes long for all cases.
  const within = () => {
    const measure = (n: number) => lengthOf(create(n));
    const all = new Set([...sizes, ...sizesWithin(bytes - lengthOf(''), measure)]);
    return [...all].filter((size) => measure(size) <= bytes).sort((one, other) => one - other);
  };
  return { operation, place, shape, sizes: within, request };
}

interface BodyValue {
  readonly pointer: string;
  readonly shapes: readonly Shape[];
  readonly sizes: readonly number[];
  readonly limit: number;
  /** Returns the body with this JSON as its value. */
  put(json: string): string;
}

/** The values of the body of an operation: each object once, and each kind of text and number once. */
function bodyValues(operation: Operation): BodyValue[] {
  const schema = declaredOf(operation).requestBody?.content['application/json'].schema;
  if (schema === undefined || operation.bodyLimit === null) return [];
  const most = Math.floor(operation.bodyLimit * 0.95);
  const found: BodyValue[] = [];
  const objects = new Set<object>();
  const kinds = new Set<string>();
  const example = exampleOf(operation);
  const written = (put: (value: unknown) => unknown) => {
    const [before = '', after = ''] = JSON.stringify(put(mark)).split(JSON.stringify(mark));
    return (json: string) => `${before}${json}${after}`;
  };
  const add = (
    pointer: string,
    shapes: readonly Shape[],
    limit: number,
    sizes: number[],
    put: (value: unknown) => unknown,
  ) => found.push({ pointer, shapes, sizes, limit: Math.min(most, limit), put: written(put) });
  const textShapes = texts.map(quoted);
  // What all bodies have in common is read at their greatest length.
  add('', structures, most, [], (value) => value);
  add('/unknown', [...structures, ...numbers, ...textShapes], most, [], (value) => ({
    ...objectOf(example),
    unknown: value,
  }));
  visit(schema, example, '', (value) => value, new Map());
  return found;

  function visit(
    reference: FullSchema,
    given: unknown,
    pointer: string,
    put: (value: unknown) => unknown,
    above: ReadonlyMap<object, (name: string, isList: boolean) => void>,
  ): void {
    const schema = resolve(reference);
    const value = given ?? sampleOf(schema);
    const { maxLength, maxItems, items, properties } = schema;
    const bounds = [maxLength, maxItems].flatMap((bound) => (bound === undefined ? [] : [bound]));
    const types = [schema.type ?? []].flat();
    const kind = JSON.stringify([types, schema.format, schema.pattern, maxLength, schema.enum?.length]);
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(branch, given, pointer, put, above);
    if (types.includes('string') && !kinds.has(kind)) {
      kinds.add(kind);
      const valid = typeof value === 'string' ? pumped(value).map(quoted) : [];
      add(pointer, [...textShapes, ...valid], smallBody, bounds, put);
    }
    if (['number', 'integer'].some((type) => types.includes(type)) && !kinds.has(kind)) {
      kinds.add(kind);
      add(pointer, numbers, smallBody, [], put);
    }
    if (items !== undefined && !objects.has(items)) {
      objects.add(items);
      const [first = sampleOf(resolve(items)), ...others] = Array.isArray(value) ? value : [];
      const shapes = [...structures, ...lists(first)];
      add(pointer, shapes, smallBody, bounds, put);
      add(pointer, lists(first), most, bounds, put);
      const nest = above.get(resolve(items));
      nest?.(pointer.split('/').at(-1) ?? '', true);
      if (nest === undefined) visit(items, first, `${pointer}/0`, (item) => put([item, ...others]), above);
    }
    if (properties === undefined || objects.has(schema)) return;
    objects.add(schema);
    add(pointer, structures, smallBody, [], put);
    const nest = (name: string, isList: boolean) => add(pointer, [nested(name, isList)], smallBody, [5, 90], put);
    const within = new Map(above).set(schema, nest);
    for (const [name, property] of Object.entries(properties)) {
      const inside = within.get(resolve(property));
      inside?.(name, false);
      if (inside !== undefined) continue;
      visit(
        property,
        objectOf(value)[name],
        `${pointer}/${escapePointer(name)}`,
        (inner) => put({ ...objectOf(value), [name]: inner }),
        within,
      );
    }
  }
}

function quoted([name, create]: Shape): Shape {
  return [name, (n) => JSON.stringify(create(n))];
}

/** A small value that a schema accepts, as far as its examples say. */
function sampleOf(schema: FullSchema, depth = 0): unknown {
  const { examples, default: initial } = schema as FullSchema & { examples?: readonly unknown[]; default?: unknown };
  if (schema.enum !== undefined) return schema.enum[0];
  if (examples?.[0] !== undefined) return examples[0];
  if (initial !== undefined && initial !== null) return initial;
  const [branch] = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (branch !== undefined && schema.properties === undefined && depth < 5) return sampleOf(resolve(branch), depth + 1);
  const types = [schema.type ?? []].flat();
  if (types.includes('array')) return [];
  if (types.includes('string')) return schema.format === 'uuid' ? '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101' : 'a';
  if (types.includes('integer') || types.includes('number')) return schema.minimum ?? 1;
  if (types.includes('boolean')) return true;
  const required = (schema.required ?? []).map((name): [string, unknown] => {
    const property = schema.properties?.[name];
    return [name, property === undefined || depth > 5 ? null : sampleOf(resolve(property), depth + 1)];
  });
  return Object.fromEntries(required);
}
