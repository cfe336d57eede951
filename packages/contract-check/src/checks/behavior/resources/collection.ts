import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import type { Identity } from '../../../run/identities.ts';
import type { CheckContext } from '../../check.ts';
import { rowsIn } from '../lists/list-metadata.ts';
import { listingOf, widest } from '../lists/listing.ts';
import { walk } from '../lists/walk.ts';

/** Maximum number of requests to read one list. */
const requestsForOne = 20;

export interface Collection {
  readonly rows: readonly JsonObject[];
  readonly rowSchema: JsonObject | undefined;
  /** Whether these are all rows, as far as the server indicates. */
  readonly isComplete: boolean;
  readonly total: number | undefined;
  readonly exchanges: readonly Exchange[];
}

/** Reads a list, up to a few pages; undefined if it cannot be read. */
export async function readCollection(
  { session, baselines }: CheckContext,
  operation: Operation,
  path: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): Promise<Collection | undefined> {
  const listing = listingOf({ session, baselines }, operation, requestsForOne, path);
  const settings = (listing?.slots ?? []).flatMap((slot) =>
    Object.hasOwn(query, slot.name) ? [[slot, query[slot.name]] as const] : [],
  );
  const list = listing === undefined ? undefined : await walk(listing, settings);
  if (listing === undefined || list === undefined) return undefined;
  return {
    rows: list.rows,
    rowSchema: listing.rowSchema,
    isComplete: list.isComplete,
    total: list.pages.at(-1)?.metadata.total?.value,
    exchanges: list.pages.map(({ exchange }) => exchange),
  };
}

/** The first page of a list with the largest size, requested by another identity. */
export async function listAs(
  context: CheckContext,
  operation: Operation,
  identity: Identity,
): Promise<{ rows: readonly JsonObject[]; exchange: Exchange } | undefined> {
  const listing = listingOf(context, operation, requestsForOne);
  const call = listing?.reader.callOf(widest(listing));
  if (listing === undefined || call === undefined) return undefined;
  const exchange = await context.session.send(call, { identity });
  const rows = rowsIn(exchange, listing.reader.member);
  return rows === undefined ? undefined : { rows, exchange };
}
