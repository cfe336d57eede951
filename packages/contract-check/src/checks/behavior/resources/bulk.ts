import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import {
  isDeleting,
  isOwnId,
  isReadingPost,
  kindOfPath,
  kindOfReference,
  lastParameter,
  rowsSchema,
} from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import type { CheckContext } from '../../check.ts';
import { hasItemErrors, type ItemResult, itemResultsIn } from '../../outcome.ts';
import { readCollection } from './collection.ts';
import { isServerOwned, unlikes } from './compare.ts';
import { isScalar } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { resourceIn } from './resource-in.ts';
import { hasRows } from './resource-types.ts';
import { formatOf, itemOf, memberNames, memberOf, partsOf, requestSchema, responseSchema } from './schema.ts';
import { declaredKind } from './vocabulary.ts';

/** An operation that processes many resources in one call and returns a result for each. */
export interface Bulk {
  readonly kind: string;
  readonly operation: Operation;
  /** The body property with the items: objects, or the IDs to delete. */
  readonly member: string;
  readonly items: readonly JsonObject[];
  readonly read: Operation | undefined;
  readonly lists: readonly Operation[];
}

export function bulksOf({ session: { document, operations } }: CheckContext): Bulk[] {
  return operations.flatMap((operation) => {
    if (
      !['POST', 'PUT', 'DELETE'].includes(operation.method) ||
      isReadingPost(operation) ||
      operation.path.includes('{')
    )
      return [];
    const schema = requestSchema(operation);
    const isList = (name: string) =>
      schema !== undefined &&
      itemOf(document, memberOf(document, [schema], name)).some((item) =>
        partsOf(document, item).some(
          ({ properties, type }) =>
            isObject(properties) || (isDeleting(operation) && /ids$/i.test(name) && /string|integer/.test(`${type}`)),
        ),
      );
    const lists = memberNames(document, schema).filter(isList);
    const [member] = lists;
    if (schema === undefined || lists.length !== 1 || member === undefined || memberNames(document, schema).length > 2)
      return [];
    const declared = declaredKind(
      operation,
      isDeleting(operation) ? 'deletes' : operation.method === 'PUT' ? 'updates' : 'creates',
    );
    const kind = typeof declared === 'string' ? declared.toLowerCase() : kindOfPath(operation.path);
    if (declared === false || kind === undefined) return [];
    const ofKind = operations.filter(
      (one) => (one.method === 'GET' || isReadingPost(one)) && kindOfPath(one.path) === kind,
    );
    const read = ofKind.find(
      (one) => one.method === 'GET' && one.path.endsWith(`{${lastParameter(one.path)}}`) && !hasRows(document, one),
    );
    return [
      {
        kind,
        operation,
        member,
        items: itemOf(document, memberOf(document, [schema], member)),
        read,
        lists: ofKind.filter((one) => hasRows(document, one)),
      },
    ];
  });
}

/**
 * Checks that there is one result per item, that each belongs to its item, and that accepted items are stored as sent.
 */
export function bulked(context: CheckContext, bulk: Bulk): Observation {
  const { operation, member } = bulk;
  return async (label) => {
    const sent = await take(context, bulk, label);
    if (sent === undefined) return undefined;
    const { call, exchange, results } = sent;
    const items = itemsIn(call, member);
    const differs = (
      check: CheckName,
      about: string,
      title: string,
      expected: string,
      actual: string,
      ...exchanges: Exchange[]
    ): Difference => ({
      check,
      operation,
      about,
      title,
      expected,
      actual,
      fix: 'Process each item separately, and return the result of each.',
      exchanges: [exchange, ...exchanges],
    });
    const found: Difference[] = [...miscounted(exchange, results, differs)];
    if (results.length !== items.length || new Set(results.map(({ index }) => index)).size < results.length)
      return [
        differs(
          'bulk-results',
          '',
          'The response does not have one result for each item',
          `${items.length} results, each with its own index`,
          `${results.length} results with the indexes ${results.map(({ index }) => index).join(', ')}`,
        ),
      ];
    for (const { index, row } of results) {
      const item = items[index];
      const key =
        item === undefined
          ? undefined
          : Object.keys(item).find(
              (name) => typeof item[name] === 'string' && typeof row[name] === 'string' && isKey(name),
            );
      if (item !== undefined && key !== undefined && item[key] !== row[key])
        found.push(
          differs('bulk-order', key, `A result has another ${key} than its item`, text(item[key]), text(row[key])),
        );
    }
    for (const { index, row, isFailure } of results.filter((one) => !one.isFailure).slice(0, 3)) {
      const item = items[index];
      if (isFailure || item === undefined || found.length > 0) continue;
      found.push(...(await stored(context, bulk, item, row, differs)));
    }
    if (found.length === 0)
      found.push(
        ...(await repeated(context, bulk, sent, differs)),
        ...(await withInvalidItem(context, bulk, sent, differs)),
      );
    return found;
  };
}

