import { jsonText } from '../../../json.ts';
import type { Difference } from '../observe.ts';
import { finding, isSameSequence, keyFor, type ListCheck, type ListSubject, type Page, shown } from './listing.ts';
import type { Slot } from './slots.ts';

/** Omitting a parameter must equal sending its default. */
export function defaultChecks({ listing: { slots, declared } }: ListSubject): ListCheck[] {
  const optional = slots.filter(
    (slot) =>
      (slot.default ?? undefined) !== undefined &&
      !slot.isRequired &&
      slot.declared.default !== false &&
      // Defaults within an omitted object do not apply.
      !(slot.path.length > 1 && slot.place === 'body'),
  );
  return (declared.default === false ? [] : optional).map((slot) => ({
    describe: 'Omitting a parameter equals sending its default.',
    run: (subject) => sameAsDefault(subject, slot),
  }));
}

async function sameAsDefault({ listing }: ListSubject, slot: Slot): Promise<Difference[]> {
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
  if (at < 0) return [];
  return finding(listing, 'default-ignored', slot, {
    expected: `as with ${jsonText(slot.default)}: ${expected[at]}`,
    actual: actual[at] ?? '',
    exchanges: [explicit.exchange, omitted.exchange],
  });
}
