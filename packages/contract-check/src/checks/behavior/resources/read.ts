import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject, isScalar, type JsonObject } from '../../../json.ts';
import { isOwnId, isVersionName, itemOf, kindOfPath, rowsOf } from '../../../run/names.ts';
import { namedIn, withoutCollection } from '../../../run/pool.ts';
import { View } from '../../../schema/view.ts';
import { type CheckContext, type Difference, type Differences, differIn, need, needs } from '../../observe.ts';
import { Listing } from '../lists/listing.ts';
import { isFleeting, isNothing, isSame, isServerOwned, isSteady, ownId, resourceIn } from './compare.ts';
import { isRead, listsOf } from './resource-types.ts';

/** A read by ID, and a list of the same resources. */
interface Reading {
  readonly context: CheckContext;
  readonly read: Operation;
  readonly name: string;
  readonly list: Operation;
}

export function readingsOf(context: CheckContext): Reading[] {
  const { document, operations } = context.session;
  return operations.flatMap((read) => {
    const item = itemOf(read.path);
    if (!isRead(document, read) || item === undefined) return [];
    const { name, collection } = item;
    const lists = listsOf(document, operations, collection, read, kindOfPath(collection) ?? '');
    return lists.slice(0, 2).map((list) => ({ context, read, name, list }));
  });
}

const maxExtraReads = 8;

const idIn = (row: JsonObject, name: string) => withoutCollection(namedIn(row, name) ?? ownId(row) ?? row.name);

const fullness = (row: JsonObject) =>
  Object.values(row).filter((value) => !isNothing(value) && value !== 0 && value !== false).length;

/** A row of a list agrees with the read of it, and the read returns the requested resource consistently. */
export async function* agreement(reading: Reading, label: string): Differences {
  const { context, read, name, list } = reading;
  const { session, requests } = context;
  const known = need(requests.of(read)).call;
  const rows = (await Listing.of(context, list)?.walk())?.rows ?? [];
  const send = (row: JsonObject) => session.send({ ...known, path: { ...known.path, [name]: idIn(row, name) } });
  // Rows with the most values reveal the most. The second observation uses other rows if possible.
  const [fullest, second] = rows.toSorted((one, other) => fullness(other) - fullness(one));
  const chosen = label.endsWith('two') ? [second ?? fullest, rows.at(-1)] : [fullest, rows[0]];
  const seen: { readonly row: JsonObject; readonly reads: readonly [Exchange, Exchange] }[] = [];
  for (const row of new Set(chosen)) {
    if (row === undefined || idIn(row, name) === undefined || session.isOver) continue;
    const reads = [await send(row), await send(row)] as const;
    if (isSuccess(reads[0]) && isObject(reads[0].response.json?.value)) seen.push({ row, reads });
  }
  needs(seen.length > 0);
  // Some properties occur only in some resources. Their responses are checked as usual.
  const others = label.endsWith('one') ? rows.filter((one) => !chosen.includes(one)).slice(0, maxExtraReads) : [];
  for (const row of others) await send(row);
  const later = (await Listing.of(context, list)?.walk())?.rows ?? [];
  for (const { row, reads } of seen) {
    const now = later.find((one) => idIn(one, name) === idIn(row, name));
    if (now !== undefined) yield* differences(reading, [row, now], reads);
  }
}

/** Compares what a list has of a resource with what a read returns. Values that change by themselves do not count. */
function* differences(
  { context, read, name, list }: Reading,
  [row, later]: readonly [JsonObject, JsonObject],
  reads: readonly [Exchange, Exchange],
): Generator<Difference, void, undefined> {
  const { document } = context.session;
  const [shown, again] = [resourceIn(reads[0]), resourceIn(reads[1])];
  const view = View.ofResponse(document, read);
  const differs = (check: CheckName, about: string, ...values: [unknown, unknown]) =>
    differIn(check, read, about, values, reads, view);
  const key = row[name] === undefined ? Object.keys(row).find(isOwnId) : name;
  if (key !== undefined && isScalar(shown[key]) && String(shown[key]) !== String(row[key]))
    return yield differs('read-another', key, row[key], shown[key]);
  const ofRow = View.of(document, rowsOf(document, list)?.schema);
  const isVersioned = Object.entries(shown).some(([one, value]) => isVersionName(one) && value === again[one]);
  for (const one of view.names.filter((own) => !ofRow.member(own).isEmpty && !isFleeting.test(own))) {
    const [inList, first, second] = [row[one], shown[one], again[one]];
    const isMoving = isScalar(first) && first !== second;
    // A number can move by itself, unless a version says that nothing has changed.
    const isKept = typeof first === 'string' ? isSteady(one) : isVersioned && !/count|views?$|visits|hits/i.test(one);
    if (isMoving && isKept && !isServerOwned(one)) yield differs('read-unsteady', one, first, second);
    // Rows are usually abbreviated, not reads.
    const isShorter = Array.isArray(inList) && Array.isArray(first) && first.length < inList.length;
    const isOther = isScalar(inList) && isScalar(first) && !isSame(inList, first, { name: one });
    if (!isMoving && (isOther || isShorter) && isSame(inList, later[one]))
      yield differs('read-disagrees', one, inList, first);
  }
}
