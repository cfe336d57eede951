/**
 * What is stored for later (events, responses to be replayed, requests of jobs) outlives the release that stored it, and is read by the
 * contract of today: a field that was added is filled in, and what a removed field held is left out.
 */
import { contract, type Operation, type Schema, schemaOf } from './contract.ts';
import { fieldOf, isOf, resolved } from './fields.ts';
import { declarationsOf, referred } from './parameters.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Holds = (roles: readonly string[]) => boolean;

/** What is read of a schema, which is calculated once. */
interface Form {
  /** The schema, without its reference. */
  readonly whole: Schema;
  /** Whether values have no parts. */
  readonly isLeaf: boolean;
  readonly isUnion: boolean;
  readonly isClosed: boolean;
  readonly properties: ReadonlyMap<string, Schema>;
  /** The roles of which one is required to see a property: those that read it, and those that write it. */
  readonly roles: ReadonlyMap<string, readonly string[]>;
  /** The schema of the values of a map, if they have parts. */
  readonly values: Schema | undefined;
  /** What a value gets that lacks the property. */
  readonly initial: readonly (readonly [name: string, value: unknown])[];
}

const forms = new WeakMap<Schema, Form>();

function formOf(schema: Schema): Form {
  const known = forms.get(schema);
  if (known !== undefined) return known;
  const whole = resolved(schema);
  const { properties = {}, required = [], additionalProperties, items, anyOf, oneOf, discriminator } = whole;
  const isUnion = (anyOf ?? oneOf ?? discriminator) !== undefined;
  const values =
    isObject(additionalProperties) && !formOf(additionalProperties).isLeaf ? additionalProperties : undefined;
  const form = {
    whole,
    isLeaf: !isUnion && (items ?? whole.properties ?? values) === undefined,
    isUnion,
    isClosed: additionalProperties === false,
    properties: new Map(Object.entries(properties)),
    roles: new Map(
      Object.entries(properties).flatMap(([name, property]): [string, readonly string[]][] => {
        const { readRoles, writeRoles } = fieldOf(name, property, undefined);
        return readRoles.length === 0 ? [] : [[name, [...readRoles, ...writeRoles]]];
      }),
    ),
    values,
    initial: Object.entries(properties).flatMap(([name, property]): [string, unknown][] => {
      const initial = required.includes(name) ? initialOf(resolved(property)) : property.default;
      return initial === undefined ? [] : [[name, initial]];
    }),
  };
  forms.set(schema, form);
  return form;
}

/**
 * The value as the schema describes it; the same value if that is so already. A field without a default that cannot be null stays missing.
 *
 * @param holds says which roles a caller has who wrote the value: what they do not show is null. By default, all is shown.
 */
export function asOfToday<Value>(schema: Schema, value: Value, holds?: Holds): Value;
export function asOfToday(schema: Schema, value: unknown, holds?: Holds): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const form = formOf(schema);
  if (form.isLeaf) return value;
  if (Array.isArray(value)) {
    const { items } = form.whole;
    return items === undefined ? value : sameOr(value, (item) => asOfToday(items, item, holds));
  }
  if (!isObject(value)) return value;
  if (form.isUnion) {
    const member = memberOf(form.whole, value);
    return member === undefined ? value : asOfToday(member, value, holds);
  }
  const row: Record<string, unknown> = {};
  let isSame = true;
  for (const [name, held] of Object.entries(value)) {
    const property = form.properties.get(name) ?? form.values;
    if (property === undefined && form.isClosed) isSame = false;
    else {
      const roles = form.roles.get(name);
      const isHidden = roles !== undefined && holds?.(roles) === false;
      row[name] = isHidden ? null : property === undefined ? held : asOfToday(property, held, holds);
      if (row[name] !== held) isSame = false;
    }
  }
  for (const [name, initial] of form.initial) {
    if (Object.hasOwn(value, name)) continue;
    row[name] = initial;
    isSame = false;
  }
  return isSame ? value : row;
}

function sameOr(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = list.map(change);
  return changed.every((item, index) => item === list[index]) ? list : changed;
}

/** The member of a union that the object is of, through unions within it. */
function memberOf({ discriminator, anyOf = [], oneOf = anyOf }: Schema, value: JsonObject): Schema | undefined {
  if (discriminator !== undefined) {
    const name = discriminator.mapping[String(value[discriminator.propertyName])];
    return name === undefined ? undefined : schemaOf(name);
  }
  for (const one of oneOf) {
    const { whole, isUnion, isLeaf } = formOf(one);
    const member = isUnion ? memberOf(whole, value) : isLeaf ? undefined : one;
    if (member !== undefined) return member;
  }
  return undefined;
}

/** What a row has in a field that did not exist when it was stored: its default, that of new rows, or null. */
function initialOf(schema: Schema): unknown {
  const initial = schema.default ?? schema['x-on-create']?.value;
  if (initial !== undefined) return initial;
  if (isOf(schema, 'null')) return null;
  if (isOf(schema, 'array')) return [];
  return isOf(schema, 'object') ? asOfToday(schema, {}) : undefined;
}

/** The schemas of the rows in events, by type and operation. */
const rowsOfEvents: ReadonlyMap<string, Schema | undefined> = new Map(
  Object.values(contract.webhooks).map(({ post }) => {
    const { entityType, operation } = post['x-event'];
    const { data } = resolved(post.requestBody.content['application/json'].schema).properties ?? {};
    return [`${entityType} ${operation}`, data];
  }),
);

/** The row of a stored event, as JSON. Rows of types that tenants define have no fields that a release can change. */
export function storedRow(entityType: string, operation: string, text: string): string {
  const schema = rowsOfEvents.get(`${entityType} ${operation}`);
  if (schema === undefined) return text;
  const stored: unknown = JSON.parse(text);
  const row = asOfToday(schema, stored);
  return row === stored ? text : JSON.stringify(row);
}

/** The names of those fields of a row in an event that it still has. */
export function storedFields(entityType: string, operation: string, names: readonly string[]): readonly string[] {
  const schema = rowsOfEvents.get(`${entityType} ${operation}`);
  const { properties } = schema === undefined ? {} : resolved(schema);
  return properties === undefined ? names : names.filter((name) => Object.hasOwn(properties, name));
}

/** The body of a stored response, as its caller may see it by now. */
export function storedBody(operation: Operation, status: number, body: unknown, holds: Holds): unknown {
  const declared = declarationsOf(operation)[1]?.responses?.[status];
  const schema = declared === undefined ? undefined : referred(declared).content?.['application/json']?.schema;
  return schema === undefined ? body : asOfToday(schema, body, holds);
}
