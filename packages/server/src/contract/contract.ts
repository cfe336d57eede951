import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operations, type RowValues, type StateMachine } from '@financial-automation/spec';
import { withClosedObjects } from '@financial-automation/spec/closed-objects';
import type { OperationId } from './handler.ts';

/** A JSON Schema of the contract, with the keywords that the server reads. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: { readonly propertyName: string; readonly mapping: Readonly<Record<string, string>> };
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly 'x-entity'?: true;
  /** What a caller chooses to read beside a row. */
  readonly 'x-chosen'?: true;
  /** Of the names of relations, the property with the ID, the type of the other row, and the property with its name. */
  readonly 'x-related'?: Readonly<
    Record<string, { readonly by: string; readonly type: string; readonly label: string }>
  >;
  readonly 'x-contract-check'?: { readonly partial?: true };
  /** By a field and its value, the roles of which one is required to see rows with that value. */
  readonly 'x-row-roles'?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** An item of a request that is validated by itself: by its schema, or by this one. */
  readonly 'x-items-open'?: Schema | true;
  readonly 'x-scale'?: number;
  readonly 'x-unique'?: boolean;
  /** Whether the value changes with the day alone. */
  readonly 'x-changes-with-day'?: true;
  readonly 'x-references'?: string;
  /** By another property, its values with which this one can have a value. */
  readonly 'x-only-for'?: Readonly<Record<string, readonly string[]>>;
  readonly 'x-on-create'?: { readonly value?: unknown; readonly rule?: string };
  /** Roles that can read the value; other callers read null. */
  readonly 'x-read-roles'?: readonly string[];
  /** Roles that can write the value. */
  readonly 'x-write-roles'?: readonly string[];
  /** Whether only an import can set the value. */
  readonly 'x-imports-only'?: true;
  /** Whether the value belongs to a change of the row, or to its last transition, and not to a new row. */
  readonly 'x-of-change'?: true;
  /** Whether the value cannot change after creation: at all, unless the row has these values, or once a condition is met. */
  readonly 'x-immutable'?: true | { readonly unless: RowValues } | { readonly once: string };
  /** By a value, the roles of which one is required to send it. */
  readonly 'x-value-roles'?: Readonly<Record<string, readonly string[]>>;
  readonly 'x-state-machine'?: StateMachine;
  /** Entity type, if it differs from the name of the schema. */
  readonly 'x-type'?: string;
  readonly 'x-record'?: RowInterface;
  readonly 'x-code-type'?: RowInterface;
  readonly 'x-entry-type'?: RowInterface;
  readonly 'x-disabled-events'?: readonly {
    readonly entityType: string;
    readonly operations: readonly EventOperation[];
  }[];
}

export type EventOperation = 'CREATE' | 'UPDATE' | 'DELETE';

/** The change that an event reports. */
export interface EventDeclaration {
  readonly entityType: string;
  readonly operation: EventOperation;
  /** Roles that can read such rows, if the schema of the row does not declare them. */
  readonly readRoles?: readonly string[];
  /** The setting of tenants that enables the event; without one it is always enabled. */
  readonly setting?: string;
}

/** An event that the service sends to subscribers. */
export interface Webhook {
  readonly post: {
    readonly summary: string;
    readonly 'x-event': EventDeclaration;
    readonly requestBody: { readonly content: { readonly 'application/json': EventBody } };
  };
}

interface EventBody {
  readonly schema: Schema;
  readonly examples: Readonly<Record<string, { readonly $ref?: string; readonly value?: unknown }>>;
}

/** How an interface writes rows of a type one by one. */
export interface RowInterface {
  readonly operations: readonly ('UPSERT' | 'UPDATE' | 'DELETE')[];
  readonly readRoles: readonly string[];
  readonly writeRoles: readonly string[];
  readonly recordsUrl: string;
  /** Whether an upsert requires the source `IMPORT`. */
  readonly importsOnly?: true;
}

export interface Contract {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, unknown>>;
    readonly examples: Readonly<Record<string, unknown>>;
  };
  readonly webhooks: Readonly<Record<string, Webhook>>;
  readonly 'x-search-limits': SearchLimits;
  readonly 'x-json-limits': JsonLimits;
  /** How many items make a write a bulk write. */
  readonly 'x-write-limits': { readonly bulk: number };
  /** How many rows one call can have. */
  readonly 'x-row-limits': Readonly<Record<'merge' | 'file' | 'statement', number>>;
  readonly 'x-tenant-limits': Readonly<Record<string, number>>;
  /** The size at which a page ends. */
  readonly 'x-page-bytes': number;
  readonly 'x-durations': Durations;
  /** The release that this is, `v1.2.3`, or that it follows, `v1.2.3+unreleased`. */
  readonly 'x-release': string;
}

/** Durations that callers rely on, as in ISO 8601. */
export interface Durations extends Readonly<Record<DurationName, string>> {
  readonly eventRetries: readonly string[];
}

export type DurationName =
  | 'idempotencyKey'
  | 'read'
  | 'share'
  | 'heavyShare'
  | 'paymentLink'
  | 'downloadUrl'
  | 'event'
  | 'eventResponse'
  | 'retryAfter'
  | 'failingSubscription'
  | 'clockAdvance'
  | 'clock';

/** Limits of JSON bodies: levels, values and names, digits of a number, characters of a name, combining marks in a row. */
type JsonLimits = Readonly<Record<'depth' | 'values' | 'digits' | 'nameLength' | 'combiningMarks', number>>;

