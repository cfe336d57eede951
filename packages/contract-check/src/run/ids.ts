import { type Operation, pathParameter } from '../document/operation.ts';
import { shapeOf } from '../document/shape.ts';
import type { Call } from '../http/call.ts';
import { isKey, isNumeric, isObject, type JsonObject, mapped } from '../json.ts';
import {
  isDestructive,
  isOwnId,
  kindOfName,
  kindOfPath,
  kindOfReference,
  kindsOfOperation,
  lastParameter,
  singular,
} from './names.ts';
import { ifSent } from './parallel.ts';
import { identityIn, idOf } from './pool.ts';
import type { Session } from './session.ts';
import { ownerOf } from './versions.ts';

/** IDs that do not exist, for 404 responses and creation with PUT. They must never change or delete existing data. */

/** Unlikely IDs in the format of a known one, least likely to exist first. */
export function unlikelyIds(known: unknown, seed: number): unknown[] {
  const dice = Math.abs(seed);
  if (typeof known === 'number')
    return [
      900_000_000 + (dice % 90_000_000),
      80_000_000 + (dice % 9_000_000),
      700_000 + (dice % 90_000),
      30_000 + (dice % 2000),
    ];
  if (typeof known === 'bigint') return [known + 1_000_000_007n + BigInt(dice)];
  if (typeof known !== 'string' || !hexadecimalEnd.test(known)) return [];
  return [known.replace(hexadecimalEnd, (dice % 0xffffffff).toString(16).padStart(8, '0'))];
}

const hexadecimalEnd = /[\da-f]{8}$/i;

/** The call with an unknown ID in place of the last parameter of its path; undefined if there is none. */
export function withUnknownId(session: Session, call: Call, seed: number): Call | undefined {
  const name = lastParameter(call.operation.path);
  const parameter = pathParameter(call.operation, name);
  const id = parameter && unknownId(session, parameter.schema, call.path[parameter.name], seed);
  return parameter && id !== undefined ? { ...call, path: { ...call.path, [parameter.name]: id } } : undefined;
}

/** An ID that a schema allows and that is unlikely to exist; undefined if the schema allows no other value. */
export function unknownId(session: Session, schema: JsonObject, known: unknown, seed: number): unknown {
  const { document, values, validators } = session;
  if (shapeOf(document, schema).enum !== undefined) return undefined;
  const candidates = [
    ...unlikelyIds(known, seed),
    ...(known === undefined ? [] : [values.fresh(schema, known, seed)]),
    values.sample(schema, 'some', seed)?.value,
  ];
  const found = candidates.find((one) => one !== undefined && one !== known && validators.accepts(schema, one));
  if (isUnlikely(found) && !session.pool.has(found)) session.footprint.noteAbsent(String(found));
  return found;
}

/**
 * Whether a call cannot affect data from before the run: it only reads, or its path names a resource that the run
 * created or that does not exist. If no operation reads the resource, only an ID that is practically unused is safe.
 *
 * @param known a safe call: its path values are safe, too.
 */
export async function isHarmless(session: Session, call: Call, known?: Call): Promise<boolean> {
  const { operation, path } = call;
  if (operation.isReading) return true;
  const foreign = Object.entries(path).filter(
    ([name, value]) => value !== known?.path[name] && !session.pool.isCreated(operation, name, path),
  );
  if (foreign.length === 0 && call.raw?.path === undefined) return true;
  const owner = ownerOf(session.operations, call);
  if (owner === undefined) return foreign.some(([, value]) => isUnlikely(value));
  const status = (await ifSent(() => session.read(owner.target, owner.read)))?.response.status ?? 0;
  const isAbsent = status >= 400 && status < 500 && !inconclusive.includes(status);
  if (isAbsent) session.footprint.noteAbsent(owner.target);
  return isAbsent;
}

/** Statuses that do not reveal whether a resource exists. */
const inconclusive: readonly number[] = [401, 403, 405, 406, 429];

function isUnlikely(value: unknown): boolean {
  // A server may parse the leading digits of a value that is not an integer.
  if (typeof value === 'bigint') return true;
  return typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 80_000_000
    : /^[\da-f]{8}-[\da-f-]{27}$/i.test(String(value));
}

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
  const { pool, identities } = session;
  const onlyCreated = isDestructive(operation);
  const knownFor = (name: string, owner: string | undefined): unknown[] => {
    // A property of a nested object belongs to the nested type: the `systemRef` of a `client`.
    const resources = owner === undefined ? [] : pool.ofKind(owner, operation);
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
    if (name === undefined || !isKey(node)) return node;
    if (identities.values[name] !== undefined) return identities.values[name];
    const isReference = kindOfReference(name) !== undefined || isOwnId(name);
    if (keepsKeys && isOwnId(name)) return unused(session, node);
    // The `type` of a `tag` can be one of the tag types.
    const kinds = [...(owner === undefined ? kindsOfOperation(session.document, operation) : [owner]), ''];
    const ofKind = (kind: string) => pool.ofKind(`${kind}${kindOfName(name)}`, operation);
    const namesakes = kinds.map(ofKind).find((some) => some.length > 0);
    const named = byName && !isReference ? (namesakes ?? []).map((one) => identityIn(one, name)) : [];
    if (named.length > 0) return named.find((one) => isAlike(one, node)) ?? node;
    if (!isReference || (keepsKeys && pool.isKey(operation, name))) return node;
    const known = knownFor(name, owner).filter((one) => isAlike(one, node));
    return known.length === 0 || known.includes(node) ? node : known[0];
  };
  return visit(value, undefined, undefined);
}

/** Whether a name without `Id` is that of another type of resource: `supplier`, where suppliers are known. */
export function namesResource({ pool }: Session, operation: Operation, name: string): boolean {
  const kind = kindOfName(name);
  return (
    kindOfReference(name) === undefined &&
    kind !== kindOfPath(operation.path) &&
    pool.ofKind(kind, operation).length > 0
  );
}

const isAlike = (one: unknown, other: unknown) => typeof one === typeof other || (isNumeric(one) && isNumeric(other));

/** Returns an unused ID, so that a create does not overwrite an existing resource. */
function unused(session: Session, id: unknown): unknown {
  if (!session.pool.has(id)) return id;
  const [other = id] = unlikelyIds(id, session.seedFor(`unused ${id} 0`));
  return other;
}

/**
 * Replaces references in a value with other known resources.
 *
 * @param turn index of the replacement.
 */
export function withOtherIds({ pool }: Session, operation: Operation, value: unknown, turn: number): unknown {
  return mapped(value, (node, name) => {
    if (kindOfReference(name) === undefined || !isKey(node)) return node;
    const others = pool.forMember(operation, name, false).filter((one) => one !== node && isAlike(one, node));
    return others[turn] ?? node;
  });
}
