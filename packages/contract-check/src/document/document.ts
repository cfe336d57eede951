import { pathToFileURL } from 'node:url';
import { BaseResolver, getLineColLocation, type Source } from '@redocly/openapi-core';
import { at, escapeSegment, isObject, type JsonObject, remembered } from '../json.ts';

/**
 * Converts an object of an OpenAPI 3.0 file to 3.1 in place: `nullable` and boolean exclusive bounds of schemas. All
 * later code handles one dialect.
 */
function modernize(node: JsonObject): void {
  if (node.nullable === true) allowNull(node);
  exclusive(node, 'exclusiveMinimum', 'minimum');
  exclusive(node, 'exclusiveMaximum', 'maximum');
}

function allowNull(schema: JsonObject): void {
  delete schema.nullable;
  // In 3.0, `nullable` requires a sibling `type`.
  if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
}

function exclusive(schema: JsonObject, flag: string, bound: string): void {
  if (typeof schema[flag] !== 'boolean') return;
  const isExclusive = schema[flag];
  delete schema[flag];
  if (!isExclusive || typeof schema[bound] !== 'number') return;
  schema[flag] = schema[bound];
  delete schema[bound];
}

/** A location in the source files of a document. */
export interface Place {
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  /** JSON Pointer in the file. */
  readonly pointer: string;
}

interface Position {
  readonly source: Source;
  /** `#`, or `#/paths`. */
  readonly pointer: string;
}

const resolver = new BaseResolver();

/**
 * An OpenAPI document in one or more files. It is neither bundled nor copied: objects are those of the parsed files, so
 * that findings can refer to file and line.
 */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly rootAddress: string;
  /** The parsed files by URI. */
  readonly files: ReadonlyMap<string, JsonObject>;
  readonly #positions: WeakMap<object, Position>;
  /** Cached, because every response is validated with the same schemas. */
  readonly #targets = new WeakMap<object, { readonly value: unknown }>();

  private constructor(rootAddress: string, files: Map<string, JsonObject>, positions: WeakMap<object, Position>) {
    this.root = files.get(uriOf(rootAddress)) ?? {};
    this.rootAddress = rootAddress;
    this.files = files;
    this.#positions = positions;
  }

  /**
   * Reads a document and all files that it refers to.
   *
   * @param address absolute path or URL.
   * @throws Error if a file cannot be read, or is not OpenAPI 3.
   */
  static async load(address: string): Promise<OpenApiDocument> {
    const files = new Map<string, JsonObject>();
    const positions = new WeakMap<object, Position>();
    const waiting = [address];
    let isOld = false;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (files.has(uriOf(next))) continue;
      const file = await resolver.resolveDocument<unknown>(null, next, next === address);
      if (file instanceof Error) throw new Error(`${next} cannot be read: ${file.message}`);
      const { parsed, source } = file;
      if (!isObject(parsed)) throw new Error(`${next} does not contain an object.`);
      files.set(uriOf(next), parsed);
      if (next === address) isOld = versionOf(parsed, address).startsWith('3.0.');
      visit(parsed, '#', false, (node, pointer, isWithinId) => {
        positions.set(node, { source, pointer });
        if (isOld && isObject(node)) modernize(node);
        if (!('$ref' in node) || typeof node.$ref !== 'string') return;
        const [target = ''] = node.$ref.split('#');
        if (target !== '') waiting.push(resolver.resolveExternalRef(source.absoluteRef, target));
        if (isWithinId && /^#\/(?!\$defs\/)/.test(node.$ref)) node.$ref = uriOf(next) + node.$ref;
      });
    }
    return new OpenApiDocument(address, files, positions);
  }

  /** Follows references to their target; returns other values unchanged. */
  resolve(node: unknown): unknown {
    let current = node;
    for (let steps = 0; isObject(current) && typeof current.$ref === 'string'; steps += 1) {
      if (steps > 100) throw new Error(`The reference ${current.$ref} is circular.`);
      current = this.#target(current, current.$ref);
    }
    return current;
  }

  /** Follows a reference by one step, because siblings of references apply at every step. Empty without a reference. */
  referred(schema: JsonObject): JsonObject[] {
    const target = typeof schema.$ref === 'string' ? this.#target(schema, schema.$ref) : undefined;
    return isObject(target) ? [target] : [];
  }

  /** Like `resolve`, for objects: empty if the target is not an object. */
  object(node: unknown): JsonObject {
    const found = this.resolve(node);
    return isObject(found) ? found : {};
  }

  /** The URI of an object, for a `$ref`; undefined if it is not part of the document. */
  uriOf(node: object): string | undefined {
    const position = this.#positions.get(node);
    return position && uriOf(position.source.absoluteRef) + position.pointer;
  }

  /** The location of an object, or of one of its properties. */
  placeOf(node: object, member?: string): Place | undefined {
    const position = this.#positions.get(node);
    if (position === undefined) return undefined;
    const { source } = position;
    const pointer = member === undefined ? position.pointer : `${position.pointer}/${escapeSegment(member)}`;
    return { file: source.absoluteRef, line: lineOf(source, pointer), pointer };
  }

  #target(node: object, reference: string): unknown {
    return remembered(this.#targets, node, () => {
      const [file = '', pointer = ''] = reference.split('#');
      const from = this.#positions.get(node)?.source.absoluteRef ?? this.rootAddress;
      const address = file === '' ? from : resolver.resolveExternalRef(from, file);
      const value = at(this.files.get(uriOf(address)), decodeURIComponent(pointer));
      if (value === undefined) throw new Error(`${reference} in ${from} does not resolve.`);
      return { value };
    }).value;
  }
}

/** The URI of a path or URL. A path would be resolved against an `$id`. */
function uriOf(address: string): string {
  return /^(?:https?|file):\/\//.test(address) ? address : pathToFileURL(address).href;
}

/** @throws Error if a file is not OpenAPI 3. */
function versionOf({ openapi }: JsonObject, address: string): string {
  if (typeof openapi === 'string' && /^3\.[01]\./.test(openapi)) return openapi;
  throw new Error(`${address} is not an OpenAPI 3.0 or 3.1 document: "openapi" is ${JSON.stringify(openapi)}.`);
}

/**
 * Visits all objects of a file. A reference in a schema with an `$id` would be resolved against that schema, but authors
 * of OpenAPI documents expect `#/components/…` to be in the document.
 */
function visit(
  node: unknown,
  pointer: string,
  isWithinId: boolean,
  visitor: (node: object, pointer: string, isWithinId: boolean) => void,
): void {
  if (typeof node !== 'object' || node === null) return;
  const isWithin = isWithinId || ('$id' in node && typeof node.$id === 'string');
  for (const [key, child] of Object.entries(node)) visit(child, `${pointer}/${escapeSegment(key)}`, isWithin, visitor);
  visitor(node, pointer, isWithin);
}

/** Cached, because every violation of every response has a line, and finding one reads the syntax tree of its file. */
const linesOf = new WeakMap<Source, Map<string, number>>();

function lineOf(source: Source, pointer: string): number {
  const lines = remembered(linesOf, source, () => new Map<string, number>());
  const location = { source, pointer: pointer === '#' ? '#/' : pointer, reportOnKey: true };
  return remembered(lines, pointer, () => getLineColLocation(location).start.line);
}
