/** What the data browser can show, derived from the contract: lists, their columns and filters, reads by ID, and references. */
import type { components } from '@financial-automation/spec';
import {
  allOperations,
  contract,
  type Operation,
  operationOf,
  type Schema,
  schemaOf,
} from '../../contract/contract.ts';
import { isOf } from '../../contract/fields.ts';
import { declarationsOf, referred } from '../../contract/parameters.ts';
import { entityOf } from '../../entity/registry.ts';
import { typesInWords } from './words.ts';

/** A field by which a list can be filtered. */
export interface FilterField {
  readonly name: string;
  /** By operator, such as `_eq`, the schema of its value. */
  readonly operators: ReadonlyMap<string, Schema>;
}

/** A list of rows of one type. */
export interface DataList {
  /** Name of the type, which is also that in addresses. */
  readonly type: string;
  readonly title: string;
  readonly operation: Operation;
  /** Parameters of the path, such as the type of a lookup. */
  readonly path: Readonly<Record<string, string>>;
  readonly properties: ReadonlyMap<string, Schema>;
  readonly columns: readonly string[];
  /** The field that is in the address of a row: its ID, or its name where only that is read by. */
  readonly key: string;
  /** The field whose value names a row. */
  readonly label: string | undefined;
  readonly sortable: ReadonlySet<string>;
  readonly filters: readonly FilterField[];
  readonly aggregate: Operation | undefined;
  readonly byId: Operation | undefined;
  readonly writeRoles: readonly string[];
}

/** The schemas of an operation: of its body, its successful response, and its query parameters. */
export function schemasOf(operation: Operation) {
  const parts = declarationsOf(operation);
  const [, { requestBody, responses = {} } = {}] = parts;
  const success = responses[String(operation.statuses.find((status) => status < 300))];
  const schemaIn = (part = success && referred(success)) => part?.content?.['application/json']?.schema;
  const parameters = parts.flatMap((part) => (part.parameters ?? []).map(referred));
  return {
    body: merged((requestBody && schemaIn(requestBody)) ?? {}),
    response: schemaIn(),
    query: parameters.flatMap(({ in: location, name, required = false, description = '', schema }) =>
      location === 'query' ? [{ name, required, schema: { ...merged(schema), description } }] : [],
    ),
  };
}
export type QueryParameter = ReturnType<typeof schemasOf>['query'][number];

/** A schema with what it refers to; its own words take precedence. */
export function merged(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : { ...merged(schemaOf(schema.$ref)), ...schema };
}

/** A schema without its null, and without the other ways to refer to a row. */
export function plain(unmerged: Schema): Schema {
  const schema = merged(unmerged);
  const [choice] = (schema.anyOf ?? schema.oneOf ?? []).map(merged).filter(({ type }) => type !== 'null');
  const { anyOf: _anyOf, oneOf: _oneOf, ...own } = schema;
  return choice === undefined ? schema : { ...choice, ...own };
}

/** The type of rows by the name of their schema. Entity types have other names than some, such as File and FileMetadata. */
function typeNamed(schema: Schema | undefined): string | undefined {
  const name = schema?.$ref?.split('/').at(-1);
  return name === undefined ? undefined : (schemaOf(name)['x-type'] ?? name);
}

const baseFields = new Set('id systemRef sysRefs active createdAt updatedAt version currency hasMore'.split(' '));
const maxColumns = 7;

/** Amounts, quantities and counts, which are aligned by their last digit. */
export function isNumber(schema: Schema = {}): boolean {
  return schema.format === 'decimal' || isOf(schema, 'integer', 'number');
}

/** A type by its name in the contract, or an own type of the tenant. */
export function isEventType(schema: Schema | undefined): boolean {
  return /EventEntityType$/.test(schema?.$ref ?? '');
}

const labels = ['displayName', 'fullName', 'name', 'fileName', 'subject', 'title', 'email', 'label', 'accountName'];

/** The field that names a row: its name, or its number, which every row has. */
function labelOf(properties: ReadonlyMap<string, Schema>): string | undefined {
  const numbers = [...properties].filter(([name, { format }]) => /Number$/.test(name) && format !== 'int32');
  const [number] = numbers.find(([, { type }]) => type === 'string') ?? numbers[0] ?? [];
  return labels.find((name) => properties.has(name)) ?? number;
}

type CustomField = components['schemas']['CustomField'];
type Column = readonly [name: string, schema: Schema];
const targetOf = ([, schema]: Column) => schema['x-references'];
const isOptional = ([, schema]: Column) => isOf(schema, 'null');

