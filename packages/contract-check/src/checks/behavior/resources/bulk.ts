import { type Operation, readAt } from '../../../document/operation.ts';
import { bodySchemaOf, type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import { NotSent } from '../../../http/gate.ts';
import { isObject, type JsonObject, sizeOf } from '../../../json.ts';
import { type ItemResult, itemResultsIn } from '../../../judge/outcome.ts';
import { withUnknownId } from '../../../run/ids.ts';
import {
  isDeleting,
  isOwnId,
  isReadingPost,
  itemOf,
  kindOfPath,
  kindOfReference,
  lastParameter,
  singular,
} from '../../../run/names.ts';
import { withoutCollection } from '../../../run/pool.ts';
import { View } from '../../../schema/view.ts';
import { type CheckContext, type Differences, differ, differIn, need, needs, text } from '../../observe.ts';
import { Listing } from '../lists/listing.ts';
import { isGone, notKept, ownId, resourceIn } from './compare.ts';
import { isDeclaredUnique, withUnknownReferences } from './create.ts';
import { ResourceHarness } from './resource.ts';
import { isRead, type ResourceType, resourceTypesOf } from './resource-types.ts';

/** An operation that processes many resources in one call and returns a result for each. */
interface Bulk {
  readonly context: CheckContext;
  readonly operation: Operation;
  readonly member: string;
  readonly items: View;
  /** The property of an item that has the resource, as `book` of `{ requests: [{ bookId, book }] }`; empty if the item is the resource. */
  readonly inner: string;
  readonly read: Operation | undefined;
}

export function bulksOf(context: CheckContext): Bulk[] {
  const { document, operations } = context.session;
  return operations.flatMap((operation): Bulk[] => {
    const { method, path } = operation;
    const isBulk = ['POST', 'PUT'].includes(method) && !isReadingPost(operation) && !isDeleting(operation);
    const view = View.ofRequest(document, operation);
    const itemsOf = (name: string) => view.member(name).items;
    const [member, ...others] = view.names.filter((name) =>
      itemsOf(name).parts.some(({ properties }) => isObject(properties)),
    );
    if (!isBulk || path.includes('{') || member === undefined || others.length > 0 || view.names.length > 2) return [];
    const kind = kindOfPath(path);
    const read = operations.find(
      (one) => isRead(document, one) && kindOfPath(one.path) === kind && itemOf(one.path) !== undefined,
    );
    const items = itemsOf(member);
    const wraps = items.names.filter((name) => singular(name) === kind || /^(?:data|resource|body|value)$/i.test(name));
    const [inner = ''] = wraps.filter((name) =>
      items.member(name).parts.some(({ properties }) => isObject(properties)),
    );
    return [{ context, operation, member, items, inner, read }];
  });
}

/** There is one result per item, each belongs to its item, and accepted items are stored as sent. */
export async function* bulked(bulk: Bulk, label: string): Differences {
  const { items, exchange, results } = await accepted(bulk, label);
  const indexes = results.map(({ index }) => index);
  const facts = { expected: `${items.length} results with an index of their own`, actual: indexes.join(', ') };
  if (results.length !== items.length || new Set(indexes).size < results.length)
    return yield differ('bulk-results', bulk.operation, '', { ...facts, exchanges: [exchange] });
  for (const { index, row } of results.filter((one) => !one.isFailure).slice(0, 3))
    yield* lost(bulk, items[index] ?? {}, row, exchange);
}

/** An item that fails affects no other, is not stored, and is counted; two equal items are not both created. */
export async function* itemsApart(bulk: Bulk, label: string): Differences {
  const { operation, member, context, items: view } = bulk;
  const first = await accepted(bulk, label);
  const { items: stored, body } = first;
  const [old] = stored;
  needs(old !== undefined && operation.method === 'POST');
  yield* itemApart(bulk, first, need(old), label);
  const [c] = listIn({ body: freshBody(bulk, body, `${label} lost`) }, member).filter(isObject);
  for (const lost of withUnknownReferences(context.session, operation, need(c), view.names, label).slice(0, 1))
    yield* itemApart(bulk, first, lost.body, `${label} ${lost.name}`);
}

/** Sends an item that may be rejected between two that are not. */
async function* itemApart(bulk: Bulk, { body, results: old }: Accepted, item: JsonObject, label: string): Differences {
  const { operation, member, context, items: view } = bulk;
  const [a, b] = listIn({ body: freshBody(bulk, body, `${label} apart`) }, member);
  needs(a !== undefined && b !== undefined);
  const known = need(context.requests.of(operation)).call;
  const send = (list: readonly unknown[]) =>
    context.session.send({ ...known, body: { ...Object(body), [member]: list } });
  const before = await countOf(bulk);
  const exchange = await send([a, item, b]);
  const after = await countOf(bulk);
  const facts = (expected: string, actual: string) => ({ expected, actual, exchanges: [exchange] });
  const results = (isSuccess(exchange) && itemResultsIn(exchange)) || [];
  const failed = results.filter(({ isFailure }) => isFailure).map(({ index }) => index);
  const isUnique = view.names.some((name) => isDeclaredUnique(view.member(name)));
  const notUnique = (about: string, expected: string, by: Exchange) =>
    differ('unique-ignored', operation, about, { expected, exchanges: [by] });
  if (!failed.includes(1) && isSuccess(exchange)) {
    // The result can be the resource that exists.
    const ids = results.map(({ row }) => idIn(row)).filter((id) => id !== undefined);
    const isKnown = results.some(({ row, index }) => index === 1 && idIn(row) === idIn(old[0]?.row ?? {}));
    if (isUnique && new Set(ids).size === results.length && !isKnown)
      yield notUnique('stored', 'the item 1 fails, because it exists', exchange);
    return;
  }
  if (failed.length > 1)
    yield differ('bulk-affects', operation, 'others', facts('only the item 1 fails', `${failed.join(', ')} fail`));
  const done = results.length - failed.length;
  if (before !== undefined && after !== undefined && after - before !== done)
    yield differ('bulk-affects', operation, 'stored', facts(`${done} more, as it says`, `${after - before} more`));
  for (const [name, value] of Object.entries(Object(exchange.response.json?.value))) {
    const isOfFailed = /^(?:fail|error|reject)/i.test(name);
    const expected = isOfFailed ? failed.length : /^(?:created|succe|stored|imported)/i.test(name) ? done : value;
    if (typeof value === 'number' && value !== expected)
      yield differIn('bulk-results', operation, name, [expected, value], [exchange]);
  }
  const [c] = listIn({ body: freshBody(bulk, body, `${label} twins`) }, member);
  const twins = isUnique ? await send([c, c]) : undefined;
  if (twins && isSuccess(twins) && itemResultsIn(twins)?.every(({ isFailure }) => !isFailure))
    yield notUnique('twins', 'one of two equal items fails', twins);
}

/** How many of the resources exist that a bulk operation processes, if their list can be read as a whole. */
async function countOf({ context, read }: Bulk): Promise<number | undefined> {
  const list = readAt(context.session.operations, itemOf(read?.path ?? '')?.collection);
  const all = list && (await Listing.of(context, list)?.walk());
  return all?.isComplete ? all.rows.length : undefined;
}

/** Two items like the first of a body, with fresh texts. */
function freshBody({ operation, member, context, inner }: Bulk, whole: unknown, label: string): unknown {
  const { session } = context;
  const schema = need(bodySchemaOf(need(context.requests.of(operation)).call));
  const [item] = listIn({ body: whole }, member);
  // What refers to other resources stays the same, but not what identifies the items.
  const isFree = (_pointer: string, key: string) =>
    key !== 'type' &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined ||
      session.pool.isKey(operation, key) ||
      (inner !== '' && kindOfReference(key) === kindOfPath(operation.path)));
  const twice = { ...Object(whole), [member]: [item, item] };
  return session.values.fresh(schema, twice, session.seedFor(`${operation.id} ${label}`), isFree);
}

