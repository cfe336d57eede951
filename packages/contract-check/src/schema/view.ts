import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf, type Operation } from '../document/operation.ts';
import { isJson } from '../http/call.ts';
import { escapeSegment, isObject, type JsonObject, remembered } from '../json.ts';
import { collect, itemSchemas, memberSchemas, type Shape, shapeOf } from './shape.ts';

/** The keywords of all parts, also of branches. */
const branching = ['allOf', 'oneOf', 'anyOf', 'if', 'then', 'else'];

const views = new WeakMap<JsonObject, View>();

/** What a contract declares about the values at one place. Unlike a `Shape`, it has the parts of all branches. */
export class View {
  /** The schemas that declare it: none if nothing does. */
  readonly schemas: readonly JsonObject[];
  /** The schemas, with references and the parts of all branches. */
  readonly parts: readonly JsonObject[];
  readonly #document: OpenApiDocument;
  /** Cached, because a response has many rows. */
  readonly #inner = new Map<string, View>();

  private constructor(document: OpenApiDocument, schemas: readonly JsonObject[]) {
    this.#document = document;
    this.schemas = schemas;
    const parts = new Set<JsonObject>();
    for (const schema of schemas) collect(document, schema, parts, branching);
    this.parts = [...parts];
  }

  static of(document: OpenApiDocument, schema: JsonObject | undefined): View {
    if (schema === undefined) return new View(document, []);
    return remembered(views, schema, () => new View(document, [schema]));
  }

  /** The body that an operation accepts. */
  static ofRequest(document: OpenApiDocument, operation: Operation): View {
    return View.of(document, requestSchema(operation));
  }

  /** The body of a JSON response with a status, or of the first success. */
  static ofResponse(document: OpenApiDocument, operation: Operation | undefined, status?: number): View {
    return View.of(document, operation && responseSchema(operation, status));
  }

  get isEmpty(): boolean {
    return this.schemas.length === 0;
  }

  /** The first schema, for its place. */
  get node(): JsonObject | undefined {
    return this.schemas[0];
  }

  /**
   * The schema to generate values from. Siblings of `$ref` are ignored, because the validator cannot resolve them
   * separately.
   */
  get target(): JsonObject | undefined {
    return this.node && this.#document.object(this.node);
  }

  /** The names of declared properties. */
  get names(): string[] {
    return [...new Set(this.parts.flatMap(({ properties }) => Object.keys(isObject(properties) ? properties : {})))];
  }

  /** A property that is declared by name. */
  member(name: string): View {
    return this.#view(`member ${name}`, ({ properties }) => properties.get(name));
  }

  /** A property that is declared by name, by a pattern, or as an additional one. */
  described(name: string): View {
    const find = (shape: Shape) => memberSchemas(shape, name);
    // Undeclared names are unlimited, so they are not cached.
    return this.names.includes(name) ? this.#view(`described ${name}`, find) : this.#newView(find);
  }

  /** The values of all properties together, such as that of a property that wraps the rest. */
  get inner(): View {
    return remembered(this.#inner, 'inner', () => {
      const schemas = this.names.flatMap((name) => this.member(name).schemas);
      return new View(this.#document, schemas.slice(0, 4));
    });
  }

  /** The items of a list. */
  get items(): View {
    return this.#view('items', ({ items }) => items);
  }

  /** The item of a list at an index, considering `prefixItems`. */
  item(index: number): View {
    const at = Math.min(index, Math.max(...this.#shapes.map(({ prefixItems }) => prefixItems.length)));
    return this.#view(`item ${at}`, (shape) => itemSchemas(shape, at));
  }

  /** Whether any part sets a keyword such as `readOnly` to true. */
  has(keyword: string): boolean {
    return this.parts.some((part) => part[keyword] === true);
  }

  get format(): string | undefined {
    return this.parts.map(({ format }) => format).find((format) => typeof format === 'string');
  }

  get isEnum(): boolean {
    return this.parts.some((part) => Array.isArray(part.enum) || 'const' in part);
  }

  /** The values of `enum` in all parts. */
  get words(): unknown[] {
    return this.parts.flatMap(({ enum: words }) => (Array.isArray(words) ? words : []));
  }

  /** Whether `x-contract-check` has a member with a value in any part. */
  states(member: string, value: boolean): boolean {
    return this.parts.some((part) => extensionOf(part)[member] === value);
  }

  /** The shapes of the parts. */
  get #shapes(): Shape[] {
    return this.parts.map((part) => shapeOf(this.#document, part));
  }

  #view(key: string, find: (shape: Shape) => readonly JsonObject[] | undefined): View {
    return remembered(this.#inner, key, () => this.#newView(find));
  }

  #newView(find: (shape: Shape) => readonly JsonObject[] | undefined): View {
    return new View(this.#document, [...new Set(this.#shapes.flatMap((shape) => find(shape) ?? []))]);
  }
}

/** The schema of an operation's JSON body, or of its form body if it accepts no JSON. */
export function requestSchema({ body }: Operation): JsonObject | undefined {
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i;
  const content =
    body?.contents.find(({ mediaType }) => isJson(mediaType)) ??
    body?.contents.find(({ mediaType }) => isForm.test(mediaType));
  return content?.schema;
}

/** The schema of a JSON response with a status, or of the first success. */
export function responseSchema({ responses }: Operation, status?: number): JsonObject | undefined {
  const response =
    responses.find((one) => one.status === String(status)) ?? responses.find((one) => one.status.startsWith('2'));
  return response?.contents.find(({ mediaType }) => isJson(mediaType))?.schema;
}

/** An object in a value, with what the contract declares about it. */
export interface Viewed {
  readonly pointer: string;
  readonly object: JsonObject;
  readonly view: View;
}

/** The objects in a value that a schema describes; outer objects first. */
export function* objectsIn(view: View, value: unknown, pointer = '', depth = 0): Generator<Viewed> {
  if (view.isEmpty || depth > 40) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      if (typeof item === 'object') yield* objectsIn(view.item(index), item, `${pointer}/${index}`, depth + 1);
  }
  if (!isObject(value)) return;
  yield { pointer, object: value, view };
  for (const [name, member] of Object.entries(value))
    if (typeof member === 'object')
      yield* objectsIn(view.described(name), member, `${pointer}/${escapeSegment(name)}`, depth + 1);
}
