import { fileURLToPath, pathToFileURL } from 'node:url';
import { BaseResolver, getLineColLocation, type Source } from '@redocly/openapi-core';
import { escapeSegment, isObject, type JsonObject, remembered, unescapeSegment } from '../json.ts';

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
  readonly pointer: string;
}

/**
 * An OpenAPI document in one or more files. It is neither bundled nor copied: objects are those of the parsed files, so
 * that findings can refer to file and line.
 */
export class OpenApiDocument {
  readonly root: JsonObject;
  /** The parsed files by absolute path or URL. */
  readonly files: ReadonlyMap<string, JsonObject>;
  readonly rootAddress: string;
  readonly #positions: WeakMap<object, Position>;
  readonly #targets = new WeakMap<object, { readonly reference: string; readonly target: unknown }>();

  private constructor(rootAddress: string, files: Map<string, JsonObject>, positions: WeakMap<object, Position>) {
    const root = files.get(rootAddress);
    if (root === undefined) throw new Error(`${rootAddress} was not read.`);
    this.root = root;
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
    const resolver = new BaseResolver();
    const files = new Map<string, JsonObject>();
    const positions = new WeakMap<object, Position>();
    const waiting = [address];
    let isOld = false;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (files.has(next)) continue;
      const file = await resolver.resolveDocument<unknown>(null, next, next === address);
      if (file instanceof Error) throw new Error(`${next} cannot be read: ${file.message}`);
      const { parsed, source } = file;
      if (!isObject(parsed)) throw new Error(`${source.absoluteRef} does not contain an object.`);
      files.set(next, parsed);
      if (next === address) isOld = versionOf(parsed, address).startsWith('3.0.');
      prepare(parsed, '#', false, (node, pointer, isWithinId) => {
        positions.set(node, { source, pointer: pointer === '#' ? '#/' : pointer });
        if (isOld && isObject(node)) modernize(node);
        if (!('$ref' in node) || typeof node.$ref !== 'string') return;
        const [target = ''] = node.$ref.split('#');
        if (target !== '') waiting.push(resolver.resolveExternalRef(source.absoluteRef, target));
        if (isWithinId && target === '' && /^#\/(?!\$defs\/)/.test(node.$ref))
          node.$ref = uriOf(source.absoluteRef) + node.$ref;
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

  /** Follows a reference by one step. Siblings of references apply at every step. */
  resolveOnce(node: JsonObject): unknown {
    return typeof node.$ref === 'string' ? this.#target(node, node.$ref) : undefined;
  }

  /** Like `resolveOnce`, as a list that is empty if there is no reference. */
  referred(schema: JsonObject): JsonObject[] {
    const target = this.resolveOnce(schema);
    return isObject(target) ? [target] : [];
  }

  /** Like `resolve`, for objects: empty if the target is not an object. */
  object(node: unknown): JsonObject {
    const found = this.resolve(node);
    return isObject(found) ? found : {};
  }

  /** The absolute URI of an object, as used in a `$ref`. */
  addressOf(node: object): string {
    const position = this.#positions.get(node);
    if (position === undefined) throw new Error('This object is not part of the document.');
    return position.pointer === '#/'
      ? position.source.absoluteRef
      : `${position.source.absoluteRef}${position.pointer}`;
  }

  /** The location of an object, or of one of its properties. */
  placeOf(node: object, member?: string): Place | undefined {
    const position = this.#positions.get(node);
    if (position === undefined) return undefined;
    const base = position.pointer === '#/' ? '#' : position.pointer;
    const pointer = member === undefined ? position.pointer : `${base}/${escapeSegment(member)}`;
    return { file: position.source.absoluteRef, line: lineOf(position.source, pointer), pointer };
  }

  #target(node: object, reference: string): unknown {
    // Cached, because every response is validated with the same schemas.
    const known = this.#targets.get(node);
    if (known?.reference === reference) return known.target;
    const target = this.#find(node, reference);
    this.#targets.set(node, { reference, target });
    return target;
  }

  #find(node: object, reference: string): unknown {
    const position = this.#positions.get(node);
    const [file = '', pointer = ''] = reference.split('#');
    const from = position?.source.absoluteRef ?? this.rootAddress;
    const address =
      file === ''
        ? from
        : file.startsWith('file:')
          ? fileURLToPath(file)
          : new BaseResolver().resolveExternalRef(from, file);
    let current: unknown = this.files.get(address);
    for (const part of pointer.split('/').slice(1)) {
      const key = unescapeSegment(decodeURIComponent(part));
      current = isObject(current) ? current[key] : Array.isArray(current) ? current[Number(key)] : undefined;
    }
    if (current === undefined) throw new Error(`${reference} in ${from} does not resolve.`);
    return current;
  }
}

/** Converts a path to a URI. A path would be resolved against an `$id`. */
export function uriOf(address: string): string {
  if (/^https?:\/\//.test(address)) return address;
  const [path = '', fragment] = address.split('#');
  return `${pathToFileURL(path).href}${fragment === undefined ? '' : `#${fragment}`}`;
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
function prepare(
  node: unknown,
  pointer: string,
  isWithinId: boolean,
  visit: (node: object, pointer: string, isWithinId: boolean) => void,
): void {
  if (typeof node !== 'object' || node === null) return;
  const isWithin = isWithinId || ('$id' in node && typeof node.$id === 'string');
  for (const [key, child] of Object.entries(node)) prepare(child, `${pointer}/${escapeSegment(key)}`, isWithin, visit);
  visit(node, pointer, isWithin);
}

/** Cached, because every violation of every response has a line, and finding one reads the syntax tree of its file. */
const linesOf = new WeakMap<Source, Map<string, number>>();

function lineOf(source: Source, pointer: string): number {
  const lines = remembered(linesOf, source, () => new Map<string, number>());
  return remembered(lines, pointer, () => getLineColLocation({ source, pointer, reportOnKey: true }).start.line);
}
