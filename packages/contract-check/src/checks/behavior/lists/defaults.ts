import type { FullList, Listing } from './listing.ts';
import type { Difference, Probe } from './probe.ts';
import type { Page } from './reader.ts';
import { isSameSequence, keyFor, shown } from './rows.ts';
import type { Slot } from './slot.ts';

/** For each slot with a default, checks that omitting it equals sending the default. */
export function defaultProbes({ slots, vocabulary, controls }: Listing): Probe[] {
  if (!vocabulary.checksDefaults) return [];
  const declared = slots.filter(
    (slot) => slot.default !== undefined && slot.default !== null && !slot.isRequired && slot.vocabulary.checksDefault,
  );
  const { size } = controls;
  const bounded =
    size !== undefined && size.shape.maximum !== undefined ? [(listing: Listing) => bound(listing, size)] : [];
  return [
    ...declared.map(
      (slot): Probe =>
        (listing) =>
          same(listing, slot),
    ),
    ...bounded,
  ];
}

async function same({ reader }: Listing, slot: Slot): Promise<Difference[] | undefined> {
  // Defaults within an omitted object do not apply.
  if (slot.path.length > 1 && slot.place === 'body') return undefined;
  const explicit = await reader.read([[slot, slot.default]]);
  const omitted = await reader.read([]);
  if (explicit === undefined || omitted === undefined) return undefined;
  const keyOf = keyFor([...explicit.rows, ...omitted.rows]);
  const keys = { explicit: explicit.rows.map(keyOf), omitted: omitted.rows.map(keyOf) };
  const others = contradiction(explicit, omitted);
  if (isSameSequence(keys.explicit, keys.omitted) && others === undefined) return [];
  const isSameRows = isSameSequence(keys.explicit, keys.omitted);
  return [
    {
      check: 'default-ignored',
      title: `A request without \`${slot.name}\` differs from a request with its default ${JSON.stringify(slot.default)}`,
      expected: `as with ${JSON.stringify(slot.default)}: ${isSameRows ? others?.explicit : shown(keys.explicit)}`,
      actual: isSameRows ? String(others?.omitted) : shown(keys.omitted),
      slot,
      fix: 'Apply the declared default, or declare the default that applies.',
      exchanges: [explicit.exchange, omitted.exchange],
    },
  ];
}

function contradiction(explicit: Page, omitted: Page): { explicit: string; omitted: string } | undefined {
  const texts = ({ metadata }: Page) => [
    metadata.total === undefined ? 'no total' : `a total of ${metadata.total.value}`,
    metadata.hasMore === undefined ? '' : metadata.hasMore.value ? 'more rows follow' : 'no more rows follow',
  ];
  const [left, right] = [texts(explicit), texts(omitted)];
  const at = left.findIndex((text, index) => text !== right[index]);
  return at < 0 ? undefined : { explicit: left[at] ?? '', omitted: right[at] ?? '' };
}

/** Without a size, a page must not exceed the maximum size. */
async function bound({ reader }: Listing, size: Slot): Promise<Difference[] | undefined> {
  const maximum = size.shape.maximum ?? Number.POSITIVE_INFINITY;
  const page = await reader.read([]);
  if (page === undefined) return undefined;
  if (page.rows.length <= maximum) return [];
  return [
    {
      check: 'page-size',
      title: `Without \`${size.name}\`, a page exceeds the maximum size`,
      expected: `at most ${maximum} rows`,
      actual: `${page.rows.length} rows`,
      slot: size,
      fix: 'Limit the size of pages also if the request does not specify it.',
      exchanges: [page.exchange],
    },
  ];
}

/** Checks that a repeated request returns the same rows in the same order. */
export async function stable({ reader, controls }: Listing, _list: FullList): Promise<Difference[] | undefined> {
  const first = await reader.read([]);
  const second = await reader.read([]);
  if (first === undefined || second === undefined || first.rows.length < 2) return undefined;
  if (first.rows.length !== second.rows.length) return undefined;
  const keyOf = keyFor([...first.rows, ...second.rows]);
  const [before, after] = [first.rows.map(keyOf), second.rows.map(keyOf)];
  const isSameRows = isSameSequence([...before].sort(), [...after].sort());
  // Without paging or an order, rows have no guaranteed sequence.
  const hasOrder = controls.size !== undefined || controls.order !== undefined || controls.cursor !== undefined;
  if (!isSameRows || !hasOrder || isSameSequence(before, after)) return [];
  return [
    {
      check: 'page-order',
      title: 'The same request returns another order the second time',
      expected: shown(before),
      actual: shown(after),
      slot: undefined,
      fix: 'Use a total order: break ties by id.',
      exchanges: [first.exchange, second.exchange],
    },
  ];
}
