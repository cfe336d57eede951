import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import type { Identity } from '../../../run/identities.ts';
import type { CheckContext } from '../../check.ts';
import { type FullList, Listing } from '../lists/listing.ts';
import { rowsIn } from '../lists/metadata.ts';

/** Maximum number of requests to read one list. */
const requestsForOne = 20;

/** Reads a list, up to a few pages; undefined if it cannot be read. */
export async function readCollection(
  context: CheckContext,
  operation: Operation,
  path: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): Promise<FullList | undefined> {
  const listing = Listing.of(context, operation, requestsForOne, path);
  const settings = (listing?.slots ?? []).filter(({ name }) => Object.hasOwn(query, name));
  return listing?.walk(settings.map((slot) => [slot, query[slot.name]] as const));
}

/** The first page of a list with the largest size, requested by another identity. */
export async function listAs(
  context: CheckContext,
  operation: Operation,
  identity: Identity,
): Promise<{ rows: readonly JsonObject[]; exchange: Exchange } | undefined> {
  const listing = Listing.of(context, operation, requestsForOne);
  const call = listing?.callOf(listing.widest);
  if (listing === undefined || call === undefined) return undefined;
  const exchange = await context.session.send(call, { identity });
  const rows = rowsIn(exchange, listing.member);
  return rows && { rows, exchange };
}
