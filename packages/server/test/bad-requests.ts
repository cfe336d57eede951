import { withOpenItems } from '@financial-automation/spec/open-items';
import { contract, type Operation, type Schema } from '../src/contract/contract.ts';
import { escapePointer } from '../src/contract/pointer.ts';

/** A body that breaks one keyword of the contract at one place. */
export interface BrokenBody {
  readonly pointer: string;
  readonly what: string;
  readonly body: unknown;
}

/** A keyword of JSON Schema that the server itself does not read. */
export interface FullSchema extends Schema {
  readonly additionalProperties?: unknown;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly value?: unknown;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: FullSchema;
}

interface Content {
  readonly content: {
    readonly 'application/json': {
      readonly schema: FullSchema;
      readonly examples?: Readonly<Record<string, FullSchema>>;
    };
  };
}

interface Declared {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Partial<Content>>>;
}

type Raw = string | string[] | undefined;

const bundle = withOpenItems(contract);
const wrongTypes: Readonly<Record<string, unknown>> = {
  null: null,
  string: 'x?',
  number: 1.5,
  integer: 7,
  boolean: true,
  array: [],
  object: {},
};
/** Longer texts and lists are not sent. */
const longest = 5_000;
const uuid = '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101';

/** Returns a valid body of an operation: its first example in the contract. */
export function exampleOf(operation: Operation): unknown {
  const content = declaredOf(operation).requestBody?.content['application/json'];
  const [example] = Object.values(content?.examples ?? {});
  return example === undefined ? {} : structuredClone(resolve(example).value);
}

/** Returns bodies that break each keyword of an operation's schema. Objects in `visited` are not broken again. */
export function brokenBodies(operation: Operation, visited: Set<object>): BrokenBody[] {
  const schema = declaredOf(operation).requestBody?.content['application/json'].schema;
  const found: BrokenBody[] = [];
  if (schema !== undefined) visit(schema, exampleOf(operation), '', (value) => value);
  return found;

  function visit(reference: FullSchema, value: unknown, pointer: string, put: (value: unknown) => unknown): void {
    const schema = resolve(reference);
    const { pattern = schema.pattern } = reference;
    for (const [what, broken] of brokenValues({ ...schema, ...(pattern && { pattern }) }, value))
      found.push({ pointer, what, body: put(broken) });
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(branch, value, pointer, put);
    if (schema.items !== undefined) {
      const [first, ...others] = Array.isArray(value) ? value : [];
      visit(schema.items, first, `${pointer}/0`, (item) => put([item, ...others]));
    }
    if (schema.properties === undefined || visited.has(schema)) return;
    visited.add(schema);
    for (const [name, property] of Object.entries(schema.properties)) {
      const next = `${pointer}/${escapePointer(name)}`;
      visit(property, objectOf(value)[name], next, (inner) => put({ ...objectOf(value), [name]: inner }));
    }
  }
}

function brokenValues(schema: FullSchema, value: unknown): [string, unknown][] {
  const found: [string, unknown][] = [];
  const types = [schema.type ?? Object.keys(wrongTypes)].flat();
  for (const [type, wrong] of Object.entries(wrongTypes)) if (!types.includes(type)) found.push([type, wrong]);
  const { minLength = 0, maxLength = longest, minItems = 0, maxItems = longest, maxProperties = longest } = schema;
  if (schema.enum !== undefined) found.push(['another value', 'x?']);
  if (schema.pattern === '\\S') found.push(['blank', ' ']);
  else if (schema.pattern !== undefined) found.push(['another pattern', '?\u00e9']);
  if (schema.format !== undefined) found.push(['another format', '2026-02-30x']);
  if (minLength > 0) found.push(['too short', 'x'.repeat(minLength - 1)]);
  if (maxLength < longest) found.push(['too long', 'x'.repeat(maxLength + 1)]);
  if (schema.minimum !== undefined) found.push(['too small', schema.minimum - 1]);
  if (schema.maximum !== undefined) found.push(['too large', schema.maximum + 1]);
  const [item = {}] = Array.isArray(value) ? value : [];
  if (minItems > 0) found.push(['too few items', []]);
  if (maxItems <= 100) found.push(['too many items', Array.from({ length: maxItems + 1 }, () => item)]);
  if (schema.uniqueItems === true) found.push(['an item twice', [item, item]]);
  if (schema.properties === undefined && schema.type !== 'object') return found;
  const object = objectOf(value);
  for (const name of schema.required ?? []) {
    const others = Object.entries(object).filter(([key]) => key !== name);
    found.push(['a required property missing', Object.fromEntries(others)]);
  }
  if (schema.additionalProperties === false) found.push(['an unknown property', { ...object, 'a/b~c': 1 }]);
  if ((schema.minProperties ?? 0) > 0) found.push(['no property', {}]);
  const many = Array.from({ length: maxProperties + 1 }, (_, index) => [`p${index}`, 1] as const);
  if (maxProperties < longest) found.push(['too many properties', Object.fromEntries(many)]);
  return found;
}

/** Returns raw values for each parameter of an operation; most of them break the contract. */
export function rawParameters(operation: Operation): { name: string; in: Parameter['in']; values: Raw[] }[] {
  return (declaredOf(operation).parameters ?? []).map(resolve).map((parameter) => {
    const schema: FullSchema = resolve(parameter.schema);
    const values: Raw[] = parameter.in === 'path' ? [] : [undefined, ''];
    values.push(...rawValues(schema));
    if (parameter.in === 'query') values.push([validText(schema), validText(schema)]);
    return { name: parameter.name, in: parameter.in, values };
  });
}

function rawValues(schema: FullSchema): Raw[] {
  const { type, minimum = 0, maximum = 0, maxLength = longest, items = {} } = schema;
  if (type === 'boolean') return ['true', 'maybe', 'TRUE', '1', '0', 'null'];
  if (type === 'array') {
    const one = validText(resolve(items));
    return [one, 'x', [one, 'x'], `${one},${one}`, Array.from({ length: (schema.maxItems ?? 0) + 1 }, () => one)];
  }
  if (type === 'integer') {
    const others = ['x', '1.5', ' 1', '01', '+1', '1e1', '0x10', '1e999', 'true', 'null'];
    return [...others, String(minimum), String(minimum - 1), String(maximum + 1)];
  }
  return [
    validText(schema),
    'x',
    '?\u00e9',
    ' ',
    '{"a":1}',
    ...(maxLength < longest ? ['x'.repeat(maxLength + 1)] : []),
  ];
}

function validText({ type, enum: values, minimum = 1, items, format }: FullSchema): string {
  if (type === 'array') return validText(resolve(items ?? {}));
  if (type === 'boolean') return 'true';
  if (type === 'integer') return String(minimum);
  return values?.[0] ?? (format === 'date-time' ? '2026-02-01T00:00:00Z' : uuid);
}

/** Returns the operation as the bundle declares it, with the parameters of its path. */
export function declaredOf({ path, method }: Operation): Declared {
  const item = bundle.paths[path] as Readonly<Record<string, Declared>> & Declared;
  const declared = item[method.toLowerCase()] ?? {};
  return { ...declared, parameters: [...(item.parameters ?? []), ...(declared.parameters ?? [])] };
}

export function resolve<Node extends { readonly $ref?: string }>(node: Node): Node {
  if (node.$ref === undefined) return node;
  const names = node.$ref.split('/').slice(1);
  const found = names.reduce((above: unknown, name) => objectOf(above)[name], bundle);
  return resolve(found as Node);
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
