import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import {
  isDeleting,
  isNoReference,
  isOwnId,
  isReadingPost,
  kindOfPath,
  kindOfReference,
  lastParameter,
  rowsSchema,
} from '../../../run/names.ts';
import { requestSchema, responseSchema, View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type ItemResult, itemResultsIn } from '../../outcome.ts';
import { readCollection } from '../lists/listing.ts';
import { isScalar, ownId, resourceIn } from './compare.ts';
import { declaredKind, hasRows } from './resource-types.ts';

/** An operation that processes many resources in one call and returns a result for each. */
export interface Bulk {
  readonly context: CheckContext;
  readonly kind: string;
  readonly operation: Operation;
  /** The body property with the items: objects, or the IDs to delete. */
  readonly member: string;
  readonly items: View;
  readonly read: Operation | undefined;
  readonly lists: readonly Operation[];
}

export function bulksOf(context: CheckContext): Bulk[] {
  const { document, operations } = context.session;
  return operations.flatMap((operation): Bulk[] => {
    const { method, path } = operation;
    const isDelete = isDeleting(operation);
    if (!['POST', 'PUT', 'DELETE'].includes(method) || isReadingPost(operation) || path.includes('{')) return [];
    const view = View.ofRequest(document, operation);
    const { names } = view;
    const itemsOf = (name: string) => view.member(name).items;
    const [member, ...others] = names.filter((name) =>
      itemsOf(name).parts.some(
        ({ properties, type }) =>
          isObject(properties) || (isDelete && /ids$/i.test(name) && /string|integer/.test(`${type}`)),
      ),
    );
    if (member === undefined || others.length > 0 || names.length > 2) return [];
    const declared = declaredKind(operation, isDelete ? 'deletes' : method === 'PUT' ? 'updates' : 'creates');
    const kind = declared ?? kindOfPath(path);
    if (kind === false || kind === undefined) return [];
    const ofKind = operations.filter(
      (one) => (one.method === 'GET' || isReadingPost(one)) && kindOfPath(one.path) === kind,
    );
    const read = ofKind.find(
      (one) => one.method === 'GET' && one.path.endsWith(`{${lastParameter(one.path)}}`) && !hasRows(document, one),
    );
    const lists = ofKind.filter((one) => hasRows(document, one));
    return [{ context, kind, operation, member, items: itemsOf(member), read, lists }];
  });
}

export interface AcceptedBulk {
  readonly call: Call;
  readonly exchange: Exchange;
  readonly results: readonly ItemResult[];
}

/** How to derive new items from an accepted one. */
interface ItemWay {
  /** The keys of the items: new, omitted, or unchanged. */
  readonly keys: 'new' | 'none' | 'known';
  /** Whether to add optional strings and numbers. */
  readonly isFull: boolean;
  /** Whether to leave all other values unchanged, because some may belong to an undeclared list. */
  readonly isBare?: boolean;
}

/** Sends items that are accepted: new ones if possible, otherwise known ones. */
export async function take(bulk: Bulk, label: string): Promise<AcceptedBulk | undefined> {
  const ways: readonly ItemWay[] = [
    { keys: 'new', isFull: true },
    { keys: 'new', isFull: false },
    { keys: 'new', isFull: false, isBare: true },
    { keys: 'none', isFull: true },
    { keys: 'known', isFull: true },
    { keys: 'known', isFull: false },
  ];
  for (const way of bulk.operation.method === 'POST' ? ways : ways.slice(-1)) {
    const call = twoItems(bulk, label, way);
    const exchange = call && (await bulk.context.session.send(call));
    const results = exchange && isSuccess(exchange) ? itemResultsIn(exchange) : undefined;
    if (call && exchange && results?.some(({ isFailure }) => !isFailure)) return { call, exchange, results };
  }
  return undefined;
}