/** Limits of a where clause. Its cost is the sum of the weights of its parts. */
export interface SearchLimits {
  readonly depth: number;
  readonly predicates: number;
  readonly cost: number;
  /** The cost from which on only few searches run at the same time. */
  readonly costly: number;
  readonly weights: Readonly<
    Record<'condition' | 'hundredValues' | 'pattern' | 'unanchoredPattern' | 'relation' | 'negatedRelation', number>
  >;
}

/** Locations of the bundle files, which are also served as they are. */
export const bundleFiles = {
  json: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.json')),
  others: fileURLToPath(import.meta.resolve('@financial-automation/spec/other-schemas.json')),
  yaml: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.yaml')),
};

/** The bundled contract. Do not modify it; copy it first. */
export const contract: Contract = withTypes(withClosedObjects(withoutOwnChecks(wholeBundle())));

/** The published bundle, with the schemas that no operation refers to. */
function wholeBundle(): Contract {
  const [bundle, others] = [bundleFiles.json, bundleFiles.others].map((file) => JSON.parse(readFileSync(file, 'utf8')));
  return { ...bundle, components: { ...bundle.components, schemas: { ...bundle.components.schemas, ...others } } };
}

/** A copy without the keywords that rules of the service check in their own words. */
function withoutOwnChecks<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map((item) => withoutOwnChecks(item)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const own: unknown = 'x-own-check' in node ? node['x-own-check'] : undefined;
  const others = Object.entries(node).filter(([key]) => !(Array.isArray(own) && own.includes(key)));
  return Object.fromEntries(others.map(([key, value]) => [key, withoutOwnChecks(value)])) as Node;
}

const eventRoles = new Map(
  Object.values(contract.webhooks).map(
    ({ post: { 'x-event': event } }) => [event.entityType, event.readRoles] as const,
  ),
);

/** Returns the roles of which one is required to read rows of a type; undefined if the contract names none. */
export function readRolesOf(type: string): readonly string[] | undefined {
  const schema = contract.components.schemas[type];
  const rows = schema?.['x-record'] ?? schema?.['x-code-type'] ?? schema?.['x-entry-type'];
  return rows?.readRoles ?? eventRoles.get(type);
}

const readingRoles = new Set(
  [...Object.keys(contract.components.schemas), ...eventRoles.keys()].flatMap((type) => readRolesOf(type) ?? []),
);

/** Whether one of the roles reads rows of a type, so that a field that requires them shows such a row. */
export function readRows(roles: readonly string[]): boolean {
  return roles.some((role) => readingRoles.has(role));
}

/** Adds entity types whose schemas have other names in the bundle. */
function withTypes(bundle: Contract): Contract {
  const { components } = bundle;
  const types = Object.values(components.schemas).flatMap((schema) =>
    schema['x-type'] === undefined ? [] : [[schema['x-type'], schema] as const],
  );
  return { ...bundle, components: { ...components, schemas: { ...components.schemas, ...Object.fromEntries(types) } } };
}

/** One operation of the index, with its ID. */
export interface Operation {
  readonly id: OperationId;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly roles: readonly string[];
  /** Further roles, of which a call requires one as well; none if empty. */
  readonly additionalRoles: readonly string[];
  readonly extension: boolean;
  /** Days of the deprecation and the earliest removal. */
  readonly deprecation: { readonly since: string; readonly sunset: string } | null;
  readonly idempotent: boolean | 'key' | 'systemRef';
  readonly rateLimit: { readonly policy: string; readonly limit: number; readonly window: number };
  readonly bodyLimit: number | null;
  /** The list of the body whose items can be sent as lines. */
  readonly lines: string | null;
  /**
   * Whether `page` is a number of rows to skip or a page number, or there are only cursors; null if the operation is
   * not paged.
   */
  readonly paging: 'offset' | 'number' | 'cursor' | 'feed' | null;
  readonly headers: Readonly<Record<string, 'required' | 'optional'>>;
  readonly statuses: readonly number[];
}

export const allOperations: readonly Operation[] = Object.entries(operations).map(([id, operation]) => ({
  ...operation,
  id: id as OperationId,
}));

export function operationOf(id: OperationId): Operation {
  const operation = allOperations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  return operation;
}

/** Whether the operation writes nothing. */
export function isRead({ rateLimit }: Pick<Operation, 'rateLimit'>): boolean {
  return rateLimit.policy === 'read';
}

/** Whether the operation takes a request header. */
export function takes({ headers }: Pick<Operation, 'headers'>, header: string): boolean {
  return headers[header] !== undefined;
}

/** Returns a number that the contract declares for a property of a schema: its default or maximum. */
export function numberOf(schema: string, property: string, keyword: NumberKeyword): number {
  const value = schemaOf(schema).properties?.[property]?.[keyword];
  if (typeof value !== 'number') throw new Error(`The contract declares no ${keyword} for ${schema}.${property}.`);
  return value;
}

type NumberKeyword = 'default' | 'maximum' | 'maxItems' | 'maxLength';

/** Returns the schema with a name or a `$ref` of the bundle. */
export function schemaOf(nameOrReference: string): Schema {
  const name = nameOrReference.replace('#/components/schemas/', '');
  const schema = contract.components.schemas[name];
  if (schema === undefined) throw new Error(`The contract has no schema ${name}.`);
  return schema;
}
