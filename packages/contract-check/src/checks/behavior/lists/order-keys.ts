import type { OpenApiDocument } from '../../../document/document.ts';
import { wordsOf } from '../../../run/words.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { type Direction, directionOf } from './controls.ts';
import type { Listing } from './listing.ts';
import { matchBeginning, type Property } from './properties.ts';
import type { Settings } from './reader.ts';
import type { Slot } from './slot.ts';

export interface OrderKey {
  readonly property: Property;
  /** Undefined if the name does not specify it: `sort=price` may be either. */
  readonly isDescending: boolean | undefined;
  readonly nulls: Direction['nulls'];
  /** Whether the documented order ignores case. */
  readonly ignoresCase?: boolean;
  /** The value to send, or one item of it. */
  readonly unit: unknown;
  /** Settings to send in addition, such as the direction. */
  readonly extraSettings: Settings;
  readonly label: string;
}

export interface Ordering {
  readonly slot: Slot;
  readonly keys: readonly OrderKey[];
  /** Maximum number of keys in one request. */
  readonly most: number;
  settings(keys: readonly OrderKey[]): Settings;
}

export function orderingOf(listing: Listing, properties: readonly Property[]): Ordering | undefined {
  const { controls, vocabulary, document } = listing;
  const slot = controls.order;
  if (slot === undefined || vocabulary.order === false) return undefined;
  const isList = slot.shape.types.has('array');
  const item = isList && slot.shape.items !== undefined ? shapeOf(document, ...slot.shape.items) : slot.shape;
  const isObjects = item.types.has('object') && item.properties.size > 0;
  const keys = isObjects ? objectKeys(document, item, properties) : wordKeys(listing, slot, item, properties);
  if (keys.length === 0) return undefined;
  return {
    slot,
    keys,
    most: isList ? slot.shape.maxItems : 1,
    settings: (chosen) => [
      [slot, isList ? chosen.map(({ unit }) => unit) : chosen[0]?.unit],
      ...chosen.flatMap(({ extraSettings }) => extraSettings),
    ],
  };
}

/** Keys such as `{ name: 'asc' }` or `{ field: 'name', direction: 'asc' }`. */
function objectKeys(document: OpenApiDocument, item: Shape, properties: readonly Property[]): OrderKey[] {
  const members = [...item.properties].map(([name, schemas]) => ({
    name,
    enum: shapeOf(document, ...schemas).enum ?? [],
  }));
  const direction = members.find(({ name, enum: words }) => /dir|order|sort/i.test(name) && areDirections(words));
  const field = members.find(
    ({ name, enum: words }) =>
      /^(?:field|by|key|column|property|attribute|name)$/i.test(name) && words.length > 0 && !areDirections(words),
  );
  if (field !== undefined) {
    return field.enum.flatMap((word) =>
      (direction?.enum ?? [undefined]).flatMap((way) =>
        keyOf(properties, String(word), way === undefined ? undefined : directionOf(way), {
          [field.name]: word,
          ...(direction === undefined ? {} : { [direction.name]: way }),
        }),
      ),
    );
  }
  return members
    .filter(({ enum: words }) => areDirections(words))
    .flatMap(({ name, enum: words }) =>
      words.flatMap((way) => keyOf(properties, name, directionOf(way), { [name]: way })),
    );
}

function areDirections(words: readonly unknown[]): boolean {
  const directions = words.filter((word) => word !== null);
  return directions.length > 0 && directions.every((word) => directionOf(word) !== undefined);
}

/**
 * Words such as `name`, `-name`, `name:desc` and `name_asc`, with the direction in the word or in a separate parameter.
 */
function wordKeys(
  { controls, vocabulary }: Listing,
  slot: Slot,
  item: Shape,
  properties: readonly Property[],
): OrderKey[] {
  const declared =
    slot.vocabulary.order === false
      ? undefined
      : (slot.vocabulary.order ?? (vocabulary.order === false ? undefined : vocabulary.order));
  const words = (declared ?? item.enum ?? freeWords(slot, item)).filter(
    (word) => typeof word === 'string' && word !== '',
  );
  const ways = (controls.direction?.shape.enum ?? []).filter((way) => directionOf(way) !== undefined);
  return words.flatMap((word) => {
    const parsed = parse(String(word));
    const isMinus = words.includes(`-${word}`);
    if (parsed.isDescending !== undefined || isMinus)
      return keyOf(properties, parsed.field, { isDescending: parsed.isDescending ?? false, nulls: undefined }, word);
    if (ways.length === 0 || controls.direction === undefined) return keyOf(properties, parsed.field, undefined, word);
    const { direction } = controls;
    return ways.flatMap((way) =>
      keyOf(properties, parsed.field, directionOf(way), word, [[direction, way]], String(way)),
    );
  });
}

/** If any text is allowed, only the default and the examples are known to be supported. */
function freeWords(slot: Slot, item: Shape): unknown[] {
  return [...new Set([slot.default, ...slot.shape.examples, ...item.examples].flat())].filter(
    (word) => typeof word === 'string' && !word.includes(','),
  );
}

function parse(word: string): { field: string; isDescending: boolean | undefined } {
  const sign = /^([-+])(.+)$/.exec(word);
  if (sign?.[2] !== undefined) return { field: sign[2], isDescending: sign[1] === '-' };
  const words = wordsOf(word);
  const way = directionOf(words.at(-1));
  return words.length > 1 && way !== undefined
    ? { field: words.slice(0, -1).join(' '), isDescending: way.isDescending }
    : { field: word, isDescending: undefined };
}

function keyOf(
  properties: readonly Property[],
  field: string,
  direction: Direction | undefined,
  unit: unknown,
  extraSettings: Settings = [],
  suffix = '',
): OrderKey[] {
  const match = matchBeginning(properties, wordsOf(field));
  if (match === undefined) return [];
  return [
    {
      property: match.property,
      isDescending: direction?.isDescending,
      nulls: direction?.nulls,
      unit,
      extraSettings,
      label: `${typeof unit === 'string' ? unit : JSON.stringify(unit)}${suffix === '' ? '' : ` ${suffix}`}`,
    },
  ];
}
