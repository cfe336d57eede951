/**
 * Names the columns of aggregates. In the sources, `x-aggregate` says of which rows a request calculates figures, and the columns
 * are open; in the bundle they are those that the search of these rows filters by, each with what its type allows. So the sum of a
 * text does not compile, and a new column of a search is one of the aggregate.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, type JsonObject, nameIn, objectOf, reference } from './contract.ts';

export const aggregates: Oas3Decorator = () => ({
  Root: {
    leave(root, { report, location }) {
      const document: unknown = root;
      if (!isObject(document)) return;
      nameColumns(document, (message) => report({ message, location: location.child(['components', 'schemas']) }));
    },
  },
});

type Kind = 'day' | 'instant' | 'number' | 'value';

const kindOfFilter: Readonly<Record<string, Kind>> = {
  DateFilter: 'day',
  InstantFilter: 'instant',
  DecimalFilter: 'number',
  IntegerFilter: 'number',
};

/** What a column of a kind is grouped by, in addition to its values. */
const rangesOf: Readonly<Record<Kind, readonly string[]>> = {
  day: ['by', 'boundaries', 'daysBefore'],
  instant: ['by'],
  number: ['boundaries'],
  value: [],
};

const functionsOf = { Sum: ['SUM', 'AVERAGE'], Range: ['MIN', 'MAX'] };

const titleOf: Readonly<Record<Kind, string>> = { day: 'Day', instant: 'Instant', number: 'Number', value: 'Value' };

export function nameColumns(document: JsonObject, complain: (message: string) => void): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const shared: JsonObject = { ...schemas };
  const isUsed = Object.values(schemas).some((schema) => objectOf(schema)['x-aggregate'] !== undefined);
  if (!isUsed) return;
  const add = (name: string, schema: JsonObject): JsonObject => {
    if (schemas[name] !== undefined) complain(`Rename ${name}: the bundle uses this name for a part of an aggregate.`);
    schemas[name] = schema;
    return reference(name);
  };
  const common = withFunction(objectOf(shared.AggregateMeasure), objectOf(shared.AggregateFunction));
  const count = add('CountMeasure', countOf(common));
  const functions = Object.fromEntries(
    Object.entries(functionsOf).map(([kind, values]) => [
      kind,
      add(`${kind}Function`, { ...objectOf(shared.AggregateFunction), enum: values }),
    ]),
  );
  for (const [name, schema] of Object.entries(shared)) {
    const type = objectOf(schema)['x-aggregate'];
    if (typeof type !== 'string') continue;
    const columns = columnsOf(type, shared);
    const related = relatedColumns(type, shared);
    const grouped = [...columns, ...related];
    const parts: Readonly<Record<string, JsonObject>> = {
      AggregateGroupBy: add(`${type}GroupBy`, groupBy(type, grouped, objectOf(shared.AggregateGroupBy), add)),
      AggregateMeasure: add(`${type}Measure`, measure(type, columns, count, common, functions, add)),
      AggregateOrderBy: add(`${type}AggregateOrderBy`, orderBy(grouped, objectOf(shared.AggregateOrderBy))),
      ...(related.length > 0 && {
        AggregateRelatedColumn: add(`${type}RelatedColumn`, enumOf(shared.AggregateRelatedColumn, related)),
      }),
    };
    schemas[name] = withParts(related.length === 0 ? withoutRelated(schema) : schema, parts);
  }
  const open = [
    'AggregateGroupBy',
    'AggregateFunction',
    'AggregateMeasure',
    'AggregateOrderBy',
    'AggregateRelatedColumn',
  ];
  for (const name of open) delete schemas[name];
}

interface Column {
  readonly name: string;
  readonly kind: Kind;
  /** Roles of which one is required to see the values. */
  readonly roles: readonly string[];
}

/** The columns of a search, but for lists. */
function columnsOf(type: string, schemas: JsonObject): Column[] {
  const fields = propertiesOf(schemas[type]);
  return Object.entries(propertiesOf(schemas[`${type}Where`])).flatMap(([name, property]): Column[] => {
    const filter = nameIn(String(objectOf(property).$ref ?? ''));
    if (name.startsWith('_') || !filter.endsWith('Filter') || filter.endsWith('ListFilter')) return [];
    const roles = objectOf(fields[name])['x-read-roles'];
    return [{ name, kind: kindOfFilter[filter] ?? 'value', roles: Array.isArray(roles) ? roles : [] }];
  });
}

/** The columns of the one row that each relation leads to, such as `client.departmentId`; those that are grouped as a whole. */
function relatedColumns(type: string, schemas: JsonObject): Column[] {
  const fields = propertiesOf(schemas[type]);
  return Object.entries(propertiesOf(schemas[`${type}Where`])).flatMap(([relation, property]) => {
    const where = nameIn(String(objectOf(property).$ref ?? ''));
    const isOne = objectOf(fields[`${relation}Id`])['x-references'] !== undefined;
    if (!where.endsWith('RelationWhere') || !isOne) return [];
    const related = where.replace(/RelationWhere$/, '');
    return columnsOf(related, { ...schemas, [`${related}Where`]: schemas[where] })
      .filter(({ kind }) => kind === 'value')
      .map((column) => ({ ...column, name: `${relation}.${column.name}` }));
  });
}

