import { isObject, type JsonObject } from '../../../json.ts';
import { wordsOf } from '../../../run/words.ts';
import { type Difference, need, valued } from '../observe.ts';
import { chooserOf, chosenDifferences } from './chosen-members.ts';
import { finding, isSameSequence, keyFor, type ListCheck, type ListSubject, type Page, shown } from './listing.ts';
import type { Slot } from './slots.ts';
import { distinct, matchOf, type Property, valueIn } from './values.ts';

/** Checks of single inputs of a list: defaults, page sizes without a request, selected properties, and counts. */
export function* inputChecks({ listing }: ListSubject): Generator<ListCheck> {
  const { slots, declared, controls, document, rowSchema } = listing;
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
  for (const slot of slots.filter(({ path, isRequired }) => path.length === 1 && !isRequired)) {
    const chooser = rowSchema && chooserOf(document, slot.name, slot.shape, rowSchema, slot.declared.only === true);
    if (chooser !== undefined)
      yield {
        name: 'members',
        describe: 'A parameter that selects properties returns them.',
        async run({ listing, list }) {
          const plain = { resources: list.rows, exchange: need(list.exchanges[0]) };
          const found = await chosenDifferences(chooser, plain, async (value) => {
            const page = await listing.read([...listing.widest, [slot, value]]);
            return page && { resources: page.rows, exchange: page.exchange };
          });
          return found.flatMap((facts) => finding(listing, 'members-chosen', slot, facts));
        },
      };
  }
  const describe = 'Counts by a property next to the rows cover all rows, not only the page.';
  yield { name: 'counts', describe, run: counts };
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

interface Counts {
  readonly name: string;
  readonly property: Property;
  readonly values: JsonObject;
}

async function counts({ listing, list }: ListSubject): Promise<Difference[] | undefined> {
  // Counts that do not match even the whole list count something else.
  const isWhole = countsIn(list.properties, list.rows, need(list.pages[0])).some((one) => isOf(one, list.rows));
  if (!list.isComplete || list.rows.length < 2 || !isWhole) return undefined;
  const short = await listing.page([...listing.widest, ...listing.sized(1)]);
  const wrong = countsIn(list.properties, list.rows, short).filter(
    (one) => !isOf(one, list.rows) && isOf(one, short.rows),
  );
  return wrong.flatMap(({ name, property, values }) =>
    finding(listing, 'page-counts', undefined, {
      ...valued(name, countOf(list.rows, property), values),
      exchanges: [...list.exchanges, short.exchange],
    }),
  );
}

/** Objects with counts next to the rows, whose keys are values of the property in the object's name. */
function countsIn(properties: readonly Property[], rows: readonly JsonObject[], { exchange }: Page): Counts[] {
  const body = exchange.response.json?.value;
  return Object.entries(isObject(body) ? body : {}).flatMap(([name, values]): Counts[] => {
    const words = wordsOf(name);
    const isLast = /^(?:counts?|totals?|facets?)$/.test(words.at(-1) ?? '');
    const property = matchOf(
      properties,
      isLast ? words.slice(0, -1) : words[1] === 'by' ? words.slice(2) : [],
    )?.property;
    if (!isObject(values) || property === undefined || Object.keys(values).length === 0) return [];
    const known = new Set(distinct(rows, property).map(String));
    const isOfValues = Object.entries(values).every(([key, value]) => known.has(key) && typeof value === 'number');
    return isOfValues ? [{ name, property, values }] : [];
  });
}

function countOf(rows: readonly JsonObject[], property: Property): JsonObject {
  const groups = Map.groupBy(rows, (row) => String(valueIn(row, property)));
  return Object.fromEntries([...groups].map(([value, group]) => [value, group.length]));
}

function isOf({ property, values }: Counts, rows: readonly JsonObject[]): boolean {
  const counted = countOf(rows, property);
  return [...Object.keys(values), ...Object.keys(counted)].every(
    (key) => Number(values[key] ?? 0) === Number(counted[key] ?? 0),
  );
}
