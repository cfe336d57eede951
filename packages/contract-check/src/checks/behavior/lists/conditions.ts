import { isObject, type JsonObject } from '../../../json.ts';
import { keyOfName, withoutContainer } from '../../../run/names.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { View } from '../../../schema/view.ts';
import type { FullList, Listing, Settings } from './listing.ts';
import {
  and,
  connectiveOf,
  isOperatorName,
  type Operator,
  operatorKey,
  operatorOf,
  or,
  type Truth,
} from './operators.ts';
import type { Slot } from './slots.ts';
import {
  compare,
  distinct,
  folded,
  hasZone,
  instantOf,
  isBlank,
  isDay,
  isInstant,
  isScalar,
  type Match,
  matchBeginning,
  matchOf,
  mentions,
  numberOf,
  type Property,
  valueIn,
} from './values.ts';

/** A filter value, and the rows that match it. */
export interface Condition {
  readonly slot: Slot;
  readonly settings: Settings;
  readonly label: string;
  /** How many rows can be returned that do not match: some, if a server may find similar texts. Default: none. */
  readonly tolerated?: number;
  holds(row: JsonObject): Truth;
}

/** Conditions of which some must fail before anything is reported: several, if their meaning is only inferred. */
export interface Conditions {
  readonly conditions: readonly Condition[];
  readonly least: number;
}

/** Counts the rows that definitely match, and those that definitely do not. */
function reach(list: FullList, { holds }: Condition): { yes: number; no: number } {
  const results = list.rows.map(holds);
  return { yes: results.filter((one) => one === true).length, no: results.filter((one) => one === false).length };
}

/** Whether some rows match, and some do not. */
export function splits(list: FullList, condition: Condition, least = 1): boolean {
  const { yes, no } = reach(list, condition);
  return yes >= least && no > 0;
}

/** Two conditions of one request, joined by a word of the label. */
export function joined(
  [left, right]: readonly [Condition, Condition],
  word: 'and' | 'or',
  settings: Settings = [...left.settings, ...right.settings],
): Condition {
  const join = word === 'or' ? or : and;
  return {
    slot: right.slot,
    settings,
    label: `${left.label} ${word} ${right.label}`,
    holds: (row) => join([left.holds(row), right.holds(row)]),
  };
}

/** What a slot filters by. */
interface Meaning extends Match {
  /** The name of the operator. */
  readonly name: string;
  /** Whether the contract declares it, so that days are days in UTC. */
  readonly isDeclared?: boolean;
}

/** What a filter means: as declared, or inferred from its name: `status`, `minPrice`, `createdAfter`, `nameContains`. */
function meaningOf({ declared }: Listing, { properties }: FullList, slot: Slot): Meaning | undefined {
  const filters = declared.filters as Readonly<Record<string, unknown>> | undefined;
  const stated = slot.declared.filter ?? filters?.[slot.name] ?? filters?.[slot.path[0] ?? ''];
  if (stated === false) return undefined;
  if (typeof stated === 'string') {
    const [path, name = 'is'] = stated.split(' ');
    const property = properties.find((one) => one.name === path);
    return property && { property, isExact: true, isDeclared: true, name };
  }
  const words = withoutContainer(slot.words);
  const whole = matchOf(properties, words);
  if (whole !== undefined) return { ...whole, name: 'is' };
  const affixes = [
    { name: words[0], rest: words.slice(1) },
    { name: words.at(-1), rest: words.slice(0, -1) },
    { name: words.slice(-2).join(''), rest: words.slice(0, -2) },
  ];
  for (const { name = '', rest } of affixes) {
    const match = operatorOf(name) && matchBeginning(properties, rest);
    // `nameLike` has no wildcards.
    if (match !== undefined) return { ...match, name: name === 'like' ? 'contains' : name };
  }
  // `client` may mean `clientId`, or the ID of the embedded `client`.
  const reference = matchOf(properties, [...words, 'id']);
  return reference && { ...reference, isExact: false, name: 'is' };
}

/** A comparison of a property that a request can contain. */
interface Comparison {
  readonly slot: Slot;
  readonly property: Property;
  /** The name of the operator. */
  readonly name: string;
  readonly operator: Operator;
  /** The type of the operands. */
  readonly shape: Shape;
  readonly hasUtcDays?: boolean | undefined;
  /** The value of the slot for an operand. */
  written(operand: unknown): unknown;
}

