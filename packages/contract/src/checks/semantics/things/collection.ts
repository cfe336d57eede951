import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { rowsSchema } from '../../../run/names.ts';
import type { Identity } from '../../../run/session.ts';
import type { CheckContext } from '../../checks.ts';
import { controlsOf } from '../lists/controls.ts';
import { type Listing, widest } from '../lists/listing.ts';
import { Reader } from '../lists/reader.ts';
import { slotsOf } from '../lists/slot.ts';
import { rowsIn } from '../lists/told.ts';
import { vocabularyOf } from '../lists/vocabulary.ts';
import { walk } from '../lists/walk.ts';
import { answerSchema } from './schema.ts';

/** A list as it stands. */
export interface Collection {
  readonly rows: readonly JsonObject[];
  readonly rowSchema: JsonObject | undefined;
  /** Whether these are all rows, as far as the server tells. */
  readonly isComplete: boolean;
  readonly total: number | undefined;
  readonly exchanges: readonly Exchange[];
}

/** Reads a list whole, as far as a few pages go; undefined where it cannot be read. */
export async function readCollection(
  { session, baselines }: CheckContext,
  operation: Operation,
  path: Readonly<Record<string, unknown>> = {},
): Promise<Collection | undefined> {
  const listing = listingOf({ session, baselines }, operation, path);
  const list = listing === undefined ? undefined : await walk(listing);
  if (listing === undefined || list === undefined) return undefined;
  return {
    rows: list.rows,
    rowSchema: listing.rowSchema,
    isComplete: list.isComplete,
    total: list.pages.at(-1)?.told.total?.value,
    exchanges: list.pages.map(({ exchange }) => exchange),
  };
}

/** The first page of a list, as large as may be, as somebody else sees it. */
export async function listAs(
  context: CheckContext,
  operation: Operation,
  identity: Identity,
): Promise<{ rows: readonly JsonObject[]; exchange: Exchange } | undefined> {
  const listing = listingOf(context, operation, {});
  const call = listing?.reader.callOf(widest(listing));
  if (listing === undefined || call === undefined) return undefined;
  const exchange = await context.session.send(call, { identity });
  const rows = rowsIn(exchange, listing.reader.member);
  return rows === undefined ? undefined : { rows, exchange };
}

function listingOf(
  { session, baselines }: Pick<CheckContext, 'session' | 'baselines'>,
  operation: Operation,
  path: Readonly<Record<string, unknown>>,
): Listing | undefined {
  const baseline = baselines.of(operation);
  const rows = rowsSchema(session.document, answerSchema(operation));
  if (baseline === undefined || rows === undefined) return undefined;
  const call = { ...baseline.call, path: { ...baseline.call.path, ...path } };
  const slots = slotsOf(session.document, operation, call);
  return {
    session,
    document: session.document,
    operation,
    reader: new Reader(session, call, rows.member, 20),
    controls: controlsOf(slots),
    slots,
    said: vocabularyOf(operation),
    rowSchema: rows.schema,
  };
}