interface Accepted {
  readonly body: unknown;
  readonly items: readonly JsonObject[];
  readonly exchange: Exchange;
  readonly results: readonly ItemResult[];
}

/** Sends items that are accepted: two new ones if possible, otherwise the known ones. */
async function accepted(bulk: Bulk, label: string): Promise<Accepted> {
  const { operation, member, context } = bulk;
  const { session, requests } = context;
  const known = need(requests.of(operation)).call;
  const schema = need(bodySchemaOf(known));
  const all = [known, ...(await requests.variants(operation))];
  const fullest = all.reduce((most, call) => (sizeOf(call.body) > sizeOf(most.body) ? call : most));
  const body = freshBody(bulk, fullest.body, label);
  const isNew = operation.method === 'POST' && session.validators.accepts(schema, body);
  for (const call of isNew ? [{ ...fullest, body }, known] : [known]) {
    const exchange = await session.send(call);
    const results = isSuccess(exchange) ? itemResultsIn(exchange) : undefined;
    if (results?.some(({ isFailure }) => !isFailure))
      return { body: call.body, items: listIn(call, member).filter(isObject), exchange, results };
  }
  throw new NotSent('no item is accepted');
}

function listIn({ body }: Pick<Call, 'body'>, member: string): unknown[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items : [];
}

