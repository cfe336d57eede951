import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { collectionPath, isOwnId, kindOfPath, lastParameter, rowsSchema } from '../../../run/names.ts';
import { responseSchema, View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { readCollection } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, need, valued } from '../observe.ts';
import { isFleeting, isNothing, isSame, isScalar, isServerOwned, isSteady, ownId, resourceIn } from './compare.ts';
import { isRead, listsOf } from './resource-types.ts';

/** A read by ID, and a list of the same resources. */
export interface Reading {
  readonly context: CheckContext;
  readonly read: Operation;
  readonly name: string;
  readonly list: Operation;
}

/** Pairs reads by ID with lists of the same resources. */
export function readingsOf(context: CheckContext): Reading[] {
  const { document, operations } = context.session;
  return operations.flatMap((read) => {
    const name = lastParameter(read.path);
    if (!isRead(document, read) || name === undefined || !read.path.endsWith(`{${name}}`)) return [];
    const collection = collectionPath(read.path, name);
    const lists = listsOf(document, operations, collection, read, kindOfPath(collection) ?? '');
    return lists.slice(0, 2).map((list) => ({ context, read, name, list }));
  });
}

/** Maximum number of additional rows to read. */
const maxExtraReads = 8;

/** A difference between a row of a list and the read of it. */
interface Disagreement {
  readonly row: JsonObject;
  readonly difference: Difference;
}

const idIn = (row: JsonObject, name: string) => row[name] ?? ownId(row);

/** The number of properties with a value. */
const fullness = (row: JsonObject) =>
  Object.values(row).filter((value) => !isNothing(value) && value !== 0 && value !== false).length;

export const agreement: BehaviorCheck<Reading> = {
  name: 'agree',
  describe: 'A row of a list agrees with the read of it, and the read returns the requested resource consistently.',
  async run(reading, label) {
    const { context, read, name, list } = reading;
    const { session, requests } = context;
    const known = need(requests.of(read)).call;
    const rows = (await readCollection(context, list))?.rows ?? [];
    if (rows.length === 0) return undefined;
    const send = (row: JsonObject) => session.send({ ...known, path: { ...known.path, [name]: idIn(row, name) } });
    // Rows with the most values reveal the most. The second observation uses other rows if possible.
    const [fullest, second] = rows.toSorted((one, other) => fullness(other) - fullness(one));
    const chosen = label.endsWith('two') ? [second ?? fullest, rows.at(-1)] : [fullest, rows[0]];
    const found: Disagreement[] = [];
    let isSeen = false;
    for (const row of new Set(chosen)) {
      if (row === undefined || idIn(row, name) === undefined || session.isOver) continue;
      const [exchange, again] = [await send(row), await send(row)];
      if (!isSuccess(exchange) || !isObject(exchange.response.json?.value)) continue;
      isSeen = true;
      found.push(...differences(reading, row, exchange, again).map((difference) => ({ row, difference })));
    }
    // Some properties occur only in some resources. Their responses are checked as usual.
    const others = label.endsWith('one') ? rows.filter((one) => !chosen.includes(one)).slice(0, maxExtraReads) : [];
    for (const row of others) await send(row);
    // Volatile properties count only if the list has not changed in between.
    const moves = ({ difference }: Disagreement) => !isSteady(difference.about);
    const later = found.some(moves) ? ((await readCollection(context, list))?.rows ?? []) : [];
    const isUnmoved = ({ row, difference: { about } }: Disagreement) =>
      later.some((one) => idIn(one, name) === idIn(row, name) && isSame(one[about], row[about]));
    const steady = found.filter((one) => !moves(one) || isUnmoved(one)).map(({ difference }) => difference);
    return isSeen ? steady : undefined;
  },
};

function differences(
  { context, read, name, list }: Reading,
  row: JsonObject,
  exchange: Exchange,
  again: Exchange,
): Difference[] {
  const { document } = context.session;
  const [shown, second] = [resourceIn(exchange), resourceIn(again)];
  const view = View.ofResponse(document, read);
  const differs = (check: CheckName, about: string, expected: unknown, actual: unknown, ...exchanges: Exchange[]) => {
    const { node } = view.member(about);
    return [differ(check, read, about, { ...valued(about, expected, actual), node, exchanges })];
  };
  const key = row[name] === undefined ? Object.keys(row).find(isOwnId) : name;
  if (key !== undefined && isScalar(shown[key]) && String(shown[key]) !== String(row[key]))
    return differs('read-another', key, row[key], shown[key], exchange);
  const ofRow = View.of(document, rowsSchema(document, responseSchema(list))?.schema);
  const shared = view.names.filter((one) => !ofRow.member(one).isEmpty);
  return shared.flatMap((one) => {
    const [listed, read1, read2] = [row[one], shown[one], second[one]];
    // Some properties change on their own, but are the same in all responses at one time.
    const mayMove = /count|total|status|state|updated|modified/i.test(one) && !isFleeting.test(one);
    if (!isSteady(one) && (!mayMove || read1 !== read2)) return [];
    // Rows are usually abbreviated, not reads.
    const isShorter = Array.isArray(listed) && Array.isArray(read1) && read1.length < listed.length;
    const isOther = isScalar(listed) && isScalar(read1) && !isSame(listed, read1, { name: one });
    if (isOther || isShorter) return differs('read-disagrees', one, listed, read1, exchange);
    return typeof read1 === 'string' && typeof read2 === 'string' && !isServerOwned(one) && read1 !== read2
      ? differs('read-unsteady', one, read1, read2, exchange, again)
      : [];
  });
}