/** What people compare first, in this order. */
const compared: readonly ((column: Column) => boolean)[] = [
  ([name]) =>
    /^(status|outcome|total|amount|amountDue|hours|outstanding\w+|unbilledWip|overdueBalance|unappliedAmount)$/.test(
      name,
    ),
  (column) => ![undefined, 'Org'].includes(targetOf(column)) && !isOptional(column),
  ([name]) => /^(account|kind|description|documentNumber)$/.test(name),
  (column) => column[1].format === 'date' && !isOptional(column),
  ([name]) => /^((client|job)Id|quantity|unitAmount)$/.test(name),
  (column) => /^(client|job|staff|engagement)Ref$/.test(column[0]) || targetOf(column) === 'Staff',
  ([, schema]) => schema.enum !== undefined || isOf(schema, 'boolean'),
  ([, schema]) => isNumber(schema),
  (column) => targetOf(column) === undefined && column[1].format !== 'date',
  () => true,
];

/** What people compare: the name, whose it is, days, the state, and amounts at the right. */
export function columnsOf(properties: ReadonlyMap<string, Schema>): string[] {
  const label = labelOf(properties);
  const all = [...properties];
  const isColumn = ([name, schema]: Column): boolean => {
    if (name === label) return true;
    if (baseFields.has(name) || isOf(schema, 'array', 'object') || schema.oneOf !== undefined) return false;
    if (schema['x-references'] !== undefined) return true;
    // What is said by a reference or by the name of the row.
    const [, subject] = /^(\w+)(?:Name|Ref|Number)$/.exec(name) ?? [];
    if (properties.has(`${subject}Id`) || (label === 'displayName' && /^(first|middle|last)$/.test(subject ?? '')))
      return false;
    return !/^(pms|processor)|Id$|Reason$|^is[A-Z]/.test(name);
  };
  const rank = (column: Column) => (column[0] === label ? -1 : compared.findIndex((isNext) => isNext(column)));
  const side = ([name, schema]: Column) => (name === label ? 0 : isNumber(schema) ? 3 : name === 'status' ? 2 : 1);
  const shown = all.filter(isColumn).sort((a, b) => rank(a) - rank(b));
  const chosen = new Set(shown.slice(0, maxColumns));
  // Each kind in the order of the contract.
  const inOrder = all.filter((column) => chosen.has(column)).sort((a, b) => side(a) - side(b));
  return inOrder.map(([name]) => name);
}

function filtersOf({ body, query }: ReturnType<typeof schemasOf>): FilterField[] {
  const where = propertiesOf(body).get('where');
  if (where === undefined)
    return query
      .filter(({ name }) => !['page', 'pageSize', 'cursor', 'includeTotal', 'fields', 'with'].includes(name))
      .map(({ name, schema }) => ({ name, operators: new Map([['=', schema]]) }));
  return [...propertiesOf(where)].flatMap(([name, condition]) => {
    const operators = new Map([...propertiesOf(condition)].filter(([operator]) => operator.startsWith('_')));
    return name.startsWith('_') || operators.size === 0 ? [] : [{ name, operators }];
  });
}

export function propertiesOf(schema: Schema = {}): Map<string, Schema> {
  return new Map(Object.entries(merged(schema).properties ?? {}).map(([name, property]) => [name, merged(property)]));
}

