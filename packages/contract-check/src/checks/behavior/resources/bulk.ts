import type { Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { bodySchemaOf, type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject, type JsonObject, sizeOf } from '../../../json.ts';
import { type ItemResult, itemResultsIn } from '../../../judge/outcome.ts';
import {
  isDeleting,
  isOwnId,
  isReadingPost,
  itemOf,
  kindOfPath,
  kindOfReference,
  lastParameter,
} from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type FullList, readCollection } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, need, needs, text, valued } from '../observe.ts';
import { memberAt, ownId, resourceIn, unlikes } from './compare.ts';
import { isDeclaredUnique } from './create.ts';
import { isRead } from './resource-types.ts';

/** An operation that processes many resources in one call and returns a result for each. */
export interface Bulk {
  readonly context: CheckContext;
  readonly operation: Operation;
  /** The body property with the items. */
  readonly member: string;
  readonly items: View;
  /** The operation that reads one of the resources. */
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
    return [{ context, operation, member, items: itemsOf(member), read }];
  });
}

export const bulked: BehaviorCheck<Bulk> = {
  name: 'bulk',
  describe: 'There is one result per item, each belongs to its item, and accepted items are stored as sent.',
  async run(bulk, label) {
    const { items, exchange, results } = need(await accepted(bulk, label));
    const indexes = results.map(({ index }) => index);
    if (results.length !== items.length || new Set(indexes).size < results.length) {
      const actual = `${results.length} results with the indexes ${indexes.join(', ')}`;
      const expected = `${items.length} results, each with its own index`;
      return [differ('bulk-results', bulk.operation, '', { expected, actual, exchanges: [exchange] })];
    }
    const found: Difference[] = [];
    for (const { index, row } of results.filter((one) => !one.isFailure).slice(0, 3))
      if (found.length === 0) found.push(...(await lost(bulk, items[index] ?? {}, row, exchange)));
    return found;
  },
};

export const itemsApart: BehaviorCheck<Bulk> = {
  name: 'apart',
  describe: 'An item that fails affects no other, is not stored, and is counted; two equal items are not both created.',
  async run(bulk, label) {
    const { operation, member, context, items: view } = bulk;
    const first = need(await accepted(bulk, label));
    const { items: stored, body } = first;
    const [a, b] = listIn({ body: freshBody(bulk, body, `${label} apart`) }, member);
    const [old] = stored;
    needs(a !== undefined && b !== undefined && old !== undefined && operation.method === 'POST');
    const known = need(context.requests.of(operation)).call;
    const send = (list: readonly unknown[]) =>
      context.session.send({ ...known, body: { ...Object(body), [member]: list } });
    const count = async () => (await listOf(bulk))?.rows.length;
    const before = await count();
    const exchange = await send([a, old, b]);
    const after = await count();
    const found: Difference[] = [];
    const differs = (check: CheckName, about: string, expected: string, actual: string, by = exchange) =>
      found.push(differ(check, operation, about, { expected, actual, exchanges: [by] }));
    const results = (isSuccess(exchange) && itemResultsIn(exchange)) || [];
    const failed = results.filter(({ isFailure }) => isFailure).map(({ index }) => index);
    const isUnique = view.names.some((name) => isDeclaredUnique(view.member(name)));
    if (!failed.includes(1) && isSuccess(exchange)) {
      // The result can be the resource that exists.
      const isNew =
        new Set(results.map(({ row }) => idIn(row)).filter((id) => id !== undefined)).size === results.length;
      const isKnown = results.some(({ row, index }) => index === 1 && idIn(row) === idIn(first.results[0]?.row ?? {}));
      if (isUnique && isNew && !isKnown)
        differs('unique-ignored', 'stored', 'the item 1 fails, because it exists', responseText(exchange));
      return found;
    }
    if (failed.length > 1)
      differs('bulk-affects', 'others', 'only the item 1 fails, which exists', `${failed.join(', ')} fail`);
    const done = results.length - failed.length;
    if (before !== undefined && after !== undefined && after - before !== done)
      differs('bulk-affects', 'stored', `${done} more, as the response says`, `${after - before} more`);
    const answer = exchange.response.json?.value;
    for (const [name, value] of Object.entries(isObject(answer) ? answer : {})) {
      const expected = /^(?:fail|error|reject)/i.test(name)
        ? failed.length
        : /^(?:created|succe|stored|imported)/i.test(name)
          ? done
          : value;
      if (typeof value === 'number' && value !== expected)
        differs('bulk-results', name, `${name}: ${expected}`, `${name}: ${value}`);
    }
    const [c] = listIn({ body: freshBody(bulk, body, `${label} twins`) }, member);
    const twins = isUnique ? await send([c, c]) : undefined;
    if (twins && isSuccess(twins) && itemResultsIn(twins)?.every(({ isFailure }) => !isFailure))
      differs('unique-ignored', 'twins', 'one of two equal items fails', responseText(twins), twins);
    return found;
  },
};

