import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isReadingPost, isSuccess } from '../../../run/baseline.ts';
import { isOwnId, kindOfPath, kindOfReference, rowsSchema } from '../../../run/names.ts';
import { lastParameter } from '../../../run/pool.ts';
import type { CheckContext } from '../../checks.ts';
import { readCollection } from './collection.ts';
import { unlikes } from './compare.ts';
import { type Difference, type Look, text } from './probe.ts';
import { hasRows } from './resources.ts';
import { answerSchema, itemOf, memberNames, memberOf, partsOf, requestSchema } from './schema.ts';
import { thingIn } from './thing-in.ts';
import { saidKind } from './vocabulary.ts';

/** An operation that takes many things at once, and says what became of each. */
export interface Bulk {
  readonly operation: Operation;
  /** The member of the body that holds the items. */
  readonly member: string;
  readonly items: readonly JsonObject[];
  readonly read: Operation | undefined;
  readonly lists: readonly Operation[];
}

export function bulksOf({ session: { document, operations } }: CheckContext): Bulk[] {
  return operations.flatMap((operation) => {
    if (!['POST', 'PUT'].includes(operation.method) || isReadingPost(operation) || operation.path.includes('{'))
      return [];
    const schema = requestSchema(operation);
    const isList = (name: string) =>
      schema !== undefined &&
      itemOf(document, memberOf(document, [schema], name)).some((item) =>
        partsOf(document, item).some(({ properties }) => isObject(properties)),
      );
    const lists = memberNames(document, schema).filter(isList);
    const [member] = lists;
    if (schema === undefined || lists.length !== 1 || member === undefined || memberNames(document, schema).length > 2)
      return [];
    const said = saidKind(operation, operation.method === 'PUT' ? 'updates' : 'creates');
    const kind = typeof said === 'string' ? said.toLowerCase() : kindOfPath(operation.path);
    if (said === false || kind === undefined) return [];
    const ofKind = operations.filter(
      (one) => (one.method === 'GET' || isReadingPost(one)) && kindOfPath(one.path) === kind,
    );
    const read = ofKind.find(
      (one) => one.method === 'GET' && one.path.endsWith(`{${lastParameter(one.path)}}`) && !hasRows(document, one),
    );
    return [
      {
        operation,
        member,
        items: itemOf(document, memberOf(document, [schema], member)),
        read,
        lists: ofKind.filter((one) => hasRows(document, one)),
      },
    ];
  });
}

interface Result {
  readonly index: number;
  readonly row: JsonObject;
  readonly isFailure: boolean;
}

/** As many results as items, each of its own item, and each item as it was sent where it is read. */
export function bulked(context: CheckContext, bulk: Bulk): Look {
  const { session } = context;
  const { operation, member } = bulk;
  return async (label) => {
    const call = twoItems(context, bulk, label);
    const items = call === undefined ? [] : itemsIn(call, member);
    if (call === undefined || items.length === 0) return undefined;
    const exchange = await session.send(call, { isMaking: operation.method === 'POST' });
    const results = isSuccess(exchange) ? resultsIn(exchange) : undefined;
    if (results === undefined || results.every(({ isFailure }) => isFailure)) return undefined;
    const differs = (
      check: string,
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
      fix: 'Take each item for itself, and say of each what became of it.',
      exchanges: [exchange, ...exchanges],
    });
    const found: Difference[] = [];
    if (results.length !== items.length)
      return [
        differs(
          'bulk-results',
          '',
          'There are not as many results as items',
          `${items.length} results`,
          `${results.length}`,
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
          differs('bulk-order', key, `A result names another ${key} than its item`, text(item[key]), text(row[key])),
        );
    }
    for (const { index, row, isFailure } of results.filter((one) => !one.isFailure).slice(0, 3)) {
      const item = items[index];
      if (isFailure || item === undefined || found.length > 0) continue;
      found.push(...(await stored(context, bulk, item, row, differs)));
    }
    return found;
  };
}

type Differs = (
  check: string,
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
  const seen = await seenOf(context, bulk, item, result);
  if (seen === undefined) return [];
  if (seen.row === undefined)
    return [
      differs(
        'bulk-lost',
        '',
        `An item is taken, and ${seen.by.id} does not have it`,
        text(item),
        `${seen.exchange.answer.status} ${seen.exchange.answer.text.slice(0, 100)}`,
        seen.exchange,
      ),
    ];
  const { row } = seen;
  const found = unlikes(
    context.session.document,
    { value: item, schemas: bulk.items },
    { value: row, schemas: seen.schemas },
  );
  return found.map(({ pointer, sent, shown }) => {
    const name = pointer
      .slice(1)
      .replaceAll('/', '.')
      .replaceAll(/\.\d+(?=\.|$)/g, '.*');
    return differs(
      'bulk-lost',
      name,
      `${name} of an item is taken and not stored as it was sent`,
      `${name}: ${text(sent)}`,
      `${name}: ${text(shown)}`,
      seen.exchange,
    );
  });
}

