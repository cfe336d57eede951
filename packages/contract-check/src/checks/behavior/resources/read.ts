import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import {
  collectionPath,
  isOwnId,
  isPutCreation,
  isReadingPost,
  kindOfPath,
  kindOfReference,
  kindsOfSchema,
  lastParameter,
  rowsSchema,
} from '../../../run/names.ts';
import { isHarmless, unknownId } from '../../../run/unknown-id.ts';
import type { CheckContext } from '../../check.ts';
import { rowsIn } from '../lists/list-metadata.ts';
import { readCollection } from './collection.ts';
import { isFleeting, isNothing, isSame, isServerOwned } from './compare.ts';
import { isScalar, isSignificant } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { resourceIn } from './resource-in.ts';
import { hasRows } from './resource-types.ts';
import { memberNames, memberOf, responseSchema } from './schema.ts';
import { declaredKind } from './vocabulary.ts';

/** A read by ID, and a list of the same resources. */
export interface Reading {
  readonly read: Operation;
  readonly name: string;
  readonly list: Operation;
}

/** Pairs reads with lists: at the path of the collection, or of the same type and schema. */
export function readingsOf({ session: { document, operations } }: CheckContext): Reading[] {
  return operations.flatMap((read) => {
    const name = lastParameter(read.path);
    if (read.method !== 'GET' || name === undefined || !read.path.endsWith(`{${name}}`)) return [];
    if (hasRows(document, read) || declaredKind(read, 'reads') === false) return [];
    const collection = collectionPath(read.path, name);
    const kinds = kindsOfSchema(document, responseSchema(read));
    const lists = operations.filter((list) => {
      const rows = rowsSchema(document, responseSchema(list));
      if (
        (list.method !== 'GET' && !isReadingPost(list)) ||
        rows === undefined ||
        declaredKind(list, 'lists') === false
      )
        return false;
      const isSameKind =
        kindOfPath(list.path) === kindOfPath(collection) &&
        kindsOfSchema(document, rows.schema).some((one) => kinds.includes(one));
      return list.path === collection || (isSameKind && !list.path.includes('{'));
    });
    return lists.slice(0, 2).map((list) => ({ read, name, list }));
  });
}

/** Maximum number of additional rows to read. */
const maxExtraReads = 8;

/**
 * Checks that a row of a list agrees with the read of it, and that the read returns the requested resource
 * consistently.
 */
export function agreed(context: CheckContext, { read, name, list }: Reading): Observation {
  return async (label) => {
    const { session, baselines } = context;
    const known = baselines.of(read)?.call;
    const rows = (await readCollection(context, list))?.rows ?? [];
    if (known === undefined || rows.length === 0) return undefined;
    // Rows with the most values reveal the most. The second observation uses other rows if possible.
    const [fullest, second] = rows.toSorted((one, other) => fullness(other) - fullness(one));
    const chosen = label.endsWith('two') ? [second ?? fullest, rows.at(-1)] : [fullest, rows[0]];
    const found: Disagreement[] = [];
    let isSeen = false;
    for (const row of new Set(chosen)) {
      if (row === undefined) continue;
      const id = idIn(row, name);
      if (id === undefined || session.isOver) continue;
      const exchange = await session.send({ ...known, path: { ...known.path, [name]: id } });
      const again = await session.send({ ...known, path: { ...known.path, [name]: id } });
      if (!isSuccess(exchange) || !isObject(exchange.response.json?.value)) continue;
      isSeen = true;
      found.push(...differences(context, { read, name, list }, row, exchange, again));
    }
    // Some properties occur only in some resources. Their responses are checked as usual.
    if (label.endsWith('one'))
      for (const row of rows.filter((one) => !chosen.includes(one)).slice(0, maxExtraReads))
        await session.send({ ...known, path: { ...known.path, [name]: idIn(row, name) } });
    // Volatile properties count only if the list has not changed in between.
    const later = found.some(({ moves }) => moves) ? ((await readCollection(context, list))?.rows ?? []) : [];
    const isSteady = ({ row, about, moves }: Disagreement) =>
      !moves || later.some((one) => idIn(one, name) === idIn(row, name) && isSame(one[about], row[about]));
    return isSeen
      ? [...new Map(found.filter(isSteady).map((one) => [`${one.check} ${one.about}`, one])).values()]
      : undefined;
  };
}

/** A difference between a row of a list and the read of it. */
interface Disagreement extends Difference {
  readonly row: JsonObject;
  /** Whether the property may change without a request. */
  readonly moves: boolean;
}

/** Whether a property may change on its own, but is the same in all responses at one time. */
function mayMove(name: string): boolean {
  return /count|total|status|state|updated|modified/i.test(name) && !isFleeting.test(name);
}

/** The number of properties with a value. */
function fullness(row: JsonObject): number {
  return Object.values(row).filter((value) => !isNothing(value) && value !== 0 && value !== false).length;
}

