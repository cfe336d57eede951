import type { OpenApiDocument } from '../../../document/document.ts';
import type { Operation } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';
import type { Session } from '../../../run/session.ts';
import type { Controls } from './controls.ts';
import type { Property } from './properties.ts';
import type { Page, Reader, Settings } from './reader.ts';
import type { KeyOf } from './rows.ts';
import type { Slot } from './slot.ts';
import type { ListVocabulary } from './vocabulary.ts';

/** The list as it stands: what every probe compares with. */
export interface FullList {
  readonly rows: readonly JsonObject[];
  readonly keys: readonly string[];
  readonly keyOf: KeyOf;
  /** Whether these are all rows, as far as the server tells. */
  readonly isComplete: boolean;
  readonly pages: readonly Page[];
  readonly properties: readonly Property[];
}

/** A list operation under check, and all that is known of how to ask it. */
export interface Listing {
  readonly session: Session;
  readonly document: OpenApiDocument;
  readonly operation: Operation;
  readonly reader: Reader;
  readonly controls: Controls;
  readonly slots: readonly Slot[];
  readonly said: ListVocabulary;
  readonly rowSchema: JsonObject | undefined;
}

/** As many rows as a page may have, and the total where one has to ask for it. */
export function widest({ controls: { size, total } }: Listing): Settings {
  return [
    ...(size === undefined ? [] : [[size, largest(size)] as const]),
    ...(total === undefined ? [] : [[total, true] as const]),
  ];
}

/** The largest page that a list is asked for: where there are more rows, they are read in several. */
export function largest({ shape }: Slot, most = 100): number {
  const maximum = shape.maximum ?? (shape.exclusiveMaximum === undefined ? undefined : shape.exclusiveMaximum - 1);
  const declared = shape.enum?.filter((one) => typeof one === 'number');
  if (declared !== undefined && declared.length > 0) return Math.max(...declared);
  return Math.min(maximum ?? 100, most);
}

export function sized({ controls: { size } }: Listing, count: number): Settings {
  return size === undefined ? [] : [[size, count]];
}
