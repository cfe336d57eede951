import type { Operation } from '../document/operation.ts';
import { isObject, mapped } from '../json.ts';
import { isDestructive, isOwnId, kindOfName, kindOfReference, kindsOfOperation, singular } from './names.ts';
import { identityIn, idOf } from './pool.ts';
import type { Session } from './session.ts';
import { unlikelyIds } from './unknown-id.ts';

/**
 * Replaces IDs in a value with IDs of existing resources.
 *
 * @param options.keepsKeys for new resources: keeps their own keys, and makes sure that these are unused.
 * @param options.byName also replaces texts in properties that are named like a known resource: `environment`.
 */
export function withKnownIds(
  session: Session,
  operation: Operation,
  value: unknown,
  { keepsKeys = false, byName = false } = {},
): unknown {
  const { pool, providedValues } = session;
  const onlyCreated = isDestructive(operation);
  const knownFor = (name: string, owner: string | undefined): unknown[] => {
    // A property of a nested object belongs to the nested type: the `systemRef` of a `client`.
    const resources = owner === undefined ? [] : pool.ofKind(owner);
    if (resources.length > 0) return resources.map(({ row }) => (isOwnId(name) ? idOf(row) : row[name]));
    return pool.forMember(operation, name, onlyCreated && isOwnId(name));
  };
  const visit = (node: unknown, name: string | undefined, owner: string | undefined): unknown => {
    if (Array.isArray(node)) return node.map((item) => visit(item, name, owner));
    if (isObject(node)) {
      const kind = typeof node.type === 'string' ? singular(node.type) : owner;
      return Object.fromEntries(
        Object.entries(node).map(([key, member]) => [
          key,
          visit(member, key, isObject(member) ? singular(key) : key === 'type' ? owner : kind),
        ]),
      );
    }
    if (name === undefined || !['string', 'number'].includes(typeof node)) return node;
    if (providedValues[name] !== undefined) return providedValues[name];
    const isReference = kindOfReference(name) !== undefined || isOwnId(name);
    if (keepsKeys && isOwnId(name)) return unused(session, node);
    // The `type` of a `tag` can be one of the tag types.
    const kinds = [...(owner === undefined ? kindsOfOperation(session.document, operation) : [owner]), ''];
    const namesakes = kinds.map((kind) => pool.ofKind(`${kind}${kindOfName(name)}`)).find((some) => some.length > 0);
    const named = byName && !isReference ? (namesakes ?? []).map((one) => identityIn(one, name)) : [];
    if (named.length > 0) return named.find((one) => typeof one === typeof node) ?? node;
    if (!isReference || (keepsKeys && pool.isKey(operation, name))) return node;
    const known = knownFor(name, owner).filter((one) => typeof one === typeof node);
    return known.length === 0 || known.includes(node) ? node : known[0];
  };
  return visit(value, undefined, undefined);
}

/** Returns an unused ID, so that a create does not overwrite an existing resource. */
function unused(session: Session, id: unknown): unknown {
  if (!session.pool.has(id)) return id;
  const [other = id] = unlikelyIds(id, session.seedFor(`unused ${id} 0`));
  return other;
}

/** Removes IDs of unknown resources: an optional reference can be omitted. */
export function withoutUnknownIds({ pool }: Session, operation: Operation, value: unknown): unknown {
  let isOther = false;
  const isUnknownId = (name: string, member: unknown) =>
    typeof member === 'string' &&
    (kindOfReference(name) !== undefined || isOwnId(name)) &&
    !pool.forMember(operation, name, false).includes(member);
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (!isObject(node)) return node;
    const kept = Object.entries(node).filter(([name, member]) => !isUnknownId(name, member));
    isOther ||= kept.length < Object.keys(node).length;
    return Object.fromEntries(kept.map(([name, member]) => [name, visit(member)]));
  };
  const without = visit(value);
  return isOther ? without : value;
}

/**
 * Replaces references in a value with other known resources.
 *
 * @param turn index of the replacement.
 */
export function withOtherIds({ pool }: Session, operation: Operation, value: unknown, turn: number): unknown {
  return mapped(value, (node, name) => {
    if (kindOfReference(name) === undefined || !['string', 'number'].includes(typeof node)) return node;
    const others = pool.forMember(operation, name, false).filter((one) => one !== node && typeof one === typeof node);
    return others[turn] ?? node;
  });
}