/** The conditions that a slot can express with values of rows, and with values that no row has. */
export function conditionsOf(listing: Listing, list: FullList, slot: Slot): Conditions[] {
  const meaning = slot.shape.types.has('object') ? undefined : meaningOf(listing, list, slot);
  const operator = operatorOf(meaning?.name ?? '');
  if (meaning === undefined || operator === undefined) return [];
  const { property, isExact, isDeclared = false } = meaning;
  const isList = slot.shape.types.has('array');
  const by = (name: string, least: number, own = operatorOf(name)): Conditions[] => {
    const written = (operand: unknown) => (isList ? [operand].flat() : operand);
    const comparison = { slot, property, name, shape: slot.shape, hasUtcDays: isDeclared, written };
    return own === undefined ? [] : [{ least, conditions: expressed(listing, list, { ...comparison, operator: own }) }];
  };
  const { name } = meaning;
  const least = isExact && (!operator.isRange || isDeclared) ? 1 : 2;
  if (isList) return [...by('is', least), ...by(name === 'is' ? 'several' : name, isDeclared && name !== 'is' ? 1 : 2)];
  const hasTimes = operator.isRange && list.rows.some((row) => isInstant(valueIn(row, property)));
  return [...by(name, least), ...(hasTimes ? by(name, 2, { ...operator, operand: undefined }) : [])];
}

const maxValues = 8;

/** Two conditions that split the rows, if the contract allows them, and one that all or none of the rows match. */
function expressed(listing: Listing, list: FullList, comparison: Comparison): Condition[] {
  const { slot, property, name, operator, hasUtcDays = false, written } = comparison;
  const values = [...new Set(distinct(list.rows, property).flat())].filter(isScalar);
  const isShown = isSurelyShown(listing, property, values);
  const sorted = operator.isRange ? values.sort((left, right) => compare(left, right) ?? 0) : values;
  const known = middleOut(sorted).slice(0, maxValues);
  const operands = (of: readonly unknown[]) =>
    operator.operand === undefined
      ? of
      : of.map((value, index) => operator.operand?.(value, of[(index + 1) % of.length]));
  const all = operator.fixed ?? [...operands(known), ...operands(unusedValues(listing, list, comparison))];
  const settingsOf = (operand: unknown) => [[slot, written(operand)]] as const;
  const isAllowed = (operand: unknown) => operand !== '' && listing.callOf(settingsOf(operand)) !== undefined;
  const isOpen = name === 'is' && (slot.shape.enum ?? property.enum) === undefined;
  const conditions = all
    .filter((operand) => operand !== undefined)
    .flatMap((operand) => [operand, ...otherForms(operand)].filter(isAllowed).slice(0, 1))
    .map((operand): Condition => {
      // A filter by free text may match parts, or search other properties as well.
      const isText = isOpen && typeof operand === 'string' && instantOf(operand) === undefined;
      const holds = (row: JsonObject) => {
        const value = valueIn(row, property);
        const result = value === undefined ? undefined : operator.holds(value, operand, { isShown, hasUtcDays });
        return isText && mentions(row, operand) ? result || undefined : result;
      };
      const label = `${property.name} ${name} ${JSON.stringify(operand)}`;
      return { slot, label, settings: settingsOf(operand), holds };
    });
  const splitting = conditions.filter((one) => splits(list, one));
  const others = conditions.filter((one) => !splitting.includes(one) && reach(list, one).yes + reach(list, one).no > 0);
  return [...splitting.slice(0, 2), ...others.slice(0, 2)].slice(0, 3);
}

/** Starts in the middle: errors at the ends of a list are harder to notice. */
function middleOut(values: readonly unknown[]): unknown[] {
  const middle = Math.floor(values.length / 2);
  return [...values.slice(middle), ...values.slice(0, middle)];
}

/** The value in other types, which a slot may accept. */
function otherForms(value: unknown): unknown[] {
  const number = typeof value === 'string' ? numberOf(value) : undefined;
  if (number !== undefined) return [number];
  if (isInstant(value)) return [String(value).slice(0, 10)];
  if (isDay(value)) return [`${value}T00:00:00Z`];
  return typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : [];
}

/** Values that no row has. */
function unusedValues(
  { session, operation }: Listing,
  list: FullList,
  { slot, shape, property }: Pick<Comparison, 'slot' | 'shape' | 'property'>,
): unknown[] {
  const known = distinct(list.rows, property).flat().map(folded);
  const seed = Math.abs(session.seedFor(`${operation.id} ${slot.name} ${property.name} nobody`));
  const hex = seed.toString(16).padStart(12, '0').slice(-12);
  const number = (seed % 800_000) + 100_007;
  const texts = [`0199a1c2-0c01-7c01-8a4f-${hex}`, `unused${hex}`, `${number}`, number, `unused${hex}@example.com`];
  return (shape.enum ?? property.enum ?? texts).filter(
    (value) => isScalar(value) && typeof value !== 'boolean' && !known.includes(folded(value)),
  );
}