type Add = (name: string, schema: JsonObject) => JsonObject;

/** A union with the column as discriminator: each column is in exactly one member. */
function groupBy(type: string, columns: readonly Column[], common: JsonObject, add: Add): JsonObject {
  const kinds = (Object.keys(rangesOf) as Kind[]).filter((kind) => columns.some((column) => column.kind === kind));
  const members = kinds.map((kind) => {
    const own = columns.filter((column) => column.kind === kind);
    const { column, ...properties } = propertiesOf(common);
    const ranges = Object.entries(properties).filter(([name]) => rangesOf[kind].includes(name));
    const schema = {
      ...common,
      properties: {
        column: add(`${type}${titleOf[kind]}Column`, enumOf(column, own)),
        ...Object.fromEntries(ranges),
      },
      ...(kind === 'day' && {
        dependentRequired: { boundaries: ['daysBefore'], daysBefore: ['boundaries'] },
        not: { required: ['by', 'boundaries'] },
        'x-own-check': ['not'],
      }),
    };
    return { own, member: add(`${type}GroupBy${titleOf[kind]}`, schema) };
  });
  const mapping = members.flatMap(({ own, member }) => own.map(({ name }) => [name, member.$ref]));
  return {
    description: common.description,
    oneOf: members.map(({ member }) => member),
    discriminator: { propertyName: 'column', mapping: Object.fromEntries(mapping) },
  };
}

/** A union with the function as discriminator. */
function measure(
  type: string,
  columns: readonly Column[],
  count: JsonObject,
  common: JsonObject,
  functions: Readonly<Record<string, JsonObject>>,
  add: Add,
): JsonObject {
  const ordered = columns.filter(({ kind }) => kind !== 'value');
  const numbers = reference(`${type}${titleOf.number}Column`);
  const range = add(`${type}OrderedColumn`, enumOf(propertiesOf(common).column, ordered));
  const sums = add(`${type}SumMeasure`, measureOf(common, functions.Sum, numbers));
  const ranges = add(`${type}RangeMeasure`, measureOf(common, functions.Range, range));
  const mapping = { COUNT: count.$ref, SUM: sums.$ref, AVERAGE: sums.$ref, MIN: ranges.$ref, MAX: ranges.$ref };
  return {
    description: common.description,
    oneOf: [count, sums, ranges],
    discriminator: { propertyName: 'function', mapping },
  };
}

/** A figure with its function in place of a reference to it: each member of the union has some of its values. */
function withFunction(measure: JsonObject, named: JsonObject): JsonObject {
  return { ...measure, properties: { ...propertiesOf(measure), function: named } };
}

function countOf(common: JsonObject): JsonObject {
  const { column: _, ...properties } = propertiesOf(common);
  return {
    ...common,
    description: 'Number of records.',
    properties: { ...properties, function: { type: 'string', const: 'COUNT', description: 'Number of records.' } },
  };
}

function measureOf(common: JsonObject, named: JsonObject | undefined, column: JsonObject): JsonObject {
  return { ...common, required: ['function', 'column'], properties: { function: named, column } };
}

function orderBy(columns: readonly Column[], common: JsonObject): JsonObject {
  const properties = propertiesOf(common);
  return { ...common, properties: { ...properties, column: enumOf(properties.column, columns) } };
}

function enumOf(column: unknown, columns: readonly Column[]): JsonObject {
  const { minLength: _, maxLength: __, description, ...open } = objectOf(column);
  const restricted = columns
    .filter(({ roles }) => roles.length > 0)
    .map(({ name, roles }) => ` \`${name}\` requires the ${roles.map((role) => `\`${role}\``).join(' or ')} role.`);
  return { ...open, enum: columns.map(({ name }) => name), description: `${description}${restricted.join('')}` };
}

/** A request whose rows refer to none that groups could be keyed by. */
function withoutRelated(schema: unknown): JsonObject {
  const { with: _, ...properties } = propertiesOf(schema);
  return { ...objectOf(schema), properties };
}

function propertiesOf(schema: unknown): JsonObject {
  return objectOf(objectOf(schema).properties);
}

/** A schema with references to the parts of its own resource in place of those to the open ones. */
function withParts(schema: unknown, parts: Readonly<Record<string, JsonObject>>): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withParts(item, parts));
  if (!isObject(schema)) return schema;
  const own = typeof schema.$ref === 'string' ? parts[nameIn(schema.$ref)] : undefined;
  if (own !== undefined) return { ...schema, ...own };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withParts(value, parts)]));
}