/** Checks counts next to the results, such as the number of successes. */
function miscounted({ response }: Exchange, results: readonly ItemResult[], differs: Differs): Difference[] {
  const body = response.json?.value;
  const failed = results.filter(({ isFailure }) => isFailure).length;
  const counts = Object.entries(isObject(body) ? body : {}).flatMap(([name, returned]) => {
    const [, what] =
      /^(total|created|updated|succeeded|successful|deleted|failed|failures|errors)[-_]?(?:count|items)?$/i.exec(
        name,
      ) ?? [];
    if (what === undefined || typeof returned !== 'number') return [];
    if (/total/i.test(what)) return [{ name, returned, right: returned === results.length, count: results.length }];
    if (/fail|error/i.test(what)) return [{ name, returned, right: returned === failed, count: failed }];
    // Some successes may be counted elsewhere, for example as updates.
    const good = results.length - failed;
    return [{ name, returned, right: returned <= good, count: good }];
  });
  return counts
    .filter(({ right }) => !right)
    .map(({ name, returned, count }) =>
      differs('bulk-count', name, `${name} is not the number of results`, `${name}: ${count}`, `${name}: ${returned}`),
    );
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

interface AcceptedBulk {
  readonly call: Call;
  readonly exchange: Exchange;
  readonly results: readonly ItemResult[];
}

/** Checks that resources reported as deleted are gone, or marked as deleted. */
export function bulkRemoved(context: CheckContext, removal: Bulk, creation: Bulk): Observation {
  const { session, baselines } = context;
  const known = baselines.of(removal.operation);
  return async (label) => {
    const [pattern] = known === undefined ? [] : listIn(known.call, removal.member);
    const created = await take(context, creation, label);
    if (known === undefined || pattern === undefined || created === undefined) return undefined;
    const there: { readonly item: JsonObject; readonly row: JsonObject; readonly before: Observed }[] = [];
    for (const { row, index } of created.results.filter(({ isFailure }) => !isFailure)) {
      const item = itemsIn(created.call, creation.member)[index];
      const before = item === undefined ? undefined : await observe(context, creation, item, row);
      if (item !== undefined && before?.row !== undefined) there.push({ item, row, before });
    }
    if (there.length === 0) return undefined;
    const targets = there.map(({ item, row }) =>
      isObject(pattern)
        ? Object.fromEntries(Object.keys(pattern).map((name) => [name, item[name] ?? row[name]]))
        : idIn(row),
    );
    const body = { ...(isObject(known.call.body) ? known.call.body : {}), [removal.member]: targets };
    const exchange = await session.send({ ...known.call, body });
    if (!isSuccess(exchange) || hasItemErrors(exchange)) return undefined;
    const found: Difference[] = [];
    for (const { item, row, before } of there) {
      const after = await observe(context, creation, item, row);
      if (after?.row === undefined || before.row === undefined || print(after.row) !== print(before.row)) continue;
      found.push({
        check: 'delete-lost',
        operation: removal.operation,
        about: '',
        title: `A resource that ${removal.operation.id} reports as deleted is unchanged in ${after.by.id}`,
        expected: 'no row, or a row that is marked as deleted',
        actual: text(after.row),
        fix: 'Delete what the response reports as deleted.',
        exchanges: [before.exchange, exchange, after.exchange],
      });
    }
    return found.slice(0, 1);
  };
}

/** The ID in a result: its own, or that of the embedded resource. */
function idIn(row: JsonObject): unknown {
  const own = (one: JsonObject) => one[Object.keys(one).find(isOwnId) ?? ''];
  return (
    own(row) ??
    Object.values(row)
      .filter(isObject)
      .map(own)
      .find((id) => id !== undefined)
  );
}

/** The row without fields that every change updates. */
function print(row: JsonObject): string {
  return JSON.stringify(row, (name, value: unknown) => (isServerOwned(name) && name !== 'active' ? undefined : value));
}

/** Sends items that are accepted: new ones if possible, otherwise known ones. */
async function take(context: CheckContext, bulk: Bulk, label: string): Promise<AcceptedBulk | undefined> {
  const isCreating = bulk.operation.method === 'POST';
  const ways: readonly ItemWay[] = isCreating
    ? [
        { keys: 'new', isFull: true },
        { keys: 'new', isFull: false },
        { keys: 'new', isFull: false, isBare: true },
        { keys: 'none', isFull: true },
        { keys: 'known', isFull: true },
        { keys: 'known', isFull: false },
      ]
    : [{ keys: 'known', isFull: false }];
  for (const way of ways) {
    const call = twoItems(context, bulk, label, way);
    if (call === undefined) continue;
    const exchange = await context.session.send(call);
    const results = isSuccess(exchange) ? itemResultsIn(exchange) : undefined;
    if (results?.some(({ isFailure }) => !isFailure)) return { call, exchange, results };
  }
  return undefined;
}

/** Checks that an upsert with the same keys updates the existing resource. */
async function repeated(
  { session }: CheckContext,
  { operation, member }: Bulk,
  { call, results }: AcceptedBulk,
  differs: Differs,
): Promise<Difference[]> {
  const items = itemsIn(call, member);
  const isKeyed = items.every((item) => Object.keys(item).some((name) => name !== 'type' && isKey(name)));
  if (!isKeyed || !/upsert/i.test(`${operation.id} ${operation.path}`)) return [];
  const again = await session.send(call);
  const second = isSuccess(again) ? (itemResultsIn(again) ?? []) : [];
  const other = results.find(({ index, row }) => {
    const same = second.find((one) => one.index === index && !one.isFailure);
    return (
      same !== undefined &&
      typeof idIn(row) === 'string' &&
      typeof idIn(same.row) === 'string' &&
      idIn(row) !== idIn(same.row)
    );
  });
  if (other === undefined) return [];
  return [
    differs(
      'upsert-second',
      '',
      'An upsert with the same key creates a second resource',
      text(idIn(other.row)),
      text(second.map(({ row }) => idIn(row))),
      again,
    ),
  ];
}

/** Checks that a rejected item does not affect the others. */
async function withInvalidItem(
  context: CheckContext,
  bulk: Bulk,
  { call }: AcceptedBulk,
  differs: Differs,
): Promise<Difference[]> {
  const { operation, member, items } = bulk;
  const keys = operation.method === 'POST' ? 'new' : 'known';
  const fresh = twoItems(context, bulk, 'beside wrong', { keys, isFull: false }) ?? call;
  const [right, ...rest] = itemsIn(fresh, member);
  const wrong = rest[0] ?? right;
  const schema = requestSchema(operation);
  const names = items.flatMap((item) => memberNames(context.session.document, item));
  const reference = names.find(
    (name) =>
      kindOfReference(name) !== undefined &&
      formatOf(
        context.session.document,
        items.flatMap((item) => memberOf(context.session.document, [item], name)),
      ) === 'uuid',
  );
  if (
    right === undefined ||
    wrong === undefined ||
    reference === undefined ||
    schema === undefined ||
    !isObject(fresh.body)
  )
    return [];
  const body = { ...fresh.body, [member]: [right, { ...wrong, [reference]: randomUUID() }] };
  if (!context.session.validators.accepts(schema, body, 'request')) return [];
  const exchange = await context.session.send({ ...fresh, body });
  const results = isSuccess(exchange) ? (itemResultsIn(exchange) ?? []) : [];
  const first = results.find(({ index }) => index === 0);
  const isDocumented = results.some(({ index, isFailure }) => index === 1 && isFailure);
  if (first === undefined || first.isFailure || !isDocumented) return [];
  const found = await stored(context, bulk, right, first.row, differs);
  return found.map((one) => ({
    ...one,
    check: 'bulk-others',
    title: 'An item is reported as accepted, but is lost because another item is rejected',
    exchanges: [exchange, ...one.exchanges.slice(1)],
  }));
}

type Differs = (
  check: CheckName,
  about: string,
  title: string,
  expected: string,
  actual: string,
  ...exchanges: Exchange[]
) => Difference;

async function stored(
  context: CheckContext,
  bulk: Bulk,
  item: JsonObject,
  result: JsonObject,
  differs: Differs,
): Promise<Difference[]> {
  const observed = await observe(context, bulk, item, result);
  if (observed === undefined) return [];
  if (observed.row === undefined)
    return [
      differs(
        'bulk-lost',
        '',
        `An item is accepted, but is not in ${observed.by.id}`,
        text(item),
        `${observed.exchange.response.status} ${observed.exchange.response.text.slice(0, 100)}`,
        observed.exchange,
      ),
    ];
  const { row } = observed;
  const found = unlikes(
    context.session.document,
    { value: item, schemas: bulk.items },
    { value: row, schemas: observed.schemas },
  );
  return found.map(({ pointer, sent, shown }) => {
    const name = pointer
      .slice(1)
      .replaceAll('/', '.')
      .replaceAll(/\.\d+(?=\.|$)/g, '.*');
    return differs(
      'bulk-lost',
      name,
      `${name} of an item is accepted, but not stored as sent`,
      `${name}: ${text(sent)}`,
      `${name}: ${text(shown)}`,
      observed.exchange,
    );
  });
}

interface Observed {
  readonly by: Operation;
  readonly exchange: Exchange;
  /** Undefined if the item is not found. */
  readonly row: JsonObject | undefined;
  readonly schemas: readonly JsonObject[];
}

/** Reads an item by the ID in its result. */
async function observe(
  context: CheckContext,
  { read, lists }: Bulk,
  item: JsonObject,
  result: JsonObject,
): Promise<Observed | undefined> {
  const { session, baselines } = context;
  const known = read === undefined ? undefined : baselines.of(read)?.call;
  const name = read === undefined ? undefined : lastParameter(read.path);
  const id = idIn(result);
  if (id === undefined || id === null) return undefined;
  if (read !== undefined && known !== undefined && name !== undefined) {
    const exchange = await session.send({ ...known, path: { ...known.path, [name]: id } });
    const schema = responseSchema(read);
    if (schema === undefined || (!isSuccess(exchange) && exchange.response.status !== 404)) return undefined;
    return { by: read, exchange, row: isSuccess(exchange) ? resourceIn(exchange) : undefined, schemas: [schema] };
  }
  for (const list of lists) {
    const path = pathFrom(list, item);
    const collection = path === undefined ? undefined : await readCollection(context, list, path);
    const exchange = collection?.exchanges.at(-1);
    if (collection === undefined || exchange === undefined) continue;
    const row = collection.rows.find((one) => Object.entries(one).some(([key, value]) => isOwnId(key) && value === id));
    const schema = rowsSchema(session.document, responseSchema(list))?.schema;
    if (schema === undefined || (row === undefined && !collection.isComplete)) return undefined;
    return { by: list, exchange, row, schemas: [schema] };
  }
  return undefined;
}

/** The path parameters of a list, taken from the item: `type` for `/records/{type}`. */
function pathFrom({ parameters }: Operation, item: JsonObject): Record<string, unknown> | undefined {
  const names = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  return names.every((name) => typeof item[name] === 'string')
    ? Object.fromEntries(names.map((name) => [name, item[name]]))
    : undefined;
}

/** The known call with two items derived from its own. */
function twoItems(
  { session, baselines }: CheckContext,
  bulk: Bulk,
  label: string,
  { keys, isFull, isBare = false }: ItemWay,
): Call | undefined {
  const { operation, member, items } = bulk;
  const known = baselines.of(operation);
  const schema = requestSchema(operation);
  const shape = items.map((one) => session.document.object(one))[0];
  if (known === undefined || schema === undefined || shape === undefined || !isObject(known.call.body))
    return undefined;
  const results = itemResultsIn(known.exchange) ?? [];
  const good = itemsIn(known.call, member).filter(
    (_item, index) => !results.some((one) => one.index === index && one.isFailure),
  );
  const [first] = good;
  if (first === undefined) return undefined;
  const isFree = (pointer: string, key: string) =>
    (!isBare || (isKey(key) && pointer.split('/').length === 2)) &&
    key !== 'type' &&
    !isOwnId(key) &&
    (kindOfReference(key) === undefined || (keys === 'new' && isKey(key))) &&
    (keys === 'new' || !isKey(key));
  const keyOf = (item: JsonObject) =>
    JSON.stringify(Object.entries(item).filter(([name]) => isKey(name) && name !== 'type'));
  const bare = (item: JsonObject) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !isKey(name) || name === 'type'));
  const apart = [...new Map(good.map((item) => [keyOf(item), item])).values()].slice(0, 2);
  const chosen = {
    new: [first, first],
    none: [bare(first), bare(first)],
    known: keyOf(first) === '[]' ? [first, first] : apart,
  }[keys].map((item) => (isFull ? fuller(session, shape, item, session.seedFor(`${operation.id} full`)) : item));
  const fresh = chosen.map((item, index) =>
    session.values.fresh(shape, item, session.seedFor(`${operation.id} ${label} ${index} ${keys}`), isFree),
  );
  const body = { ...known.call.body, [member]: fresh };
  return session.validators.accepts(schema, body, 'request') ? { ...known.call, body } : undefined;
}

/** The item with additional optional strings and numbers. */
function fuller(session: Session, shape: JsonObject, item: JsonObject, seed: number): JsonObject {
  const most = session.values.sample(shape, 'request', 'most', seed)?.value;
  const more = Object.entries(isObject(most) ? most : {}).filter(
    ([name, value]) =>
      !(name in item) && isScalar(value) && kindOfReference(name) === undefined && !isOwnId(name) && !isKey(name),
  );
  return { ...item, ...Object.fromEntries(more) };
}

/** Whether a property may identify an existing resource. */
function isKey(name: string): boolean {
  return isOwnId(name) || /(?:Ref|_ref|Key|_key|^key|^code|^sku|Code|^externalId|^type)$/.test(name);
}

function itemsIn(call: Call, member: string): JsonObject[] {
  return listIn(call, member).filter(isObject);
}

function listIn({ body }: Call, member: string): unknown[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items : [];
}
