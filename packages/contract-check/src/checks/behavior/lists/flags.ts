import { documentsBothValues } from '../../../run/wording.ts';
import type { Listing } from './listing.ts';
import { widest } from './listing.ts';
import type { Difference, Probe } from './probe.ts';
import { shown } from './rows.ts';
import { isFlag } from './slot.ts';

/** Checks flags whose values are documented as opposites: no row may match both. */
export function flagProbes({ controls, vocabulary }: Listing): Probe[] {
  if (vocabulary.filters === false) return [];
  return controls.others
    .filter((slot) => isFlag(slot) && slot.vocabulary.filter !== false && documentsBothValues(slot.description))
    .map(
      (slot): Probe =>
        async (listing, list) => {
          const [on, off] = [
            await listing.reader.read([...widest(listing), [slot, true]]),
            await listing.reader.read([...widest(listing), [slot, false]]),
          ];
          if (on === undefined || off === undefined || list.rows.length === 0) return undefined;
          const keys = off.rows.map(list.keyOf);
          const both = on.rows.map(list.keyOf).filter((key) => keys.includes(key));
          if (both.length === 0) return [];
          return [
            {
              check: 'filter-ignored',
              title: `\`${slot.name}\` true and false return the same rows`,
              expected: 'no row with both values',
              actual: shown(both),
              slot,
              fix: 'Return only rows that match.',
              exchanges: [on.exchange, off.exchange],
            } satisfies Difference,
          ];
        },
    );
}
