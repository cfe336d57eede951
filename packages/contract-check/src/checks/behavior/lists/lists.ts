import type { Operation } from '../../../document/operation.ts';
import { jsonText } from '../../../json.ts';
import { isCreating, isReadingPost, kindsOfOperation, lastParameter } from '../../../run/names.ts';
import { eachOperation } from '../../../run/parallel.ts';
import { type CheckContext, collected, type Differences, needs, observe } from '../../observe.ts';
import { filterChecks } from './filters.ts';
import {
  finding,
  isSameSequence,
  isSameSet,
  keyFor,
  type ListCheck,
  Listing,
  type ListSubject,
  type Page,
  shown,
} from './listing.ts';
import { orderChecks } from './order.ts';
import { pagingChecks } from './paging.ts';
import type { Slot } from './slots.ts';

/** With fewer rows, paging and order cannot be checked reliably. */
const enoughRows = 5;
const maxCreated = 7;
const maxParents = 5;

/** Compares each list with its names, types and declarations: defaults, paging, totals, order, filters and search. */
export async function checkLists(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const lists = session.judged.filter((operation) => operation.method === 'GET' || isReadingPost(operation));
  const check = async (operation: Operation) => {
    const listing = session.isOver ? undefined : Listing.of(context, operation);
    if (listing !== undefined && listing.declared.stable !== false) await checkList(context, listing);
  };
  await eachOperation(lists, 1, check, onProgress);
}

async function checkList(context: CheckContext, original: Listing): Promise<void> {
  const subject = await enough(context, original);
  // A list that changes by itself cannot be checked.
  const again = await subject?.listing.walk();
  if (subject === undefined || again === undefined || !isSameSet(subject.list.keys, again.keys)) return;
  for (const checksOf of [() => pagingChecks, defaultChecks, orderChecks, filterChecks])
    for (const check of checksOf(subject)) await run(subject, check);
}

/** Confirms a difference only if the list, which is read again, did not change in between. */
async function run({ listing, list }: ListSubject, check: ListCheck): Promise<void> {
  if (listing.isOver) return;
  await observe(listing.session, listing.operation, async function* (turn): Differences {
    if (turn === 'one') return yield* check({ listing, list });
    const { left } = listing;
    const before = await listing.walk();
    const found = before ? await collected(check({ listing, list: before })) : [];
    const after = found.length > 0 ? await listing.walk() : undefined;
    // What confirms a difference does not count.
    listing.left = left;
    if (before && after && isSameSet(before.keys, after.keys)) yield* found;
  });
}

/** A list with enough rows: of another parent if this one has too few, or with rows that an operation creates. */
async function enough(context: CheckContext, original: Listing): Promise<ListSubject | undefined> {
  const { session, requests } = context;
  const { operation } = original;
  const first = await original.walk();
  if (first === undefined) return undefined;
  let best = { listing: original, list: first };
  const isShort = () => best.list.rows.length < enoughRows && !session.isOver;
  const isFuller = async (listing = best.listing) => {
    const before = best.list.rows.length;
    const list = await listing.walk();
    if (list !== undefined && list.rows.length >= before) best = { listing, list };
    return best.list.rows.length > before;
  };
  const name = lastParameter(operation.path) ?? '';
  const { likely } = session.pool.forParameter(operation, name, false);
  for (const id of likely.filter((one) => name !== '' && one !== original.base.path[name]).slice(0, maxParents))
    if (isShort()) await isFuller(Listing.of(context, operation, { [name]: id }));
  for (const creator of creatorsOf(context, operation))
    for (let count = 0; count < maxCreated && isShort(); count += 1) {
      const created = await requests.again(creator, `row ${count} of ${operation.id}`);
      // The call may have updated a row instead, or created one of another type.
      if (created === undefined || !(await isFuller())) break;
    }
  return best;
}

/** Operations that may create rows of a list: at the same path, or of the same type. */
function creatorsOf({ session, requests }: CheckContext, operation: Operation): Operation[] {
  const kindsOf = (one: Operation) => kindsOfOperation(session.document, one);
  const kinds = new Set(kindsOf(operation));
  const isOwn = ({ path }: Operation) => path === operation.path;
  return session.operations
    .filter((one) => isCreating(one) && requests.of(one) !== undefined)
    .filter((one) => isOwn(one) || kindsOf(one).some((kind) => kinds.has(kind)))
    .sort((left, right) => Number(isOwn(right)) - Number(isOwn(left)))
    .slice(0, 3);
}

/** Omitting a parameter must equal sending its default. */
function defaultChecks({ listing: { slots, declared } }: ListSubject): ListCheck[] {
  const optional = slots.filter(
    (slot) =>
      (slot.default ?? undefined) !== undefined &&
      !slot.isRequired &&
      slot.declared.default !== false &&
      // Defaults within an omitted object do not apply.
      !(slot.path.length > 1 && slot.place === 'body'),
  );
  return (declared.default === false ? [] : optional).map((slot) => (subject) => sameAsDefault(subject, slot));
}

async function* sameAsDefault({ listing }: ListSubject, slot: Slot): Differences {
  const explicit = await listing.page([[slot, slot.default]]);
  const omitted = await listing.page([]);
  const keyOf = keyFor([...explicit.rows, ...omitted.rows]);
  const isSameRows = isSameSequence(explicit.rows.map(keyOf), omitted.rows.map(keyOf));
  const texts = ({ rows, metadata: { totals, hasMore } }: Page) => [
    isSameRows ? '' : shown(rows.map(keyOf)),
    totals[0] === undefined ? 'no total' : `a total of ${totals[0].value}`,
    hasMore === undefined ? '' : hasMore.value ? 'more rows follow' : 'no more rows follow',
  ];
  const [expected, actual] = [texts(explicit), texts(omitted)];
  const at = expected.findIndex((text, index) => text !== actual[index]);
  needs(at >= 0);
  const facts = { expected: `as with ${jsonText(slot.default)}: ${expected[at]}`, actual: actual[at] ?? '' };
  const exchanges = [explicit.exchange, omitted.exchange];
  yield finding(listing, 'default-ignored', slot, { ...facts, exchanges });
}
