import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { rowsSchema } from '../../../run/names.ts';
import type { CheckContext } from '../../checks.ts';
import { controlsOf } from '../lists/controls.ts';
import { Reader } from '../lists/reader.ts';
import { slotsOf } from '../lists/slot.ts';
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
  const baseline = baselines.of(operation);
  const rows = rowsSchema(session.document, answerSchema(operation));
  if (baseline === undefined || rows === undefined) return undefined;
  const call = { ...baseline.call, path: { ...baseline.call.path, ...path } };
  const slots = slotsOf(session.document, operation, call);
  const list = await walk({
    session,
    document: session.document,
    operation,
    reader: new Reader(session, call, rows.member, 20),
    controls: controlsOf(slots),
    slots,
    said: vocabularyOf(operation),
    rowSchema: rows.schema,
  });
  if (list === undefined) return undefined;
  return {
    rows: list.rows,
    rowSchema: rows.schema,
    isComplete: list.isComplete,
    total: list.pages.at(-1)?.told.total?.value,
    exchanges: list.pages.map(({ exchange }) => exchange),
  };
}
