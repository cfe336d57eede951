import type { Operation } from '../../../document/operation.ts';
import { isCreating, isReadingPost, kindsOfOperation, lastParameter } from '../../../run/names.ts';
import { eachOperation } from '../../../run/parallel.ts';
import type { CheckContext } from '../../check.ts';
import { observe } from '../observe.ts';
import { filterChecks, searchChecks } from './filters.ts';
import { inputChecks, stable } from './inputs.ts';
import { type FullList, isSameSet, type ListCheck, Listing, type ListSubject } from './listing.ts';
import { orderChecks } from './order.ts';
import { pagingChecks } from './paging.ts';

/** Maximum number of requests per list, excluding those that confirm a finding. */
const requestsForOne = 150;
const requestsToConfirm = 200;

/** With fewer rows, paging and order cannot be checked reliably. */
const enoughRows = 5;
const maxCreated = 7;

/** Compares each list with its names, types and declarations: defaults, paging, totals, order, filters and search. */
export async function checkLists(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const lists = session.judged.filter((operation) => operation.method === 'GET' || isReadingPost(operation));
  let done = 0;
  await eachOperation(lists, 1, async (operation) => {
    const listing = session.isOver ? undefined : Listing.of(context, operation, requestsForOne);
    if (listing !== undefined && listing.declared.stable !== false) await checkList(context, listing);
    done += 1;
    onProgress(done, lists.length);
  });
}

async function checkList(context: CheckContext, original: Listing): Promise<void> {
  const subject = await enough(context, original);
  // A list that changes by itself cannot be checked.
  const again = await subject?.listing.walk();
  if (subject === undefined || again === undefined || !isSameSet(subject.list.keys, again.keys)) return;
  const [whole, ...paging] = pagingChecks;
  for (const check of [whole, stable]) if (check !== undefined) await run(subject, check);
  for (const checksOf of [inputChecks, () => paging, orderChecks, filterChecks, searchChecks])
    for (const check of checksOf(subject)) await run(subject, check);
}

/** Confirms a difference only if the list, which is read again, did not change in between. */
async function run({ listing, list }: ListSubject, { applies, run: check }: ListCheck): Promise<void> {
  if (listing.isOver || applies?.({ listing, list }) === false) return;
  await observe(listing.session, listing.operation, async (turn) => {
    if (turn === 'one') return check({ listing, list }, turn);
    const { left } = listing;
    // Confirmation must not fail because the request limit is reached.
    listing.left = requestsToConfirm;
    try {
      const before = await listing.walk();
      const found = before && (await check({ listing, list: before }, turn));
      const after = found?.length ? await listing.walk() : undefined;
      return before && after && isSameSet(before.keys, after.keys) ? found : undefined;
    } finally {
      listing.left = left;
    }
  });
}

/** A list with enough rows: of another parent if this one has too few, or with rows that an operation creates. */
async function enough(context: CheckContext, listing: Listing): Promise<ListSubject | undefined> {
  const list = await listing.walk();
  let subject = list && (await ofFullerParent(context, { listing, list }));
  for (const creator of creatorsOf(context, listing.operation))
    if (subject !== undefined && subject.list.rows.length < enoughRows)
      subject = await withMore(context, subject, creator);
  return subject;
}

/** For a nested list, selects the parent with the most rows. */
async function ofFullerParent({ session }: CheckContext, subject: ListSubject): Promise<ListSubject> {
  const { operation, base } = subject.listing;
  const name = lastParameter(operation.path) ?? '';
  const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name);
  let best = subject;
  const known = parameter === undefined ? [] : session.pool.forParameter(operation, name, false).likely;
  for (const id of known.filter((one) => one !== base.path[name]).slice(0, 5)) {
    if (session.isOver || best.list.rows.length >= enoughRows) break;
    if (!session.validators.accepts(parameter?.schema ?? {}, id, 'request')) continue;
    const listing = subject.listing.below({ ...base.path, [name]: id });
    const list = await listing.walk();
    if (list !== undefined && list.rows.length > best.list.rows.length) best = { listing, list };
  }
  return best;
}

/** Creates rows until there are enough, or until the list does not grow: then they are of another type. */
async function withMore(
  { session, requests }: CheckContext,
  { listing, list }: ListSubject,
  creator: Operation,
): Promise<ListSubject> {
  let current: FullList = list;
  for (let count = 0; count < maxCreated && current.rows.length < enoughRows && !session.isOver; count += 1) {
    const created = await requests.again(creator, `row ${count} of ${listing.operation.id}`);
    const after = created && (await listing.walk());
    // The call may have updated a row instead, so the list must be read again.
    const isMore = after !== undefined && after.rows.length > current.rows.length;
    current = after ?? current;
    if (!isMore) break;
  }
  return { listing, list: current };
}

/** Operations that may create rows of a list: at the same path, above it, or of the same type. */
function creatorsOf({ session, requests }: CheckContext, operation: Operation): Operation[] {
  const kinds = kindsOfOperation(session.document, operation);
  const rankOf = (creator: Operation) => {
    if (creator.path === operation.path) return 0;
    if (!creator.path.includes('{') && operation.path.startsWith(`${creator.path}/`)) return 1;
    return kindsOfOperation(session.document, creator).some((kind) => kinds.includes(kind)) ? 2 : 9;
  };
  return session.operations
    .filter((one) => isCreating(one) && requests.of(one) !== undefined && rankOf(one) < 9)
    .sort((left, right) => rankOf(left) - rankOf(right))
    .slice(0, 3);
}
