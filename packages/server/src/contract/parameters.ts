import { allOperations, contract, type Operation, type Schema } from './contract.ts';
import { propertiesOf, resolved } from './fields.ts';

/** Where parameters are, by their names in the contract and in findings. */
const locations = { query: 'query', header: 'headers', path: 'params' } as const;

type Location = (typeof locations)[keyof typeof locations];

export interface Parameters {
  /** The schema of an object with the parameters of all locations. Header names are lowercase, as Node reads them. */
  readonly schema: { readonly type: 'object'; readonly properties: Readonly<Record<Location, LocationSchema>> };
  /** The declared types of the query parameters, by name. */
  readonly query: ReadonlyMap<string, Schema['type']>;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: keyof typeof locations;
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly 'x-example'?: unknown;
  readonly schema: Schema;
}

interface LocationSchema {
  readonly type: 'object';
  readonly required: string[];
  readonly properties: Record<string, Schema>;
}

/** Returns the parameters of an operation, those of its path included. */
export function parametersOf(declared: { readonly parameters?: readonly Parameter[] }[]): Parameters {
  const query = new Map<string, Schema['type']>();
  const empty = (): LocationSchema => ({ type: 'object', required: [], properties: {} });
  const properties: Record<Location, LocationSchema> = { query: empty(), headers: empty(), params: empty() };
  for (const one of declared.flatMap(({ parameters = [] }) => parameters)) {
    const { name, in: location, required = false, description, schema, ...shown } = referred(one);
    const example = shown.example ?? shown['x-example'];
    const key = location === 'header' ? name.toLowerCase() : name;
    // The words of the parameter describe its errors.
    const words = { ...(description && { description }), ...(example !== undefined && { examples: [example] }) };
    properties[locations[location]].properties[key] = { ...words, ...schema };
    if (required) properties[locations[location]].required.push(key);
    if (location === 'query') query.set(name, resolved(schema).type);
  }
  return { schema: { type: 'object', properties }, query };
}

/** The parts of the contract that describe an operation: its path and the operation itself. */
export function declarationsOf({ path, method }: Operation): Declaration[] {
  const item = contract.paths[path] as Declaration & Readonly<Record<string, Declaration | undefined>>;
  const own = item[method.toLowerCase()];
  if (own === undefined) throw new Error(`The contract has no operation ${method} ${path}.`);
  return [item, own];
}

/** Returns the schemas of the parameters of a read, or of the properties of a body, by name. */
export function inputsOf(operation: Operation): Readonly<Record<string, Schema>> {
  const [, own] = declarationsOf(operation);
  const body = own?.requestBody?.content['application/json']?.schema;
  if (operation.method !== 'GET') return body === undefined ? {} : propertiesOf(body);
  return Object.fromEntries((own?.parameters ?? []).map(referred).map(({ name, schema }) => [name, schema]));
}

/** Returns how many rows a page of an operation has if its caller does not say it. */
export function standardPageSizeOf(id: Operation['id']): number {
  const declared = allOperations.filter((operation) => operation.id === id).flatMap(declarationsOf);
  const parameters = declared.flatMap((one) => one.parameters ?? []).map(referred);
  const size = parameters.find(({ name }) => name === 'pageSize')?.schema.default;
  if (typeof size !== 'number') throw new Error(`The contract declares no default of pageSize for ${id}.`);
  return size;
}

interface MediaType {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface Example {
  readonly $ref?: string;
  readonly value?: unknown;
}

export interface Declaration {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses?: Readonly<Record<string, DeclaredResponse>>;
}

export interface DeclaredResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** The names of the headers that responses of an operation can have. */
export function responseHeadersOf(operation: Operation): string[] {
  const declared = declarationsOf(operation).flatMap(({ responses = {} }) => Object.values(responses));
  return declared.flatMap((response) => Object.keys(referred(response).headers ?? {}));
}

/** Resolves a reference to a component of any kind. */
export function referred<Node extends { readonly $ref?: string }>(node: Node): Node {
  if (node.$ref === undefined) return node;
  const names = node.$ref.split('/').slice(1);
  const found = names.reduce(
    (above: unknown, name) => (above as Readonly<Record<string, unknown>> | undefined)?.[name],
    contract,
  );
  return referred(found as Node);
}

/** Converts a raw value to the declared type. A value that is not of the type remains as it is, and is then rejected. */
export function converted(type: Schema['type'], value: unknown): unknown {
  if (type === 'array') return Array.isArray(value) ? value : [value];
  if (typeof value !== 'string') return value;
  if (type === 'integer') return /^-?\d+$/.test(value) ? Number(value) : value;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  return value;
}
