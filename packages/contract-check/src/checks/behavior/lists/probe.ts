import type { Place } from '../../../document/document.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import type { FullList, Listing } from './listing.ts';
import { isSameSet } from './rows.ts';
import type { Slot } from './slot.ts';
import { walk } from './walk.ts';

/** A deviation from correct behavior that a probe observed. */
export interface Difference {
  readonly check: CheckName;
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  /** The parameter it is about; undefined for the operation as a whole. */
  readonly slot: Slot | undefined;
  readonly fix: string;
  readonly exchanges: readonly Exchange[];
}

/** Undefined if nothing could be observed. */
export type Probe = (listing: Listing, list: FullList) => Promise<readonly Difference[] | undefined>;

/**
 * Runs a probe. Reports a difference only if the whole observation, including the full list, can be repeated and the
 * list did not change in between.
 */
export async function run(listing: Listing, list: FullList, probe: Probe): Promise<void> {
  const { session, operation, reader } = listing;
  if (reader.isOver) return;
  const found = await probe(listing, list);
  if (found === undefined) return;
  session.observed(operation, 'behavior');
  for (const difference of found) {
    const cause = causeOf(listing, difference);
    if (session.registry.has(cause)) continue;
    const confirmed = await again(listing, probe, cause);
    if (confirmed === undefined) {
      // Several probes share a cause: two unrepeated observations of different probes do not confirm each other.
      session.notices.add(`${operation.id}: ${difference.title}; it was observed once and did not occur again`);
      continue;
    }
    await session.report(
      {
        check: difference.check,
        category: 'behavior',
        operation: operation.id,
        title: difference.title,
        expected: difference.expected,
        actual: difference.actual,
        place: placeOf(listing, difference.slot),
        fix: difference.fix,
        cause,
      },
      confirmed,
    );
  }
}

async function again(listing: Listing, probe: Probe, cause: string): Promise<readonly Exchange[] | undefined> {
  const { reader } = listing;
  const left = reader.left;
  // Confirmation must not fail because the request limit is reached.
  reader.left = 200;
  try {
    const before = await walk(listing);
    if (before === undefined) return undefined;
    const found = await probe(listing, before);
    const same = found?.find((difference) => causeOf(listing, difference) === cause);
    if (same === undefined) return undefined;
    const after = await walk(listing);
    return after !== undefined && isSameSet(before.keys, after.keys) ? same.exchanges : undefined;
  } finally {
    reader.left = left;
  }
}

function causeOf({ operation }: Listing, { check, slot }: Difference): string {
  return `${check} ${operation.id}${slot === undefined ? '' : ` ${slot.place} ${slot.name}`}`;
}

function placeOf({ document, operation }: Listing, slot: Slot | undefined): Place | undefined {
  return (slot === undefined ? undefined : document.placeOf(slot.source)) ?? document.placeOf(operation.node);
}
