import { isReadingPost } from '../../../run/names.ts';
import { eachOperation } from '../../../run/parallel.ts';
import type { CheckContext } from '../../check.ts';
import { chosenProbes } from './chosen-members.ts';
import { cursors } from './cursors.ts';
import { defaultProbes, stable } from './defaults.ts';
import { enough } from './enough.ts';
import { filterProbes } from './filters.ts';
import { type FullList, type Listing, listingOf } from './listing.ts';
import { orderProbes } from './order.ts';
import { counts, relations } from './page-counts.ts';
import { positions } from './positions.ts';
import { run } from './probe.ts';
import { isSameSet } from './rows.ts';
import { sizes, wholeList } from './sizes.ts';
import { walk } from './walk.ts';

/** Maximum number of requests per list, excluding those that confirm a finding. */
const requestsForOne = 150;

/** Compares each list with its names, types and descriptions: defaults, paging, totals, order and filters. */
export async function checkLists(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const lists = session.judged.filter((operation) => operation.method === 'GET' || isReadingPost(operation));
  let done = 0;
  await eachOperation(lists, 1, async (operation) => {
    const listing = session.isOver ? undefined : listingOf(context, operation, requestsForOne);
    if (listing?.vocabulary.isStable === true) await checkList(context, listing);
    done += 1;
    onProgress(done, lists.length);
  });
}

async function checkList(context: CheckContext, original: Listing): Promise<void> {
  const { listing, list } = await enough(context, original);
  if (list === undefined || !(await isStill(listing, list))) return;
  await run(listing, list, wholeList);
  await run(listing, list, stable);
  const probes = [
    ...defaultProbes(listing),
    sizes,
    positions,
    cursors,
    relations,
    counts,
    ...chosenProbes(listing),
    ...orderProbes(listing, list),
    ...filterProbes(listing, list),
  ];
  for (const probe of probes) await run(listing, list, probe);
}

/** Whether the list is stable without writes. A list that changes by itself cannot be checked. */
async function isStill(listing: Listing, list: FullList): Promise<boolean> {
  const again = await walk(listing);
  return again !== undefined && isSameSet(list.keys, again.keys);
}
