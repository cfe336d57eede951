import type { Call } from '../http/call.ts';
import { isObject } from '../json.ts';
import { isOwnId, kindOfReference } from './names.ts';
import type { Session } from './session.ts';

/** How much of a body is told anew, so that it does not meet what calls before it created. */
export interface Freshness {
  readonly depth: number;
  /** Also the keys by which resources are known. */
  readonly keys: boolean;
}

/** The least that may be enough, and more. */
export type Freshnesses = readonly [Freshness, ...Freshness[]];

/** All texts, and none of the keys. */
export const atEveryDepth: Freshness = { depth: 9, keys: false };

/**
 * What conflicts is usually named at the top; texts further down may have to agree with each other, and keys with what is there:
 * these change only where the others are not enough.
 */
export const freshnesses: Freshnesses = [{ depth: 1, keys: false }, atEveryDepth, { ...atEveryDepth, keys: true }];

/**
 * A call with other texts than those before it.
 *
 * @param kept a JSON Pointer to what in the body stays as it is.
 */
export function renewed(session: Session, call: Call, label: string, { depth, keys }: Freshness, kept?: string): Call {
  const { operation, body } = call;
  const schema = operation.body?.contents.find(({ mediaType }) => mediaType === call.mediaType)?.schema;
  if (schema === undefined || body === undefined) return call;
  const isFree = (at: string, key: string) =>
    at.split('/').length - 1 <= depth &&
    (kept === undefined || (at !== kept && !at.startsWith(`${kept}/`))) &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined || (keys && session.pool.isKey(operation, key)));
  return { ...call, body: session.values.fresh(schema, body, session.seedFor(`${operation.id} ${label}`), isFree) };
}

/**
 * The same of a call that is broken: it has other texts wherever it has those of the call that it was created from, and is broken
 * as it was.
 */
export function renewedAround(session: Session, broken: Call, whole: Call, label: string, freshness: Freshness): Call {
  const fresh = renewed(session, whole, label, freshness);
  const change = (node: unknown, before: unknown, after: unknown): unknown => {
    if (typeof node === 'string') return node === before && typeof after === 'string' ? after : node;
    if (Array.isArray(node))
      return node.map((item: unknown, index) => change(item, partOf(before, index), partOf(after, index)));
    if (!isObject(node)) return node;
    return Object.fromEntries(
      Object.entries(node).map(([name, item]) => [name, change(item, partOf(before, name), partOf(after, name))]),
    );
  };
  return { ...broken, body: change(broken.body, whole.body, fresh.body) };
}

function partOf(value: unknown, name: string | number): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