/** The ID in the result of an item, or in the resource that it contains. */
const idIn = (result: JsonObject) =>
  [result, ...Object.values(result).filter(isObject)]
    .map((one) => ownId(one) ?? (one.name === withoutCollection(one.name) ? undefined : withoutCollection(one.name)))
    .find((one) => one !== undefined);

/** The parts of an item that a read of it does not show. */
async function* lost(bulk: Bulk, item: JsonObject, result: JsonObject, by: Exchange): Differences {
  const { context, operation, read, items, inner } = bulk;
  const id = idIn(result);
  const known = read && context.requests.of(read)?.call;
  const name = read && lastParameter(read.path);
  if (read === undefined || known === undefined || name === undefined || (id ?? undefined) === undefined) return;
  const exchange = await context.session.send({ ...known, path: { ...known.path, [name]: id } });
  const exchanges = [by, exchange];
  if (exchange.response.status === 404) yield differ('bulk-lost', operation, '', { expected: text(item), exchanges });
  if (!isSuccess(exchange)) return;
  const shown = { row: resourceIn(exchange), view: View.ofResponse(context.session.document, read) };
  const sent = inner === '' ? { value: item, view: items } : { value: item[inner], view: items.member(inner) };
  yield* notKept('bulk-lost', operation, sent, shown, exchanges);
}

/** An operation that deletes the resources that a list of IDs names. */
interface BulkRemoval extends Pick<Bulk, 'context' | 'operation' | 'member'> {
  readonly type: ResourceType;
}

export function bulkRemovalsOf(context: CheckContext): BulkRemoval[] {
  const { session } = context;
  const types = resourceTypesOf(session).filter(({ read }) => read !== undefined);
  return session.operations.flatMap((operation) => {
    const type = types.find(({ kind }) => kind === kindOfPath(operation.path));
    const view = View.ofRequest(session.document, operation);
    const isIds = (name: string) => /^ids$/i.test(name) || kindOfReference(name) === type?.kind;
    const member = view.names.find((name) => isIds(name) && view.member(name).isList);
    if (type === undefined || member === undefined || operation.path.includes('{') || !isDeleting(operation)) return [];
    return [{ context, operation, member, type }];
  });
}

/** Exactly the resources that the IDs name are deleted, with a result for each ID in order; one does not exist. */
export async function* removedInBulk({ context, operation, member, type }: BulkRemoval, label: string): Differences {
  const { requests, session } = context;
  const known = need(requests.of(operation)).call;
  const read = need(type.read);
  const harness = new ResourceHarness(context, type, need(requests.of(type.create)));
  needs((await harness.start()) !== undefined && harness.isReadable);
  const created = [await harness.createAndRead(label), await harness.createAndRead(`${label} second`)];
  const kept = await harness.createAndRead(`${label} kept`);
  const [first, second] = created.map(({ resource }) => resource.id);
  const call = need(withUnknownId(session, need(harness.callOn(read, kept.resource)), session.seedFor(label)));
  const send = (ids: readonly unknown[]) => session.send({ ...known, body: { ...Object(known.body), [member]: ids } });
  const ids = [first, call.path[lastParameter(read.path) ?? ''], second];
  const whole = await send(ids);
  const by = isSuccess(whole) ? whole : await send([first, second]);
  needs(isSuccess(by));
  const facts = (expected: string, actual: string) => ({ expected, actual, exchanges: [by] });
  for (const { resource } of created) {
    const after = need(await harness.read(resource));
    const deleted = { expected: `${text(resource.id)} is deleted`, exchanges: [by, after] };
    if (!isGone(after)) yield differ('bulk-lost', operation, 'deleted', deleted);
  }
  const other = need(await harness.read(kept.resource));
  const isKept = { expected: `${text(kept.resource.id)} is kept`, exchanges: [by, other] };
  if (isGone(other)) yield differ('bulk-affects', operation, 'others', isKept);
  const results = by === whole ? (itemResultsIn(by) ?? []) : [];
  if (results.length !== ids.length) return;
  if (results[1]?.isFailure === false)
    yield differ('bulk-results', operation, 'unknown', facts('a failure', text(results[1].row)));
  const order = results.map(({ row }) => ownId(row));
  if (order.every((id) => id !== undefined) && order.join() !== ids.join())
    yield differ('bulk-results', operation, 'order', facts(ids.join(', '), order.join(', ')));
}