/** Whether responses show values in full precision: numbers may be rounded, and timestamps truncated. */
export function isSurelyShown(
  { document, rowSchema }: Listing,
  { path }: Property,
  values: readonly unknown[],
): (value: unknown) => boolean {
  const isStepped = path
    .reduce((view, name) => view.member(name), View.of(document, rowSchema))
    .parts.some(({ type, multipleOf }) => [type].flat().includes('integer') || multipleOf !== undefined);
  // Whole minutes indicate that a person entered the time, not a clock.
  const isWholeMinute = (value: unknown) =>
    hasZone(value) && /:\d\d:00(?:\.0+)?(?:Z|[+-]\d\d:?\d\d)$/.test(String(value));
  const isSet = values.filter(isWholeMinute).length * 2 >= values.length;
  return (value) => (typeof value === 'number' ? isStepped : !isInstant(value) || (isSet && isWholeMinute(value)));
}

/** Whether a slot has conditions of the form `{ column: { operator: value } }`, joined by `_and`, `_or` and `_not`. */
export function isWhere({ document }: Listing, { shape }: Slot): boolean {
  return [...shape.properties.values()].some((schemas) => operatorsIn(shapeOf(document, ...schemas)).length > 0);
}

function operatorsIn({ properties }: Shape): string[] {
  return [...properties.keys()].filter(isOperatorName);
}

/** A condition on one column, as `value` states it. */
interface ColumnCondition extends Condition {
  readonly column: string;
  readonly operator: string;
  readonly value: JsonObject;
}

const maxConditions = 30;

/** Conditions on single columns that cover each operator and column, and combinations of them. */
export function whereConditions(listing: Listing, list: FullList, slot: Slot): Conditions[] {
  const seed = listing.session.seedFor(`${listing.operation.id} ${slot.name}`);
  const all = shuffled(columnConditions(listing, list, slot), dice(seed));
  const splitting = all.filter((one) => splits(list, one));
  const best = [...splitting, ...all];
  const firstOfEach = (key: (one: ColumnCondition) => string) =>
    [...Map.groupBy(best, key).values()].flatMap((group) => group.slice(0, 1));
  // A column that is ignored shows with any of its conditions.
  const chosen = new Set([
    ...firstOfEach(({ operator }) => operatorKey(operator)),
    ...firstOfEach(({ column }) => column),
    ...best,
  ]);
  return [...combined(listing, list, slot, splitting), ...chosen]
    .slice(0, maxConditions)
    .map((condition) => ({ conditions: [condition], least: 1 }));
}

function columnConditions(listing: Listing, list: FullList, slot: Slot): ColumnCondition[] {
  return [...slot.shape.properties].flatMap(([column, schemas]): ColumnCondition[] => {
    const inner = shapeOf(listing.document, ...schemas);
    const property = list.properties.find(
      ({ path, words }) => path.length === 1 && words.join('') === keyOfName(column),
    );
    if (connectiveOf(column) !== undefined || property === undefined) return [];
    return operatorsIn(inner).flatMap((name) => {
      const operator = operatorOf(name);
      if (operator === undefined) return [];
      const shape = shapeOf(listing.document, ...(inner.properties.get(name) ?? []));
      const written = (operand: unknown) => ({ [column]: { [name]: operand } });
      return expressed(listing, list, { slot, property, name, operator, shape, written }).map((condition) => {
        const [[, value] = []] = condition.settings;
        return { ...condition, column, operator: name, value: isObject(value) ? value : {} };
      });
    });
  });
}

/** Combinations of two columns with `_and` and `_or` and beside each other, and the negation of one. */
function combined(listing: Listing, list: FullList, slot: Slot, splitting: readonly ColumnCondition[]): Condition[] {
  const some = splitting.slice(0, maxConditions);
  const results = (one: Condition) => JSON.stringify(list.rows.map(one.holds));
  /** Two columns that together do not return what one of them returns alone. */
  const pair = (word: 'and' | 'or', written: (...parts: JsonObject[]) => JsonObject): Condition[] => {
    for (const [index, left] of some.entries())
      for (const right of some.slice(index + 1).filter(({ column }) => column !== left.column)) {
        const both = joined([left, right], word, [[slot, written(left.value, right.value)]]);
        if (results(both) !== results(left) && reach(list, both).no > 0) return [both];
      }
    return [];
  };
  const found = [...slot.shape.properties.keys()].flatMap((name): Condition[] => {
    const connective = connectiveOf(name);
    if (connective === 'not') return some.slice(0, 1).map((one) => negation(slot, name, one));
    return connective === undefined ? [] : pair(connective, (...parts) => ({ [name]: parts }));
  });
  const beside = pair('and', (left, right) => ({ ...left, ...right }));
  return [...found, ...beside].filter(({ settings }) => listing.callOf(settings) !== undefined);
}

function negation(slot: Slot, name: string, inner: ColumnCondition): Condition {
  return {
    slot,
    settings: [[slot, { [name]: inner.value }]],
    label: `not ${inner.label}`,
    holds: (row) => {
      const result = inner.holds(row);
      // The negation of a condition on a null is unspecified.
      return result === undefined || isBlank(row[inner.column]) ? undefined : !result;
    },
  };
}