/** The known call with two items derived from its own. */
export function twoItems(bulk: Bulk, label: string, { keys, isFull, isBare = false }: ItemWay): Call | undefined {
  const { operation, member, items, context } = bulk;
  const { session, baselines } = context;
  const known = baselines.of(operation);
  const schema = requestSchema(operation);
  const shape = items.target;
  if (known === undefined || schema === undefined || shape === undefined || !isObject(known.call.body))
    return undefined;
  const failed = (itemResultsIn(known.exchange) ?? []).filter((one) => one.isFailure).map(({ index }) => index);
  const good = listIn(known.call, member)
    .filter(isObject)
    .filter((_item, index) => !failed.includes(index));
  const [first] = good;
  if (first === undefined) return undefined;
  const isFree = (pointer: string, key: string) =>
    (!isBare || (isKey(key) && pointer.split('/').length === 2)) &&
    key !== 'type' &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined || (keys === 'new' && isKey(key))) &&
    (keys === 'new' || !isKey(key));
  const isIdentity = (name: string) => isKey(name) && name !== 'type';
  const part = (item: JsonObject, test: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => test(name)));
  const keyOf = (item: JsonObject) => JSON.stringify(part(item, isIdentity));
  const bare = part(first, (name) => !isIdentity(name));
  const apart = [...new Map(good.map((item) => [keyOf(item), item])).values()].slice(0, 2);
  const chosen = { new: [first, first], none: [bare, bare], known: keyOf(first) === '{}' ? [first, first] : apart }[
    keys
  ];
  const most = session.values.sample(shape, 'request', 'most', session.seedFor(`${operation.id} full`))?.value;
  const more = Object.entries(isFull && isObject(most) ? most : {}).filter(
    ([name, value]) => isScalar(value) && isNoReference(name) && !isKey(name),
  );
  const fresh = chosen.map((item, index) => {
    const seed = session.seedFor(`${operation.id} ${label} ${index} ${keys}`);
    return session.values.fresh(shape, { ...Object.fromEntries(more), ...item }, seed, isFree);
  });
  const body = { ...known.call.body, [member]: fresh };
  return session.validators.accepts(schema, body, 'request') ? { ...known.call, body } : undefined;
}

/** Whether a property may identify an existing resource. */
export function isKey(name: string): boolean {
  return isOwnId(name) || /(?:Ref|_ref|Key|_key|^key|^code|^sku|Code|^externalId|^type)$/.test(name);
}

export function listIn({ body }: Call, member: string): unknown[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items : [];
}

/** The ID in a result: its own, or that of the embedded resource. */
export function idIn(row: JsonObject): unknown {
  const embedded = Object.values(row).filter(isObject).map(ownId);
  return ownId(row) ?? embedded.find((id) => id !== undefined);
}

export interface Observed {
  readonly by: Operation;
  readonly exchange: Exchange;
  /** Undefined if the item is not found. */
  readonly row: JsonObject | undefined;
  readonly view: View;
}

/** Reads an item by the ID in its result. */
export async function observed(
  { context, read, lists }: Bulk,
  item: JsonObject,
  result: JsonObject,
): Promise<Observed | undefined> {
  const { session, baselines } = context;
  const known = read && baselines.of(read)?.call;
  const name = read && lastParameter(read.path);
  const id = idIn(result) ?? undefined;
  if (id === undefined) return undefined;
  if (read !== undefined && known !== undefined && name !== undefined) {
    const exchange = await session.send({ ...known, path: { ...known.path, [name]: id } });
    const view = View.ofResponse(session.document, read);
    if (view.isEmpty || (!isSuccess(exchange) && exchange.response.status !== 404)) return undefined;
    return { by: read, exchange, row: isSuccess(exchange) ? resourceIn(exchange) : undefined, view };
  }
  for (const list of lists) {
    // The path parameters are taken from the item: `type` for `/records/{type}`.
    const names = list.parameters.filter((one) => one.in === 'path').map((one) => one.name);
    if (!names.every((one) => typeof item[one] === 'string')) continue;
    const all = await readCollection(context, list, Object.fromEntries(names.map((one) => [one, item[one]])));
    const schema = rowsSchema(session.document, responseSchema(list))?.schema;
    if (all === undefined) continue;
    const row = all.rows.find((one) => Object.entries(one).some(([key, value]) => isOwnId(key) && value === id));
    if (schema === undefined || (row === undefined && !all.isComplete)) return undefined;
    return { by: list, exchange: all.exchange, row, view: View.of(session.document, schema) };
  }
  return undefined;
}
