import { hasItemErrors } from '../checks/outcome.ts';
import { bodySchemaOf, type Call } from '../http/call.ts';
import { at, mapped, put } from '../json.ts';
import { branchesOf } from '../schema/spots.ts';
import { withKnownIds } from './ids.ts';
import { isOwnId, kindOfReference } from './names.ts';
import type { Session } from './session.ts';

/** A call with a body for each branch of the schema's choices, where such calls succeed. */
export async function branchCallsOf(session: Session, call: Call | undefined): Promise<Call[]> {
  const schema = call === undefined ? undefined : bodySchemaOf(call);
  if (call?.body === undefined || schema === undefined || call.operation.method === 'DELETE') return [];
  const { operation } = call;
  const { values, validators } = session;
  const found: Call[] = [];
  const isNear = ({ pointer }: { readonly pointer: string }) => pointer.split('/').length <= 3;
  const seed = session.seedFor(`${operation.id} branches`);
  const branches = branchesOf(values, schema, seed).filter(isNear);
  for (const { pointer, value } of branches.slice(0, 10)) {
    // Known good siblings are more likely to be accepted in another branch than generated ones.
    const grafted = put(call.body, pointer, at(value, pointer));
    for (const whole of pointer === '' ? [value] : [grafted, value]) {
      const body = withKnownIds(session, operation, whole);
      if (session.isOver || !validators.accepts(schema, body, 'request')) continue;
      const exchange = await session.send({ ...call, body });
      const { status } = exchange.response;
      if (status < 200 || status >= 300 || hasItemErrors(exchange)) continue;
      found.push({ ...call, body });
      break;
    }
  }
  return found;
}

/** Which texts of a body are replaced to avoid conflicts with earlier calls. */
interface Freshness {
  readonly depth: number;
  /** Whether to replace keys that identify resources, too. */
  readonly keys: boolean;
}

/** Ordered by how much changes, least first. */
export type Freshnesses = readonly [Freshness, ...Freshness[]];

/** Replaces all texts except keys. */
export const atEveryDepth: Freshness = { depth: 9, keys: false };

/**
 * Conflicting values are usually at the top level. Deeper texts may depend on each other, and keys on existing data, so
 * they change only if needed.
 */
export const freshnesses: Freshnesses = [{ depth: 1, keys: false }, atEveryDepth, { ...atEveryDepth, keys: true }];

/**
 * A call with fresh texts.
 *
 * @param kept JSON Pointer to the part of the body that must not change.
 */
export function renewed(session: Session, call: Call, label: string, { depth, keys }: Freshness, kept?: string): Call {
  const { operation, body } = call;
  const schema = bodySchemaOf(call);
  if (schema === undefined || body === undefined) return call;
  const isFree = (at: string, key: string) =>
    at.split('/').length - 1 <= depth &&
    (kept === undefined || (at !== kept && !at.startsWith(`${kept}/`))) &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined || (keys && session.pool.isKey(operation, key)));
  return { ...call, body: session.values.fresh(schema, body, session.seedFor(`${operation.id} ${label}`), isFree) };
}

/**
 * Applies fresh texts to an invalid call: every text that it shares with the valid call is replaced, and the violation
 * is kept.
 */
export function renewedAround(session: Session, broken: Call, whole: Call, label: string, freshness: Freshness): Call {
  const fresh = renewed(session, whole, label, freshness);
  const body = mapped(broken.body, (node, _name, pointer) => {
    const [before, after] = [at(whole.body, pointer), at(fresh.body, pointer)];
    return typeof node === 'string' && node === before && typeof after === 'string' ? after : node;
  });
  return { ...broken, body };
}
