import type { Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
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
import { type BehaviorCheck, type Difference, differ, need, text, valued } from '../observe.ts';
import { memberAt, ownId, resourceIn, unlikes } from './compare.ts';
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

interface Accepted {
  readonly items: readonly JsonObject[];
  readonly exchange: Exchange;
  readonly results: readonly ItemResult[];
}

/** Sends items that are accepted: two new ones if possible, otherwise the known ones. */
async function accepted({ operation, member, context }: Bulk, label: string): Promise<Accepted | undefined> {
  const { session, requests } = context;
  const known = need(requests.of(operation)).call;
  const schema = need(bodySchemaOf(known));
  const all = [known, ...(await requests.variants(operation))];
  const fullest = all.reduce((most, call) => (sizeOf(call.body) > sizeOf(most.body) ? call : most));
  const [item] = listIn(fullest, member);
  const twice = { ...Object(fullest.body), [member]: [item, item] };
  // What refers to other resources stays the same, but not what identifies the items.
  const isFree = (_pointer: string, key: string) =>
    key !== 'type' && !isOwnId(key) && (kindOfReference(key) === undefined || session.pool.isKey(operation, key));
  const body = session.values.fresh(schema, twice, session.seedFor(`${operation.id} ${label}`), isFree);
  const isNew = operation.method === 'POST' && session.validators.accepts(schema, body, 'request');
  for (const call of isNew ? [{ ...fullest, body }, known] : [known]) {
    const exchange = await session.send(call);
    const results = isSuccess(exchange) ? itemResultsIn(exchange) : undefined;
    if (results?.some(({ isFailure }) => !isFailure))
      return { items: listIn(call, member).filter(isObject), exchange, results };
  }
  return undefined;
}

function listIn({ body }: Call, member: string): unknown[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items : [];
}

/** The parts of an item that a read of it does not show. */
async function lost(bulk: Bulk, item: JsonObject, result: JsonObject, by: Exchange): Promise<Difference[]> {
  const { context, operation, read, items } = bulk;
  const embedded = Object.values(result).filter(isObject).map(ownId);
  const id = ownId(result) ?? embedded.find((one) => one !== undefined);
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
