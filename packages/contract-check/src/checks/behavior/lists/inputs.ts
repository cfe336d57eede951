import { type Difference, need } from '../observe.ts';
import { finding, isSameSequence, keyFor, type ListCheck, type ListSubject, type Page, shown } from './listing.ts';
import type { Slot } from './slots.ts';

/** Checks of single inputs of a list: defaults, and page sizes without a request. */
export function* inputChecks({ listing }: ListSubject): Generator<ListCheck> {
  const { slots, declared, controls } = listing;
  for (const slot of declared.default === false ? [] : slots) {
    const isOptional = (slot.default ?? undefined) !== undefined && !slot.isRequired && slot.declared.default !== false;
    // Defaults within an omitted object do not apply.
    if (isOptional && !(slot.path.length > 1 && slot.place === 'body'))
      yield {
        name: 'default',
        describe: 'Omitting a parameter equals sending its default.',
        run: (subject) => sameAsDefault(subject, slot),
      };
  }
  if (controls.size?.shape.maximum !== undefined)
    yield { name: 'maximum', describe: 'Without a size, a page does not exceed the maximum size.', run: bounded };
}

async function sameAsDefault({ listing }: ListSubject, slot: Slot): Promise<Difference[]> {
  const explicit = await listing.page([[slot, slot.default]]);
  const omitted = await listing.page([]);
  const keyOf = keyFor([...explicit.rows, ...omitted.rows]);
  const texts = ({ rows, metadata: { totals, hasMore } }: Page) => [
    shown(rows.map(keyOf)),
    totals[0] === undefined ? 'no total' : `a total of ${totals[0].value}`,
    hasMore === undefined ? '' : hasMore.value ? 'more rows follow' : 'no more rows follow',
  ];
  const [left, right] = [texts(explicit), texts(omitted)];
  const isSameRows = isSameSequence(explicit.rows.map(keyOf), omitted.rows.map(keyOf));
  const at = isSameRows ? left.findIndex((text, index) => index > 0 && text !== right[index]) : 0;
  if (at < 0) return [];
  return finding(listing, 'default-ignored', slot, {
    expected: `as with ${JSON.stringify(slot.default)}: ${left[at]}`,
    actual: right[at] ?? '',
    exchanges: [explicit.exchange, omitted.exchange],
  });
}

async function bounded({ listing }: ListSubject): Promise<Difference[]> {
  const { size } = listing.controls;
  const maximum = need(size?.shape.maximum);
  const page = await listing.page([]);
  if (page.rows.length <= maximum) return [];
  const facts = { expected: `at most ${maximum} rows`, actual: `${page.rows.length} rows` };
  return finding(listing, 'page-size', size, { ...facts, exchanges: [page.exchange] });
}

/** A repeated request must return the same rows in the same order. Without paging or an order, it is not guaranteed. */
export const stable: ListCheck = {
  name: 'stable',
  describe: 'A repeated request returns the same order.',
  async run({ listing }) {
    const { size, order, cursor } = listing.controls;
    const [first, second] = [await listing.page([]), await listing.page([])];
    if (first.rows.length < 2) return undefined;
    const keyOf = keyFor([...first.rows, ...second.rows]);
    const [before, after] = [first.rows.map(keyOf), second.rows.map(keyOf)];
    const isSameRows = isSameSequence(before.toSorted(), after.toSorted());
    if (!isSameRows || (size ?? order ?? cursor) === undefined || isSameSequence(before, after)) return [];
    const exchanges = [first.exchange, second.exchange];
    return finding(listing, 'page-order', undefined, { expected: shown(before), actual: shown(after), exchanges });
  },
};