function describeList(type: string, schema: Schema, operation: Operation, path: DataList['path'] = {}): DataList {
  const properties = propertiesOf(schema);
  const schemas = schemasOf(operation);
  const isById = ({ method, path: url }: Operation) => method === 'GET' && /^[^{]*\/\{\w+\}$/.test(url);
  const aggregatePath = operation.path.replace(/search$/, 'aggregate');
  const byId = allOperations.find((one) => isById(one) && typeNamed(schemasOf(one).response) === type);
  const [, parameter = ''] = /\{(\w+)\}$/.exec(byId?.path ?? '') ?? [];
  return {
    type,
    title: typesInWords(type),
    operation,
    path,
    properties,
    columns: columnsOf(properties),
    key: properties.has(parameter) ? parameter : 'id',
    label: labelOf(properties),
    sortable: new Set(propertiesOf(propertiesOf(schemas.body).get('orderBy')?.items).keys()),
    filters: filtersOf(schemas),
    aggregate: allOperations.find(({ id, path: url }) => id.startsWith('aggregate') && url === aggregatePath),
    byId,
    writeRoles: (schema['x-record'] ?? schema['x-entry-type'])?.writeRoles ?? [],
  };
}

/** Lists of standard types, by type. */
export const dataLists: ReadonlyMap<string, DataList> = findLists();

/** The other lists of the same rows, such as of jobs those with their figures. */
export function otherListsOf({ type }: DataList): DataList[] {
  const { table } = entityOf(type) ?? {};
  if (table === undefined) return [];
  return [...dataLists.values()].filter((other) => other.type !== type && entityOf(other.type)?.table === table);
}

function findLists(): Map<string, DataList> {
  const found = new Map<string, DataList>();
  for (const operation of allOperations) {
    const { response, query } = schemasOf(operation);
    const rows = propertiesOf(response).get('data')?.items;
    const type = typeNamed(rows);
    const isWhole =
      operation.paging !== null && !operation.path.includes('{') && !query.some(({ required }) => required);
    if (!isWhole || rows === undefined || type === undefined || merged(rows)['x-entity'] !== true) continue;
    const list = describeList(type, merged(rows), operation);
    // Of two lists, the one with filters.
    if ((found.get(type)?.filters.length ?? -1) < list.filters.length) found.set(type, list);
  }
  for (const [name, schema] of Object.entries(contract.components.schemas)) {
    const type = schema['x-type'] ?? name;
    const { recordsUrl = '' } = schema['x-record'] ?? schema['x-code-type'] ?? schema['x-entry-type'] ?? {};
    const [, start, last = ''] = /^(.*\/)([^/]+)$/.exec(recordsUrl) ?? [];
    const operation = allOperations.find(({ path, method }) => method === 'POST' && path === `${start}{type}`);
    if (operation !== undefined && !found.has(type))
      found.set(type, describeList(type, schema, operation, { type: last }));
  }
  return new Map([...found].sort(([, one], [, other]) => one.title.localeCompare(other.title)));
}

/** The list of a standard type. */
export function listOf(type: string): DataList {
  const list = dataLists.get(type);
  if (list === undefined) throw new Error(`The contract has no list of ${type}.`);
  return list;
}

const lookup = operationOf('lookupRecords');

/** The operation that lists rows of this type, also of one of the tenant's own. */
export function searchOf(type: string): Operation {
  return dataLists.get(type)?.operation ?? lookup;
}

/** Fields of custom types as the contract would describe them: others are texts on a line. No form has a value of any JSON. */
const customSchemas: Readonly<Partial<Record<CustomField['type'], Schema>>> = {
  TEXT: { maxLength: 100_000 },
  INTEGER: { type: 'integer' },
  DECIMAL: { format: 'decimal' },
  BOOLEAN: { type: 'boolean' },
  DATE: { format: 'date' },
  DATETIME: { format: 'date-time' },
  URL: { format: 'uri' },
  MULTI_ENUM: { type: 'array' },
  JSON: { type: 'object' },
};

function customSchema({ type, enumValues, referencedEntityType: target, ...field }: CustomField): Schema {
  return {
    ...customSchemas[type],
    description: field.description ?? '',
    ...(type === 'ENUM' && { enum: enumValues }),
    ...(type === 'MULTI_ENUM' && { items: { enum: enumValues } }),
    ...(target !== null && { 'x-references': target }),
    ...((!field.required || field.defaultValue !== null) && { 'x-on-create': {} }),
  };
}

/** The list of a custom record type. */
export function customList({ name: type, displayName, fields }: components['schemas']['CustomRecordType']): DataList {
  const own = fields.filter(({ active }) => active).map((field): [string, Schema] => [field.name, customSchema(field)]);
  const properties = new Map(own);
  const label = labelOf(properties) ?? 'systemRef';
  return {
    ...describeList(type, { properties: Object.fromEntries(own) }, lookup, { type }),
    title: displayName ?? type,
    columns: [...new Set([label, ...properties.keys()])].slice(0, maxColumns),
    label,
    filters: [],
  };
}

/** The lists that can be filtered by a reference to a type, with the condition that rows refer to one with an ID. */
export function referencesTo(type: string) {
  return [...dataLists.values()].flatMap((list) =>
    list.filters.flatMap(({ name, operators }) => {
      // Of a list of IDs, `_eq` compares the whole list.
      const operator = ['_contains', '_eq', '='].find((one) => operators.has(one));
      if (operator === undefined || list.properties.get(name)?.['x-references'] !== type) return [];
      return [{ list, field: name, conditionOn: (id: string) => ({ [name]: { [operator]: id } }) }];
    }),
  );
}
