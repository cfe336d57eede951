import type { Operation } from '../../../document/operation.ts';
import type { Call } from '../../../http/call.ts';
import { isCreating, kindsOfOperation, lastParameter } from '../../../run/names.ts';
import type { CheckContext } from '../../check.ts';
import type { FullList, Listing } from './listing.ts';
import { Reader } from './reader.ts';
import { walk } from './walk.ts';

/** With fewer rows, paging and order cannot be checked reliably. */
const expected = 5;
const maxCreated = 7;

/**
 * Finds enough rows for the checks: selects another parent if this one has too few, and creates rows if an operation
 * can.
 */
export async function enough(
  context: CheckContext,
  original: Listing,
): Promise<{ listing: Listing; list: FullList | undefined }> {
  let listing = original;
  let list = await walk(listing);
  if (list !== undefined && list.rows.length < expected)
    ({ listing, list } = await ofFullerParent(context, listing, list));
  if (list === undefined || list.rows.length >= expected) return { listing, list };
  for (const creator of creatorsOf(context, listing.operation)) {
    const more: FullList | undefined = await afterCreating(context, listing, list, creator);
    if (more !== undefined) list = more;
    if (list.rows.length >= expected) break;
  }
  return { listing, list };
}

/** For a nested list, selects the parent with the most rows. */
async function ofFullerParent(
  { session }: CheckContext,
  listing: Listing,
  list: FullList,
): Promise<{ listing: Listing; list: FullList }> {
  const { operation, reader } = listing;
  const name = lastParameter(operation.path);
  const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name);
  if (name === undefined || parameter === undefined) return { listing, list };
  let best = { listing, list };
  const known = session.pool.forParameter(operation, name, false).likely;
  for (const id of known.filter((one) => one !== reader.base.path[name]).slice(0, 5)) {
    if (
      session.isOver ||
      best.list.rows.length >= expected ||
      !session.validators.accepts(parameter.schema, id, 'request')
    )
      continue;
    const call: Call = { ...reader.base, path: { ...reader.base.path, [name]: id } };
    const other = { ...listing, reader: new Reader(session, call, reader.member, reader.left) };
    const found = await walk(other);
    if (found !== undefined && found.rows.length > best.list.rows.length) best = { listing: other, list: found };
  }
  return best;
}

/**
 * Creates rows until there are enough, or until the list does not grow: then the operation creates another type of
 * resource.
 */
async function afterCreating(
  { session, baselines }: CheckContext,
  listing: Listing,
  before: FullList,
  creator: Operation,
): Promise<FullList | undefined> {
  let list = before;
  for (let count = 0; count < maxCreated && list.rows.length < expected && !session.isOver; count += 1) {
    const created = await baselines.again(creator, `row ${count} of ${listing.operation.id}`);
    const after = created === undefined ? undefined : await walk(listing);
    if (after === undefined) return list;
    // The call may have updated a row instead, so the list must be read again.
    const isMore = after.rows.length > list.rows.length;
    list = after;
    if (!isMore) return list;
  }
  return list;
}

/** Operations that may create rows of a list: at the same path, above it, or of the same type. */
function creatorsOf({ session, baselines }: CheckContext, operation: Operation): Operation[] {
  const kinds = kindsOfOperation(session.document, operation);
  const creators = session.operations.filter((one) => isCreating(one) && baselines.of(one) !== undefined);
  const ranks = creators.map((creator) => {
    if (creator.path === operation.path) return { maker: creator, rank: 0 };
    if (!creator.path.includes('{') && operation.path.startsWith(`${creator.path}/`))
      return { maker: creator, rank: 1 };
    return {
      maker: creator,
      rank: kindsOfOperation(session.document, creator).some((kind) => kinds.includes(kind)) ? 2 : 9,
    };
  });
  return ranks
    .filter(({ rank }) => rank < 9)
    .sort((left, right) => left.rank - right.rank)
    .map(({ maker: creator }) => creator)
    .slice(0, 3);
}
