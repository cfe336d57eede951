import type { Operation } from '../../../document/operation.ts';
import { isJson } from '../../../http/serialize.ts';
import { isReadingPost, rowsSchema } from '../../../run/names.ts';
import type { CheckContext } from '../../checks.ts';
import { controlsOf } from './controls.ts';
import { cursors } from './cursors.ts';
import { defaultProbes, stable } from './defaults.ts';
import { enough } from './enough.ts';
import { filterProbes } from './filters.ts';
import type { FullList, Listing } from './listing.ts';
import { orderProbes } from './order.ts';
import { positions } from './positions.ts';
import { run } from './probe.ts';
import { Reader } from './reader.ts';
import { isSameSet } from './rows.ts';
import { sizes, wholeList } from './sizes.ts';
import { slotsOf } from './slot.ts';
import { vocabularyOf } from './vocabulary.ts';
import { walk } from './walk.ts';

/** Requests that one list may take, those that confirm a finding aside. */
const requestsForOne = 90;

/** What names and shapes say of a list, held against what it answers: defaults, pages, totals, order and filters. */
export async function checkLists(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const lists = session.judged.filter((operation) => operation.method === 'GET' || isReadingPost(operation));
  for (const [index, operation] of lists.entries()) {
    if (session.isOver) return;
    const listing = listingOf(context, operation);
    if (listing !== undefined) await checkList(context, listing);
    onProgress(index + 1, lists.length);
  }
}

/** How an operation is asked for its rows; undefined where it has none, or no call of it is known. */
function listingOf({ session, baselines }: CheckContext, operation: Operation): Listing | undefined {
  const baseline = baselines.of(operation);
  const content = operation.answers
    .find(({ status }) => /^2/.test(status))
    ?.contents.find(({ mediaType }) => isJson(mediaType));
  const rows = rowsSchema(session.document, content?.schema);
  if (baseline === undefined || rows === undefined) return undefined;
  const said = vocabularyOf(operation);
  if (!said.isStable) return undefined;
  const slots = slotsOf(session.document, operation, baseline.call);
  return {
    session,
    document: session.document,
    operation,
    reader: new Reader(session, baseline.call, rows.member, requestsForOne),
    controls: controlsOf(slots),
    slots,
    said,
    rowSchema: rows.schema,
  };
}

async function checkList(context: CheckContext, given: Listing): Promise<void> {
  const { listing, list } = await enough(context, given);
  if (list === undefined || !(await isStill(listing, list))) return;
  await run(listing, list, wholeList);
  await run(listing, list, stable);
  const probes = [
    ...defaultProbes(listing),
    sizes,
    positions,
    cursors,
    ...orderProbes(listing, list),
    ...filterProbes(listing, list),
  ];
  for (const probe of probes) await run(listing, list, probe);
}

/** Whether the list stays as it is while nobody writes: of one that changes by itself, nothing can be said. */
async function isStill(listing: Listing, list: FullList): Promise<boolean> {
  const again = await walk(listing);
  return again !== undefined && isSameSet(list.keys, again.keys);
}
