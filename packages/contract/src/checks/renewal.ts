import type { Call } from '../http/call.ts';
import { isObject } from '../json.ts';
import { isOwnId, kindOfReference } from '../run/names.ts';
import type { Session } from '../run/session.ts';

/** Deep enough for all texts, and for keys. */
export const withKeys = 99;

/**
 * A call that makes something with other texts than the calls before it, so that it does not meet what they made.
 *
 * @param pointer what in the body stays as it is.
 * @param depth how deep texts change: those further down may have to agree with each other. Deeper than all, the keys by which
 * things are known change, too.
 */
export function renewed(session: Session, call: Call, pointer: string | undefined, label: string, depth: number): Call {
  const { operation, body } = call;
  const schema = operation.body?.contents.find(({ mediaType }) => mediaType === call.mediaType)?.schema;
  if (schema === undefined || body === undefined || operation.method !== 'POST') return call;
  const isFree = (at: string, key: string) =>
    at.split('/').length - 1 <= depth &&
    (pointer === undefined || (at !== pointer && !at.startsWith(`${pointer}/`))) &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined || (depth === withKeys && session.pool.isKey(operation, key)));
  return { ...call, body: session.values.fresh(schema, body, session.seedFor(`${operation.id} ${label}`), isFree) };
}

/**
 * The same of a call that is broken: it has other texts wherever it has those of the call that it was made from, and is broken
 * as it was.
 */
export function renewedAround(session: Session, broken: Call, whole: Call, label: string, depth: number): Call {
  const fresh = renewed(session, whole, undefined, label, depth);
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
