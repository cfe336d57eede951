import { bodySchemaOf, type Call } from '../http/call.ts';
import { at, mapped } from '../json.ts';
import { isOwnId, kindOfName, kindOfPath, kindOfReference } from './names.ts';
import type { Session } from './session.ts';

/** Which texts of a body are replaced to avoid conflicts with earlier calls. */
export interface Freshness {
  readonly depth: number;
  /** Whether to replace keys that may refer to other resources, too. */
  readonly keys: boolean;
  /** Whether dates move by months: periods of the same thing must not overlap. */
  readonly isFar?: boolean;
}

export const atEveryDepth: Freshness = { depth: 9, keys: false };

export const atTheTop: Freshness = { depth: 1, keys: false };

/** In the order of attempts: keys can depend on existing data, and deeper texts on each other. */
export const freshnesses: readonly Freshness[] = [
  atEveryDepth,
  { ...atEveryDepth, keys: true },
  atTheTop,
  { ...atEveryDepth, isFar: true },
];

/**
 * A call with fresh texts.
 *
 * @param kept JSON Pointer to the part of the body that must not change.
 */
export function renewed(session: Session, call: Call, label: string, freshness: Freshness, kept?: string): Call {
  const { depth, keys, isFar } = freshness;
  const { operation, body } = call;
  const schema = bodySchemaOf(call);
  if (schema === undefined || body === undefined) return call;
  const isFree = (pointer: string, name: string) => {
    if (pointer.split('/').length - 1 > depth || pointer === kept || pointer.startsWith(`${kept}/`)) return false;
    // What the user passes has no other value.
    if (session.identities.values[name] !== undefined || session.versions.nameIn(operation) === name) return false;
    const kind = kindOfReference(name);
    // `customer` is a reference, too, if its value is the ID of one.
    const other = kindOfName(name) === kindOfPath(operation.path) ? '' : kindOfName(name);
    const isReference = session.pool.ofKind(other, operation).some(({ id }) => id === at(body, pointer));
    if (kind === undefined) return !isOwnId(name) && !isReference;
    // A key that is named after the resource's own type identifies the new resource.
    const isOwnKey = kind === kindOfPath(operation.path) && !/ids?$/i.test(name);
    return isOwnKey || (keys && session.pool.isKey(operation, name));
  };
  const seed = session.seedFor(`${operation.id} ${label}`);
  return { ...call, body: session.values.fresh(schema, body, seed, isFree, isFar === true ? 150 : 1) };
}

/** Replaces every text that an invalid call shares with the valid one, and keeps the violation. */
export function renewedAround(session: Session, broken: Call, whole: Call, label: string, freshness: Freshness): Call {
  const fresh = renewed(session, whole, label, freshness);
  const body = mapped(broken.body, (node, _name, pointer) => {
    const [before, after] = [at(whole.body, pointer), at(fresh.body, pointer)];
    return typeof node === 'string' && node === before && typeof after === 'string' ? after : node;
  });
  return { ...broken, body };
}
