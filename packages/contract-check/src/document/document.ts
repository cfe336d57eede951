import { pathToFileURL } from 'node:url';
import { BaseResolver, getLineColLocation, type Source } from '@redocly/openapi-core';
import { CannotRun, required } from '../cannot-run.ts';
import { at, escapeSegment, isObject, type JsonObject, remembered } from '../json.ts';
import { mergeKeys, mergeLiterals, modernize, sourceOf, upgraded } from './dialects.ts';

export interface Place {
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  readonly pointer: string;
}

interface Position {
  readonly source: Source;
  /** `#`, or `#/paths`. */
  readonly pointer: string;
  /** The same in the source, which can be in another dialect. */
  readonly origin: string;
}

const resolver = new BaseResolver();

const unreadable = (address: string) => `${address} cannot be read: `;

/** What was noted when a file was read first. Later, its content is converted already. */
const notesOf = new WeakMap<JsonObject, readonly string[]>();

/**
 * An OpenAPI document in one or more files. It is neither bundled nor copied: objects are those of the parsed files, so
 * that findings can refer to file and line.
 */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly rootAddress: string;
  readonly files: ReadonlyMap<string, JsonObject>;
  readonly #positions: WeakMap<object, Position>;
  /** Cached, because every response is validated with the same schemas. */
  readonly #targets = new WeakMap<object, { readonly value: unknown }>();

  /** What authors should know about the document itself. */
  readonly notes: readonly string[];

  private constructor(
    rootAddress: string,
    files: Map<string, JsonObject>,
    positions: WeakMap<object, Position>,
    notes: readonly string[],
  ) {
    this.root = files.get(uriOf(rootAddress)) ?? {};
    this.rootAddress = rootAddress;
    this.files = files;
    this.#positions = positions;
    this.notes = notes;
  }

  /**
   * Reads a document and all files that it refers to.
   *
   * @param address absolute path or URL.
   * @throws Error if a file cannot be read, or is neither OpenAPI 3 nor Swagger 2.0.
   */
  static async load(address: string): Promise<OpenApiDocument> {
    const files = new Map<string, JsonObject>();
    const positions = new WeakMap<object, Position>();
    const untyped: Position[] = [];
    const waiting = [address];
    let isOld = false;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (files.has(uriOf(next))) continue;
      const file = await required(
        () => resolver.resolveDocument<unknown>(null, next, next === address),
        unreadable(next),
      );
      if (file instanceof Error) throw new Error(`${unreadable(next)}${file.message}`);
      const { parsed: content, source } = file;
      if (!isObject(content)) throw new Error(`${next} does not contain an object.`);
      const isSwagger = next === address && content.swagger === '2.0';
      const parsed = isSwagger ? upgraded(content) : content;
      files.set(uriOf(next), parsed);
      if (next === address) isOld = versionOf(parsed, address).startsWith('3.0.');
      visit(parsed, '#', { isWithinId: false, isData: false }, (node, at, { isWithinId, isData }) => {
        const position = { source, pointer: at, origin: isSwagger ? sourceOf(at, content) : at };
        positions.set(node, position);
        if (!isObject(node)) return;
        mergeKeys(node);
        if (isData) return;
        mergeLiterals(node);
        const added = isOld ? modernize(node) : undefined;
        if (added !== undefined) positions.set(added, position);
        if (added !== undefined) untyped.push(position);
        for (const reference of [node.$ref, ...mappedIn(node)]) {
          const [target = ''] = typeof reference === 'string' ? reference.split('#') : [];
          if (target !== '') waiting.push(resolver.resolveExternalRef(source.absoluteRef, target));
        }
        if (typeof node.$ref !== 'string') return;
        if (isWithinId && /^#\/(?!\$defs\/)/.test(node.$ref)) node.$ref = uriOf(next) + node.$ref;
      });
      if (isSwagger && waiting.length > 0)
        throw new Error(`${address} is Swagger 2.0 in several files. Bundle it into one first.`);
    }
    const [first] = untyped.map(({ source, origin }) => `${source.absoluteRef}:${lineOf(source, origin)}`);
    const note = `nullable without type has no meaning in OpenAPI 3.0; null is accepted there, and in ${untyped.length} places: ${first}`;
    const notes = remembered(notesOf, files.get(uriOf(address)) ?? {}, () => (first === undefined ? [] : [note]));
    return new OpenApiDocument(address, files, positions, notes);
  }

  /** Follows references to their target; returns other values unchanged. */
  resolve(node: unknown): unknown {
    let current = node;
    for (let steps = 0; isObject(current) && typeof current.$ref === 'string'; steps += 1) {
      if (steps > 100) throw new CannotRun(`The reference ${current.$ref} at ${this.#addressOf(current)} is circular.`);
      current = this.#target(current, current.$ref);
    }
    return current;
  }

  /** Follows a reference by one step, because siblings of references apply at every step. Empty without a reference. */
  referred(schema: JsonObject): JsonObject[] {
    const target = typeof schema.$ref === 'string' ? this.#target(schema, schema.$ref) : undefined;
    return isObject(target) ? [target] : [];
  }

  /** The schema that a discriminator's mapping names: by a reference, or the name of a component. */
  named(node: object, target: string): unknown {
    return at(this.root, `/components/schemas/${escapeSegment(target)}`) ?? this.#find(node, target);
  }

  /** Like `resolve`, for objects: empty if the target is not an object. */
  object(node: unknown): JsonObject {
    const found = this.resolve(node);
    return isObject(found) ? found : {};
  }

  uriOf(node: object): string | undefined {
    const position = this.#positions.get(node);
    return position && uriOf(position.source.absoluteRef) + position.pointer;
  }

  placeOf(node: object, member?: string): Place | undefined {
    const position = this.#positions.get(node);
    if (position === undefined) return undefined;
    const { source } = position;
    const pointer = member === undefined ? position.origin : `${position.origin}/${escapeSegment(member)}`;
    return { file: source.absoluteRef, line: lineOf(source, pointer), pointer };
  }

  #addressOf(node: object): string {
    const place = this.placeOf(node);
    return place === undefined ? this.rootAddress : `${place.file}:${place.line}`;
  }

  #target(node: object, reference: string): unknown {
    return remembered(this.#targets, node, () => ({ value: this.#find(node, reference) })).value;
  }

  #find(node: object, reference: string): unknown {
    const [file = '', pointer = ''] = reference.split('#');
    const from = this.#positions.get(node)?.source.absoluteRef ?? this.rootAddress;
    const address = file === '' ? from : resolver.resolveExternalRef(from, file);
    const value = at(this.files.get(uriOf(address)), decodeURIComponent(pointer));
    if (value === undefined) throw new CannotRun(`${reference} at ${this.#addressOf(node)} does not resolve.`);
    return value;
  }
}

