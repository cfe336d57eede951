import { wordsOf } from '../../../run/words.ts';
import { directionOf } from './controls.ts';
import { type DocumentedOrder, judgedAsDocumented } from './documented-order.ts';
import type { FullList, Listing } from './listing.ts';
import { widest } from './listing.ts';
import { breachOf } from './order-judge.ts';
import type { OrderKey } from './order-keys.ts';
import type { Difference, Probe } from './probe.ts';
import { distinct, matchOf, type Property } from './properties.ts';
import type { Page } from './reader.ts';

/** A direction without an order parameter applies to the documented property, or to the one that is ascending. */
export function directionProbes(
  { controls, vocabulary }: Listing,
  list: FullList,
  documented: DocumentedOrder,
): Probe[] {
  const { direction } = controls;
  if (direction === undefined || controls.order !== undefined || vocabulary.order === false || list.rows.length < 2)
    return [];
  return [
    async (listing, whole) => {
      const ways = (direction.shape.enum ?? []).map((way) => ({ way, meant: directionOf(way) }));
      const pages: { page: Page; isDescending: boolean }[] = [];
      for (const isDescending of [false, true]) {
        const way = ways.find(({ meant }) => meant?.isDescending === isDescending && meant.nulls === undefined)?.way;
        const page = way === undefined ? undefined : await listing.reader.read([...widest(listing), [direction, way]]);
        if (page !== undefined) pages.push({ page, isDescending });
      }
      const [up, down] = pages;
      if (up === undefined || down === undefined) return undefined;
      const property = documented.keys[0]?.property ?? sortedBy(whole, direction.description);
      if (property === undefined)
        return exchanged(whole, direction.name, up.page, down.page).map((one) => ({ ...one, slot: direction }));
      const found = pages.flatMap(({ page, isDescending }) =>
        judgedAsDocumented(
          listing,
          page.rows,
          [
            keyFor(property, isDescending),
            ...(documented.ties === undefined || (documented.ties.isDescending === undefined && isDescending)
              ? []
              : [{ ...documented.ties, isDescending: documented.ties.isDescending ?? false }]),
          ],
          [page],
          direction,
        ),
      );
      return found.slice(0, 1);
    },
  ];
}

function keyFor(property: Property, isDescending: boolean): OrderKey {
  return { property, isDescending, nulls: undefined, unit: undefined, extraSettings: [], label: property.name };
}

/** The only property that the description names in backticks. */
function sortedBy({ properties }: FullList, description: string): Property | undefined {
  const names = [...description.matchAll(/`([\w.]+)`/g)].flatMap(([, name]) => {
    const match = name === undefined ? undefined : matchOf(properties, wordsOf(name));
    return match?.isExact === true ? [match.property] : [];
  });
  return new Set(names).size === 1 ? names[0] : undefined;
}

/**
 * Reports swapped directions: no property is ascending in ascending order, and one is descending in it and ascending in
 * descending order.
 */
function exchanged({ properties }: FullList, name: string, up: Page, down: Page): Omit<Difference, 'slot'>[] {
  const telling = properties.filter((property) => [up, down].every(({ rows }) => distinct(rows, property).length >= 4));
  const isOrdered = (page: Page, isDescending: boolean) => (property: Property) =>
    breachOf(page.rows, keyFor(property, isDescending)) === undefined;
  const wrong = telling.find((property) => isOrdered(up, true)(property) && isOrdered(down, false)(property));
  if (wrong === undefined || telling.some(isOrdered(up, false)) || telling.some(isOrdered(down, true))) return [];
  return [
    {
      check: 'order-ignored',
      title: `Ascending and descending order by \`${name}\` are swapped`,
      expected: 'ascending rows if the request asks for ascending order',
      actual: `\`${wrong.name}\` is descending, and no property is ascending`,
      fix: 'Sort in the requested direction.',
      exchanges: [up.exchange, down.exchange],
    },
  ];
}