function idIn(row: JsonObject, name: string): unknown {
  return row[name] ?? row[Object.keys(row).find(isOwnId) ?? ''];
}

function differences(
  { session: { document } }: CheckContext,
  { read, name, list }: Reading,
  row: JsonObject,
  exchange: Exchange,
  again: Exchange,
): Disagreement[] {
  const shown = resourceIn(exchange);
  const second = resourceIn(again);
  const schema = responseSchema(read);
  const differs = (
    check: CheckName,
    about: string,
    title: string,
    expected: unknown,
    actual: unknown,
    exchanges: Exchange[],
  ): Disagreement => ({
    row,
    moves: !isSignificant(about),
    check,
    operation: read,
    about,
    title,
    expected: `${about}: ${text(expected)}`,
    actual: `${about}: ${text(actual)}`,
    node: schema === undefined ? undefined : memberOf(document, [schema], about)[0],
    fix: 'Return the stored values in every response.',
    exchanges,
  });
  const key = row[name] === undefined ? Object.keys(row).find(isOwnId) : name;
  if (key !== undefined && isScalar(shown[key]) && String(shown[key]) !== String(row[key]))
    return [
      differs('read-another', key, `${read.id} returns another resource than the requested one`, row[key], shown[key], [
        exchange,
      ]),
    ];
  const rowSchema = rowsSchema(document, responseSchema(list))?.schema;
  const shared = memberNames(document, schema).filter(
    (one) => rowSchema !== undefined && memberOf(document, [rowSchema], one).length > 0,
  );
  return shared.flatMap((one) => {
    const [listed, read1, read2] = [row[one], shown[one], second[one]];
    if (!isSignificant(one) && (!mayMove(one) || read1 !== read2)) return [];
    if (isScalar(listed) && isScalar(read1) && !isSame(listed, read1, { name: one }))
      return [
        differs('read-disagrees', one, `${read.id} returns another ${one} than ${list.id}`, listed, read1, [exchange]),
      ];
    if (isShorter(listed, read1))
      return [
        differs('read-disagrees', one, `${read.id} returns less of ${one} than ${list.id}`, listed, read1, [exchange]),
      ];
    if (typeof read1 === 'string' && typeof read2 === 'string' && !isServerOwned(one) && read1 !== read2)
      return [
        differs('read-unsteady', one, `${read.id} returns another ${one} when it is repeated`, read1, read2, [
          exchange,
          again,
        ]),
      ];
    return [];
  });
}

/** Whether the read returns a shorter list of objects than the row. Rows are usually abbreviated, not reads. */
function isShorter(listed: unknown, read: unknown): boolean {
  return Array.isArray(listed) && Array.isArray(read) && read.length < listed.length;
}

/** Checks that an unknown ID returns nothing, and cannot be updated or deleted. */
export function unknown({ session, baselines }: CheckContext, read: Operation): Observation {
  return async (label) => {
    const known = baselines.of(read)?.call;
    const name = lastParameter(read.path);
    const parameter = read.parameters.find((one) => one.in === 'path' && one.name === name);
    if (known === undefined || name === undefined || parameter === undefined) return undefined;
    const rows = rowsSchema(session.document, responseSchema(read));
    const isRejectionDeclared = read.responses.some(({ status }) => status === '404' || status === '4XX');
    const isReading = read.method === 'GET' || read.method === 'HEAD';
    const isUnchecked = declaredKind(read, 'updates') === false || declaredKind(read, 'deletes') === false;
    if (!isReading && (isUnchecked || !isRejectionDeclared || isPutCreation(read, session.operations)))
      return undefined;
    if (!isRejectionDeclared && (rows === undefined || !isReference(name))) return undefined;
    const id = unknownId(session, parameter.schema, known.path[name], session.seedFor(`nobody ${label}`));
    const call: Call = { ...known, path: { ...known.path, [name]: id } };
    if (id === undefined || !(await isHarmless(session, call))) return undefined;
    const exchange = await session.send(call);
    if (!isSuccess(exchange)) return [];
    // An empty list is a valid response for an unknown parent.
    if (rows !== undefined && (rowsIn(exchange, rows.member) ?? []).length === 0) return [];
    return [
      {
        check: isReading ? 'read-unknown' : 'change-unknown',
        operation: read,
        about: '',
        title: `${read.id} succeeds for a ${name} that does not exist`,
        expected: rows === undefined ? '404' : '404, or no rows',
        actual: `${exchange.response.status} ${exchange.response.text.slice(0, 150)}`,
        node: parameter.node,
        fix: 'Return 404 if the resource does not exist.',
        exchanges: [exchange],
      },
    ];
  };
}

function isReference(name: string): boolean {
  return isOwnId(name) || kindOfReference(name) !== undefined;
}
