import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { partsOf } from '../schema/parts.ts';

/** The parts of the contract that apply to values at one place. Cached, because a response has many rows. */
export class Description {
  /** The schemas, with references and the parts of all branches. */
  readonly parts: readonly JsonObject[];
  readonly #document: OpenApiDocument;
  readonly #members = new Map<string, Description | undefined>();
  readonly #items = new Map<number, Description | undefined>();

  private constructor(document: OpenApiDocument, schemas: readonly JsonObject[]) {
    this.#document = document;
    this.parts = schemas.flatMap((schema) => partsOf(document, schema));
  }

  static of(document: OpenApiDocument, schema: JsonObject): Description {
    const known = descriptions.get(schema) ?? new Description(document, [schema]);
    descriptions.set(schema, known);
    return known;
  }

  /** The description of a property; undefined if there is none. */
  member(name: string): Description | undefined {
    if (this.#members.has(name)) return this.#members.get(name);
    const described = this.#described(this.parts.flatMap((part) => memberSchemas(part, name)));
    // Undeclared names are unlimited, so they are not cached.
    if (this.parts.some((part) => isObject(part.properties) && Object.hasOwn(part.properties, name)))
      this.#members.set(name, described);
    return described;
  }

  /** The description of a list item; undefined if there is none. */
  item(index: number): Description | undefined {
    const longest = Math.max(
      0,
      ...this.parts.map(({ prefixItems }) => (Array.isArray(prefixItems) ? prefixItems.length : 0)),
    );
    const at = Math.min(index, longest);
    if (!this.#items.has(at)) this.#items.set(at, this.#described(itemSchemas(this.parts, at)));
    return this.#items.get(at);
  }

  #described(schemas: readonly JsonObject[]): Description | undefined {
    return schemas.length === 0 ? undefined : new Description(this.#document, schemas);
  }
}

const descriptions = new WeakMap<JsonObject, Description>();

/** An object in a response, with its description. */
export interface Described {
  readonly pointer: string;
  readonly object: JsonObject;
  readonly description: Description;
}

/** The objects in a value that a schema describes; outer objects first. */
export function objectsIn(document: OpenApiDocument, schema: JsonObject, value: unknown): Generator<Described> {
  return visit(Description.of(document, schema), value, '', 0);
}

function* visit(
  description: Description | undefined,
  value: unknown,
  pointer: string,
  depth: number,
): Generator<Described> {
  if (description === undefined || depth > 40) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      if (typeof item === 'object') yield* visit(description.item(index), item, `${pointer}/${index}`, depth + 1);
  }
  if (!isObject(value)) return;
  yield { pointer, object: value, description };
  for (const [name, member] of Object.entries(value))
    if (typeof member === 'object')
      yield* visit(description.member(name), member, `${pointer}/${escapeSegment(name)}`, depth + 1);
}

/** A schema without constraints. */
export const anything: JsonObject = {};

function memberSchemas(part: JsonObject, name: string): JsonObject[] {
  const named = isObject(part.properties) ? part.properties[name] : undefined;
  if (isObject(named)) return [named];
  if (named === true) return [anything];
  const patterns = Object.entries(isObject(part.patternProperties) ? part.patternProperties : {})
    .filter(([pattern]) => new RegExp(pattern, 'u').test(name))
    .map(([, schema]) => (isObject(schema) ? schema : anything));
  if (patterns.length > 0) return patterns;
  return isObject(part.additionalProperties) ? [part.additionalProperties] : [];
}

function itemSchemas(parts: readonly JsonObject[], index: number): JsonObject[] {
  return parts.flatMap((part) => {
    const first = Array.isArray(part.prefixItems) ? part.prefixItems : [];
    if (index < first.length) return isObject(first[index]) ? [first[index]] : [];
    return isObject(part.items) ? [part.items] : [];
  });
}
