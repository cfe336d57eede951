/**
 * OpenAPI documents as the gate reads them: their operations, and JSON pointers to their elements; and what a break is. Any document can be
 * compared, so nothing is assumed that only our lint rules guarantee, such as an `operationId` or an extension.
 */
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';

/** A parsed OpenAPI document whose references lead to its own components. */
export type Bundle = JsonObject;

export interface Break {
  /** The kind of break: a rule of `redocly diff`, or one of our own. */
  readonly rule: string;
  /** A JSON pointer, into the released bundle if the element already exists there. */
  readonly at: string;
  readonly says: string;
}

export type Root = 'paths' | 'webhooks';

export interface Place {
  readonly root: Root;
  /** The path, or the name of the webhook. */
  readonly path: string;
  /** The method in lower case, as in the document. */
  readonly key: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

const methods = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']);

export function isMethod(key: string): boolean {
  return methods.has(key);
}

export function operationsOf(bundle: Bundle, roots: readonly Root[] = ['paths', 'webhooks']): Place[] {
  return roots.flatMap((root) =>
    Object.entries(objectOf(bundle[root])).flatMap(([path, value]) => {
      const item = objectOf(value);
      return Object.entries(item).flatMap(([key, operation]) =>
        isMethod(key) && isObject(operation) ? [{ root, path, key, item, operation }] : [],
      );
    }),
  );
}

export function pointerTo(...keys: readonly string[]): string {
  return ['#', ...keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}

export function keysOf(pointer: string): string[] {
  const [, ...keys] = pointer.split('/');
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What a node is, or what its reference leads to. */
export function resolved(document: Bundle, node: unknown): JsonObject {
  return objectOf(isObject(node) && typeof node.$ref === 'string' ? valueAt(document, node.$ref) : node);
}

/** The value that a pointer leads to within a document; undefined if there is none. */
export function valueAt(document: unknown, pointer: string): unknown {
  return keysOf(pointer).reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    document,
  );
}
