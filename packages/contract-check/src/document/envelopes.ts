import { isObject, type JsonObject } from '../json.ts';
import type { OpenApiDocument } from './document.ts';
import { shapeOf } from './shape.ts';

/**
 * A resource in a document of JSON:API (`data.type`, `data.attributes`, `data.relationships`) as one object: with its attributes, and the IDs
 * of what it relates to as `authorId`. Checks of behavior see and send this form; all others that of the contract.
 */

export interface Envelope {
  readonly schema: JsonObject;
  readonly type: unknown;
  readonly hasId: boolean;
  /** The names and types of relationships by the property that has the ID. */
  readonly relations: ReadonlyMap<string, { readonly name: string; readonly type: unknown }>;
}

const envelopes = new WeakMap<JsonObject, Envelope>();

export const envelopeOf = (flat: JsonObject): Envelope | undefined => envelopes.get(flat);

/** The schema of a document with its resource or rows as plain objects; undefined if it has another form. */
export function flattened(document: OpenApiDocument, schema: JsonObject): JsonObject | undefined {
  const whole = shapeOf(document, schema);
  const data = whole.properties.get('data') ?? [];
  const { items } = shapeOf(document, ...data);
  if (items === undefined) return flatResource(document, data, schema);
  const row = flatResource(document, items, schema);
  const members = [...whole.properties].map(([name, own]) => [name, merged(own)]);
  return row && { type: 'object', properties: { ...Object.fromEntries(members), data: { type: 'array', items: row } } };
}

const merged = (schemas: readonly JsonObject[] = []): JsonObject =>
  schemas.length === 1 ? (schemas[0] ?? {}) : { allOf: [...schemas] };

function flatResource(
  document: OpenApiDocument,
  schemas: readonly JsonObject[],
  schema: JsonObject,
): JsonObject | undefined {
  const { properties } = shapeOf(document, ...schemas);
  const [type, attributes, id] = ['type', 'attributes', 'id'].map((name) => properties.get(name));
  if (type === undefined || attributes === undefined) return undefined;
  const typeOf = (own: readonly JsonObject[] | undefined) => shapeOf(document, ...(own ?? [])).enum?.[0];
  const own = shapeOf(document, ...attributes);
  const related = shapeOf(document, ...(properties.get('relationships') ?? []));
  const relations = [...related.properties].flatMap(([name, of]) => {
    const data = shapeOf(document, ...(shapeOf(document, ...of).properties.get('data') ?? [])).properties;
    const target = data.get('id');
    return target === undefined ? [] : [{ name, key: `${name}Id`, target, type: typeOf(data.get('type')) }];
  });
  const members: [string, readonly JsonObject[]][] = [
    ...own.properties,
    ...relations.map(({ key, target }): [string, readonly JsonObject[]] => [key, target]),
  ];
  const flat = {
    type: 'object',
    properties: Object.fromEntries(members.map(([name, one]) => [name, merged(one)])),
    required: [...own.required, ...relations.filter(({ name }) => related.required.has(name)).map(({ key }) => key)],
  };
  if (id !== undefined) Object.assign(flat.properties, { id: { ...merged(id), readOnly: true } });
  const byKey = new Map(relations.map(({ key, name, type: of }) => [key, { name, type: of }]));
  envelopes.set(flat, { schema, type: typeOf(type), hasId: id !== undefined, relations: byKey });
  return flat;
}

/** The document that has an object. @param id that of the resource; undefined if it is new. */
export function wrapped({ type, hasId, relations }: Envelope, body: unknown, id: unknown): unknown {
  if (!isObject(body)) return body;
  const own = Object.entries(body).filter(([name]) => name !== 'id');
  const attributes = own.filter(([name]) => !relations.has(name));
  const relationships = own.flatMap(([key, value]) => {
    const relation = relations.get(key);
    return relation === undefined ? [] : [[relation.name, { data: { type: relation.type, id: value } }] as const];
  });
  return {
    data: {
      type,
      ...(hasId && id !== undefined && { id }),
      attributes: Object.fromEntries(attributes),
      ...(relationships.length > 0 && { relationships: Object.fromEntries(relationships) }),
    },
  };
}

/** A resource as one object; other values unchanged. */
export function flatRow<Value>(value: Value): Value | JsonObject {
  if (!isObject(value) || typeof value.type !== 'string' || !isObject(value.attributes)) return value;
  const related = Object.entries(Object(value.relationships)).flatMap(([name, one]) =>
    isObject(one) && isObject(one.data) ? [[`${name}Id`, one.data.id] as const] : [],
  );
  const { id, attributes } = value;
  return { ...(id !== undefined && { id }), ...attributes, ...Object.fromEntries(related) };
}

export const flatBody = (body: unknown): unknown => {
  const data: unknown = isObject(body) ? body.data : undefined;
  return isObject(data) ? flatRow({ attributes: {}, ...data }) : body;
};