/** The URI of a path or URL. A path would be resolved against an `$id`. */
function uriOf(address: string): string {
  return /^(?:https?|file):\/\//.test(address) ? address : pathToFileURL(address).href;
}

function versionOf({ openapi }: JsonObject, address: string): string {
  if (typeof openapi === 'string' && /^3\.[012]\./.test(openapi)) return openapi;
  throw new Error(
    `${address} is not an OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0 document: "openapi" is ${JSON.stringify(openapi)}.`,
  );
}

/** The references in the mapping of a discriminator, whose other values are names. */
function mappedIn({ propertyName, mapping }: JsonObject): string[] {
  const targets = typeof propertyName === 'string' && isObject(mapping) ? Object.values(mapping) : [];
  return targets.filter((one) => typeof one === 'string' && /[#/]|\.(?:ya?ml|json)$/.test(one)).map(String);
}

interface Context {
  /**
   * Within a schema with an `$id`. A reference would be resolved against that schema, but authors of OpenAPI documents
   * expect `#/components/…` to be in the document.
   */
  readonly isWithinId: boolean;
  /** Within an example or another value, in which `$ref` is a property like any other. */
  readonly isData: boolean;
}

/** Keys of objects whose own keys are names. */
const named =
  /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas|schemas|responses|parameters|headers|examples|requestBodies|securitySchemes|links|callbacks|pathItems|paths|webhooks|content|mediaTypes|encoding|variables)$/;
const data = /^(?:example|default|const|enum)$/;

/** Visits all objects of a file, inner ones first. @param key of the node, unless it is a name. */
function visit(
  node: unknown,
  pointer: string,
  context: Context,
  visitor: (node: object, pointer: string, context: Context) => void,
  key = '',
): void {
  if (typeof node !== 'object' || node === null) return;
  const isNames = named.test(key) && !Array.isArray(node);
  const isWithinId = context.isWithinId || ('$id' in node && typeof node.$id === 'string');
  for (const [name, child] of Object.entries(node)) {
    const isValue = !isNames && (data.test(name) || (name === 'examples' && Array.isArray(child)));
    const isExample = name === 'value' && /\/examples\/[^/]+$/.test(pointer);
    const inner = { isWithinId, isData: context.isData || isValue || isExample };
    visit(child, `${pointer}/${escapeSegment(name)}`, inner, visitor, isNames ? '' : name);
  }
  visitor(node, pointer, { ...context, isWithinId });
}

/** Cached, because every violation of every response has a line, and finding one reads the syntax tree of its file. */
const linesOf = new WeakMap<Source, Map<string, number>>();

function lineOf(source: Source, pointer: string): number {
  const lines = remembered(linesOf, source, () => new Map<string, number>());
  const location = { source, pointer: pointer === '#' ? '#/' : pointer, reportOnKey: true };
  return remembered(lines, pointer, () => getLineColLocation(location).start.line);
}
