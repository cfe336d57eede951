import type { OpenApiDocument } from '../../../document/document.ts';
import type { Operation } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';
import { rowsSchema } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import type { CheckContext } from '../../check.ts';
import { responseSchema } from '../resources/schema.ts';
import { type Controls, controlsOf } from './controls.ts';
import type { Property } from './properties.ts';
import { type Page, Reader, type Settings } from './reader.ts';
import type { KeyOf } from './rows.ts';
import { type Slot, slotsOf } from './slot.ts';
import { type ListVocabulary, vocabularyOf } from './vocabulary.ts';

/** The current list, which every probe compares with. */
export interface FullList {
  readonly rows: readonly JsonObject[];
  readonly keys: readonly string[];
  readonly keyOf: KeyOf;
  /** Whether these are all rows, as far as the server indicates. */
  readonly isComplete: boolean;
  readonly pages: readonly Page[];
  readonly properties: readonly Property[];
}

/** A list operation, and how to request it. */
export interface Listing {
  readonly session: Session;
  readonly document: OpenApiDocument;
  readonly operation: Operation;
  readonly reader: Reader;
  readonly controls: Controls;
  readonly slots: readonly Slot[];
  readonly vocabulary: ListVocabulary;
  readonly rowSchema: JsonObject | undefined;
}

/**
 * Describes how to request the rows of an operation; undefined if it has none, or if no successful call is known.
 *
 * @param requests maximum number of requests, excluding those that confirm a finding.
 * @param path overrides path parameters of the known call.
 */
export function listingOf(
  { session, baselines }: Pick<CheckContext, 'session' | 'baselines'>,
  operation: Operation,
  requests: number,
  path: Readonly<Record<string, unknown>> = {},
): Listing | undefined {
  const baseline = baselines.of(operation);
  const rows = rowsSchema(session.document, responseSchema(operation));
  if (baseline === undefined || rows === undefined) return undefined;
  const call = { ...baseline.call, path: { ...baseline.call.path, ...path } };
  const slots = slotsOf(session.document, operation, call);
  return {
    session,
    document: session.document,
    operation,
    reader: new Reader(session, call, rows.member, requests),
    controls: controlsOf(slots),
    slots,
    vocabulary: vocabularyOf(operation),
    rowSchema: rows.schema,
  };
}

/** Requests the largest page, and the total if there is a flag for it. */
export function widest({ controls: { size, total } }: Listing): Settings {
  return [
    ...(size === undefined ? [] : [[size, largest(size)] as const]),
    ...(total === undefined ? [] : [[total, true] as const]),
  ];
}

/** The largest page size to request. Longer lists are read in several pages. */
export function largest({ shape }: Slot, most = 100): number {
  const maximum = shape.maximum ?? (shape.exclusiveMaximum === undefined ? undefined : shape.exclusiveMaximum - 1);
  const declared = shape.enum?.filter((one) => typeof one === 'number');
  if (declared !== undefined && declared.length > 0) return Math.max(...declared);
  return Math.min(maximum ?? 100, most);
}

export function sized({ controls: { size } }: Listing, count: number): Settings {
  return size === undefined ? [] : [[size, count]];
}