/** The list of the resources that a bulk operation processes, if it can be read as a whole. */
async function listOf({ context, read }: Bulk): Promise<FullList | undefined> {
  const { operations } = context.session;
  const collection = itemOf(read?.path ?? '')?.collection;
  const list = operations.find(({ method, path }) => method === 'GET' && path === collection);
  const all = list && (await readCollection(context, list));
  return all?.isComplete ? all : undefined;
}

/** Two items like the first of a body, with fresh texts. */
function freshBody({ operation, member, context }: Bulk, whole: unknown, label: string): unknown {
  const { session } = context;
  const schema = need(bodySchemaOf(need(context.requests.of(operation)).call));
  const [item] = listIn({ body: whole }, member);
  // What refers to other resources stays the same, but not what identifies the items.
  const isFree = (_pointer: string, key: string) =>
    key !== 'type' && !isOwnId(key) && (kindOfReference(key) === undefined || session.pool.isKey(operation, key));
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
async function accepted(bulk: Bulk, label: string): Promise<Accepted | undefined> {
  const { operation, member, context } = bulk;
  const { session, requests } = context;
  const known = need(requests.of(operation)).call;
  const schema = need(bodySchemaOf(known));
  const all = [known, ...(await requests.variants(operation))];
  const fullest = all.reduce((most, call) => (sizeOf(call.body) > sizeOf(most.body) ? call : most));
  const body = freshBody(bulk, fullest.body, label);
  const isNew = operation.method === 'POST' && session.validators.accepts(schema, body, 'request');
  for (const call of isNew ? [{ ...fullest, body }, known] : [known]) {
    const exchange = await session.send(call);
    const results = isSuccess(exchange) ? itemResultsIn(exchange) : undefined;
    if (results?.some(({ isFailure }) => !isFailure))
      return { body: call.body, items: listIn(call, member).filter(isObject), exchange, results };
  }
  return undefined;
}

function listIn({ body }: Pick<Call, 'body'>, member: string): unknown[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items : [];
}

/** The ID in the result of an item, or in the resource that it contains. */
const idIn = (result: JsonObject) =>
  ownId(result) ??
  Object.values(result)
    .filter(isObject)
    .map(ownId)
    .find((one) => one !== undefined);

/** The parts of an item that a read of it does not show. */
async function lost(bulk: Bulk, item: JsonObject, result: JsonObject, by: Exchange): Promise<Difference[]> {
  const { context, operation, read, items } = bulk;
  const id = idIn(result);
  const known = read && context.requests.of(read)?.call;
  const name = read && lastParameter(read.path);
  if (read === undefined || known === undefined || name === undefined || (id ?? undefined) === undefined) return [];
  const exchange = await context.session.send({ ...known, path: { ...known.path, [name]: id } });
  const view = View.ofResponse(context.session.document, read);
  const exchanges = [by, exchange];
  if (exchange.response.status === 404)
    return [differ('bulk-lost', operation, '', { expected: text(item), actual: responseText(exchange), exchanges })];
  if (view.isEmpty || !isSuccess(exchange)) return [];
  return unlikes({ value: item, view: items }, { value: resourceIn(exchange), view }).map((one) => {
    const about = memberAt(one.pointer);
    return differ('bulk-lost', operation, about, { ...valued(about, one.sent, one.shown), exchanges });
  });
}
