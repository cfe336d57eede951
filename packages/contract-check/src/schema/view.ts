import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf, type Operation } from '../document/operation.ts';
import { itemSchemas, memberSchemas, type Shape, wholeShapeOf } from '../document/shape.ts';
import { canBeJson, escapeSegment, isForm, isJson, isObject, type JsonObject } from '../json.ts';

/** What a contract declares about the values at one place: the parts of all branches, any of which can match. */
export class View {
  readonly schemas: readonly JsonObject[];
  readonly #document: OpenApiDocument;
  readonly #shape: Shape;

  private constructor(document: OpenApiDocument, schemas: readonly JsonObject[]) {
    this.#document = document;
    this.schemas = schemas;
    this.#shape = wholeShapeOf(document, ...schemas);
  }

  static of(document: OpenApiDocument, schema?: JsonObject): View {
    return new View(document, schema === undefined ? [] : [schema]);
  }

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

  get node(): JsonObject | undefined {
    return this.schemas[0];
  }

  /** The schemas, with references and the parts of all branches. */
  get parts(): readonly JsonObject[] {
    return this.#shape.sources;
  }

  get names(): string[] {
    return [...this.#shape.properties.keys()];
  }

  member(name: string): View {
    return new View(this.#document, this.#shape.properties.get(name) ?? []);
  }

  /** A property that is declared by name, by a pattern, or as an additional one. */
  described(name: string): View {
    return new View(this.#document, memberSchemas(this.#shape, name) ?? []);
  }

  /** The values of all properties together, such as that of a property that wraps the rest. */
  get inner(): View {
    return new View(this.#document, [...this.#shape.properties.values()].flat().slice(0, 4));
  }

  get items(): View {
    return new View(this.#document, this.#shape.items ?? []);
  }

  /** The item of a list at an index, considering `prefixItems`. */
  item(index: number): View {
    return new View(this.#document, itemSchemas(this.#shape, index) ?? []);
  }

  has(keyword: string): boolean {
    return this.parts.some((part) => part[keyword] === true);
  }

  requires(name: string): boolean {
    return this.#shape.required.has(name);
  }

  get isList(): boolean {
    return this.#shape.types.has('array') && this.#shape.items !== undefined;
  }

  get format(): string | undefined {
    return this.#shape.format;
  }

  get isEnum(): boolean {
    return this.#shape.enum !== undefined;
  }

  get words(): unknown[] {
    return this.parts.flatMap(({ enum: words }) => (Array.isArray(words) ? words : []));
  }

  states(member: string, value: boolean): boolean {
    return this.parts.some((part) => extensionOf(part)[member] === value);
  }
}

const sentContent = ({ body }: Operation) =>
  body?.contents.find(({ mediaType }) => isJson(mediaType)) ??
  body?.contents.find(({ mediaType }) => isForm(mediaType));

/** The schema of an operation's JSON body, or of its form body if it accepts no JSON. */
export const sentSchema = (operation: Operation): JsonObject | undefined => sentContent(operation)?.schema;

/** That of the resource in it. */
export function requestSchema(operation: Operation): JsonObject | undefined {
  const content = sentContent(operation);
  return content?.flat ?? content?.schema;
}

/** The schema of a JSON response with a status, or of the first success. */
export function responseSchema({ responses }: Operation, status?: number): JsonObject | undefined {
  const response =
    responses.find((one) => one.status === String(status)) ?? responses.find((one) => one.status.startsWith('2'));
  const content = response?.contents.find(({ mediaType }) => canBeJson(mediaType));
  return content?.flat ?? content?.schema;
}

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