interface Seen {
  readonly by: Operation;
  readonly exchange: Exchange;
  /** Undefined where it is not there. */
  readonly row: JsonObject | undefined;
  readonly schemas: readonly JsonObject[];
}

/** How the item is read, by the id that its result tells. */
async function seenOf(
  context: CheckContext,
  { read, lists }: Bulk,
  item: JsonObject,
  result: JsonObject,
): Promise<Seen | undefined> {
  const { session, baselines } = context;
  const known = read === undefined ? undefined : baselines.of(read)?.call;
  const name = read === undefined ? undefined : lastParameter(read.path);
  const id = result[Object.keys(result).find(isOwnId) ?? ''];
  if (id === undefined || id === null) return undefined;
  if (read !== undefined && known !== undefined && name !== undefined) {
    const exchange = await session.send({ ...known, path: { ...known.path, [name]: id } });
    const schema = answerSchema(read);
    if (schema === undefined || (!isSuccess(exchange) && exchange.answer.status !== 404)) return undefined;
    return { by: read, exchange, row: isSuccess(exchange) ? thingIn(exchange) : undefined, schemas: [schema] };
  }
  for (const list of lists) {
    const path = pathFrom(list, item);
    const collection = path === undefined ? undefined : await readCollection(context, list, path);
    const exchange = collection?.exchanges.at(-1);
    if (collection === undefined || exchange === undefined) continue;
    const row = collection.rows.find((one) => Object.entries(one).some(([key, value]) => isOwnId(key) && value === id));
    const schema = rowsSchema(session.document, answerSchema(list))?.schema;
    if (schema === undefined || (row === undefined && !collection.isComplete)) return undefined;
    return { by: list, exchange, row, schemas: [schema] };
  }
  return undefined;
}

/** The parameters of a list's path, as the item says them: `type` for `/records/{type}`. */
function pathFrom({ parameters }: Operation, item: JsonObject): Record<string, unknown> | undefined {
  const names = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  return names.every((name) => typeof item[name] === 'string')
    ? Object.fromEntries(names.map((name) => [name, item[name]]))
    : undefined;
}

/** The known call with its items changed; of one that makes, with two of them. */
function twoItems(
  { session, baselines }: CheckContext,
  { operation, member, items }: Bulk,
  label: string,
): Call | undefined {
  const known = baselines.of(operation)?.call;
  const schema = requestSchema(operation);
  const results = known === undefined ? undefined : resultsIn(baselines.of(operation)?.exchange);
  const given = known === undefined ? [] : itemsIn(known, member);
  const good = given.filter((_item, index) => !(results ?? []).some((one) => one.index === index && one.isFailure));
  const [first] = good;
  if (known === undefined || schema === undefined || first === undefined || !isObject(known.body)) return undefined;
  const freshened = (item: JsonObject, seed: number) => {
    const [shape] = items.map((one) => session.document.object(one));
    const isFree = (_pointer: string, key: string) =>
      kindOfReference(key) === undefined && !isOwnId(key) && !isKey(key);
    return shape === undefined ? item : session.values.fresh(shape, item, seed, isFree);
  };
  const keyed = Object.keys(first).some((name) => isKey(name));
  const chosen = keyed ? good.slice(0, 2) : [first, first];
  const body = {
    ...known.body,
    [member]: chosen.map((item, index) => freshened(item, session.seedFor(`${operation.id} ${label} ${index}`))),
  };
  return session.validators.accepts(schema, body, 'request') ? { ...known, body } : undefined;
}

/** A member by which an item names a thing that there may be already. */
function isKey(name: string): boolean {
  return isOwnId(name) || /(?:Ref|_ref|Key|_key|^key|^code|^sku|Code|^externalId|^type)$/.test(name);
}

function itemsIn({ body }: Call, member: string): JsonObject[] {
  const items = isObject(body) ? body[member] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

/** The results of an answer by the index of their items; undefined where it says nothing of each. */
function resultsIn(exchange: Exchange | undefined): Result[] | undefined {
  const body = exchange?.answer.json?.value;
  const lists = Array.isArray(body) ? [['', body] as const] : Object.entries(isObject(body) ? body : {});
  const found = lists.flatMap(([name, list]) =>
    Array.isArray(list)
      ? list.filter(isObject).map((row, place) => ({
          index: typeof row.index === 'number' ? row.index : place,
          row,
          isFailure: isFailure(name, row),
        }))
      : [],
  );
  return found.length === 0 ? undefined : found;
}

function isFailure(list: string, row: JsonObject): boolean {
  return (
    /fail|error|reject/i.test(list) ||
    (row.error !== undefined && row.error !== null) ||
    row.success === false ||
    (Array.isArray(row.errors) && row.errors.length > 0) ||
    /fail|error|reject/i.test(String(row.status ?? ''))
  );
}
