import { isScalar, type JsonObject, jsonText } from '../../../json.ts';
import { keyOfName, withoutContainer } from '../../../run/names.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
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
import { isInside, type Slot } from './slots.ts';
import {
  compare,
  distinct,
  folded,
  hasZone,
  instantOf,
  isBlank,
  isDay,
  isInstant,
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

interface Meaning extends Match {
  readonly name: string;
  /** Whether the contract declares it, so that days are days in UTC. */
  readonly isDeclared?: boolean;
  /** Whether the operator has a name that leaves no doubt, such as `_gte`. */
  readonly isCertain?: boolean;
}

/** The column and the operator of a slot of conditions such as `where: { price: { _gte: 5 } }`; undefined if it is none. */
function columnOf({ path }: Slot): { readonly name: string; readonly operator: string } | undefined {
  const [name = '', operator = ''] = path.slice(-2);
  return path.length > 2 && isOperatorName(operator) ? { name, operator } : undefined;
}

/** What a filter means: as declared, or inferred from its name: `status`, `minPrice`, `createdAfter`, `nameContains`. */
function meaningOf({ properties }: FullList, slot: Slot): Meaning | undefined {
  const stated = slot.declared.filter;
  if (stated === false) return undefined;
  if (typeof stated === 'string') {
    const [path, name = 'is'] = stated.split(' ');
    const property = properties.find((one) => one.name === path);
    return property && { property, isExact: true, isDeclared: true, name };
  }
  const column = columnOf(slot);
  const own = properties.find(
    ({ path, words }) => path.length === 1 && words.join('') === keyOfName(column?.name ?? ''),
  );
  if (column !== undefined) return own && { property: own, isExact: true, isCertain: true, name: column.operator };
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

/** Of `visibility=private`, rows whose `private` is true; of two such words, the other one finds the rest. */
function flagsOf({ properties, rows }: FullList, slot: Slot): Conditions[] {
  const words = (slot.shape.enum ?? []).filter((word) => typeof word === 'string' && !/^(?:all|any|both)$/.test(word));
  return words.flatMap((flag) => {
    const property = properties.find(({ words: own }) => own.join('') === keyOfName(String(flag)));
    if (property === undefined || rows.some((row) => typeof valueIn(row, property) !== 'boolean')) return [];
    const conditions = (words.length === 2 ? words : [flag]).map((word): Condition => {
      const holds = (row: JsonObject) => valueIn(row, property) === (word === flag);
      return { slot, label: `${property.name} ${word === flag}`, settings: [[slot, word]], holds };
    });
    return [{ least: 1, conditions }];
  });
}

interface Comparison {
  readonly slot: Slot;
  readonly property: Property;
  readonly name: string;
  readonly operator: Operator;
  /** Whether the contract says what the filter means. */
  readonly isDeclared: boolean;
}

/** The conditions that a slot can express with values of rows, and with values that no row has. */
function conditionsOf(listing: Listing, list: FullList, slot: Slot): Conditions[] {
  const meaning = slot.shape.types.has('object') ? undefined : meaningOf(list, slot);
  const operator = operatorOf(meaning?.name ?? '');
  if (meaning === undefined || operator === undefined) return flagsOf(list, slot);
  const { property, name, isExact, isDeclared = false, isCertain = isDeclared } = meaning;
  const by = (name: string, least: number, own = operatorOf(name)): Conditions[] => {
    if (own === undefined) return [];
    const comparison = { slot, property, name, operator: own, isDeclared };
    return [{ least, conditions: expressed(listing, list, comparison) }];
  };
  const least = isExact && (!operator.isRange || isCertain) ? 1 : 2;
  if (slot.shape.types.has('array') && columnOf(slot) === undefined)
    return [...by('is', least), ...by(name === 'is' ? 'several' : name, isDeclared && name !== 'is' ? 1 : 2)];
  const hasTimes = operator.isRange && list.rows.some((row) => isInstant(valueIn(row, property)));
  return [...by(name, least), ...(hasTimes ? by(name, 2, { ...operator, operand: undefined }) : [])];
}

const maxValues = 8;

/** Two conditions that split the rows, if the contract allows them, and one that all or none of the rows match. */
function expressed(listing: Listing, list: FullList, comparison: Comparison): Condition[] {
  const { slot, property, name, operator, isDeclared } = comparison;
  const isList = slot.shape.types.has('array');
  const values = [...new Set(distinct(list.rows, property).flat())].filter(isScalar);
  const isShown = isSurelyShown(listing, property, values);
  const sorted = operator.isRange ? values.sort((left, right) => compare(left, right) ?? 0) : values;
  const known = middleOut(sorted).slice(0, maxValues);
  const operands = (of: readonly unknown[]) =>
    operator.operand === undefined
      ? of
      : of.map((value, index) => operator.operand?.(value, of[(index + 1) % of.length]));
  const all = operator.fixed ?? [...operands(known), ...operands(unusedValues(listing, list, comparison))];
  const settingsOf = (operand: unknown) => [[slot, isList ? [operand].flat() : operand]] as const;
  const isAllowed = (operand: unknown) => operand !== '' && listing.callOf(settingsOf(operand)) !== undefined;
  const isOpen = name === 'is' && !isDeclared && (slot.shape.enum ?? property.enum) === undefined;
  const conditions = all
    .filter((operand) => operand !== undefined)
    .flatMap((operand) => [operand, ...otherForms(operand)].filter(isAllowed).slice(0, 1))
    .map((operand): Condition => {
      // A filter by free text may match parts, or search other properties as well.
      const isText = isOpen && typeof operand === 'string' && instantOf(operand) === undefined;
      const holds = (row: JsonObject) => {
        const value = valueIn(row, property);
        const result =
          value === undefined ? undefined : operator.holds(value, operand, { isShown, hasUtcDays: isDeclared });
        return isText && mentions(row, operand) ? result || undefined : result;
      };
      const label = `${property.name} ${name} ${jsonText(operand)}`;
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

function unusedValues(
  { session, operation }: Listing,
  list: FullList,
  { slot, property, name, isDeclared }: Comparison,
): unknown[] {
  const known = distinct(list.rows, property).flat().map(folded);
  // An exact filter does not find parts.
  const parts = isDeclared && name === 'is' ? known.map((text) => text.slice(1)) : [];
  const seed = Math.abs(session.seedFor(`${operation.id} ${slot.name} ${property.name} nobody`));
  const hex = seed.toString(16).padStart(12, '0').slice(-12);
  const number = (seed % 800_000) + 100_007;
  const texts = [
    ...parts,
    `0199a1c2-0c01-7c01-8a4f-${hex}`,
    `unused${hex}`,
    `${number}`,
    number,
    `unused${hex}@example.com`,
  ];
  return (slot.shape.enum ?? property.enum ?? texts).filter(
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

const maxConditions = 30;

/** The conditions that a list can filter by: of parameters, and of columns in an object such as `where`. */
export function filterConditions(
  listing: Listing,
  list: FullList,
): { readonly simple: readonly Conditions[]; readonly ofColumns: readonly Condition[] } {
  const roll = dice(listing.session.seedFor(`${listing.operation.id} filters`));
  const bySlot = shuffled(listing.controls.others, roll).map((slot) => conditionsOf(listing, list, slot));
  // Each slot gets its turn before the second of any.
  const all = [...bySlot.flatMap((own) => own.slice(0, 1)), ...bySlot.flatMap((own) => own.slice(1))];
  const isOfColumn = ({ conditions: [first] }: Conditions) => first !== undefined && columnOf(first.slot) !== undefined;
  const columns = all.filter(isOfColumn).flatMap(({ conditions }) => conditions);
  const ofColumns = [...combined(listing, list, columns), ...covering(list, columns)].slice(0, maxConditions);
  return { simple: all.filter((one) => !isOfColumn(one)), ofColumns };
}

/** The conditions in another order: first one for each operator and column. A column that is ignored shows with any. */
function covering(list: FullList, all: readonly Condition[]): Iterable<Condition> {
  const best = [...all.filter((one) => splits(list, one)), ...all];
  const firstOfEach = (place: number) => {
    const groups = Map.groupBy(best, ({ slot }) => operatorKey(slot.path.at(place) ?? ''));
    return [...groups.values()].flatMap((group) => group.slice(0, 1));
  };
  return new Set([...firstOfEach(-1), ...firstOfEach(-2), ...best]);
}

/** Combinations of two columns with `_and` and `_or` and beside each other, and the negation of one. */
function combined(listing: Listing, list: FullList, ofColumns: readonly Condition[]): Condition[] {
  const [first, ...rest] = ofColumns.filter((one) => splits(list, one));
  const outer = listing.slots.find(({ path }) => path.join() === first?.slot.path.slice(0, -2).join());
  if (first === undefined || outer === undefined) return [];
  const some = [first, ...rest.filter(({ slot }) => isInside(slot, outer))].slice(0, maxConditions);
  const results = (one: Condition) => jsonText(list.rows.map(one.holds));
  /** Two columns that together do not return what one of them returns alone. */
  const pair = (word: 'and' | 'or', settingsOf?: (...parts: JsonObject[]) => Settings): Condition[] => {
    for (const [index, left] of some.entries())
      for (const right of some.slice(index + 1).filter(({ slot }) => slot.path.at(-2) !== left.slot.path.at(-2))) {
        const both = joined([left, right], word, settingsOf?.(columnIn(left), columnIn(right)));
        if (results(both) !== results(left) && reach(list, both).no > 0) return [both];
      }
    return [];
  };
  const found = [...outer.shape.properties.keys()].flatMap((name): Condition[] => {
    const connective = connectiveOf(name);
    if (connective === 'not') return [negation(outer, name, first)];
    return connective === undefined ? [] : pair(connective, (...parts) => [[outer, { [name]: parts }]]);
  });
  return [...found, ...pair('and')].filter(({ settings }) => listing.callOf(settings) !== undefined);
}

/** A condition as the object that states it: `{ price: { _gte: 5 } }`. */
function columnIn({ slot: { path }, settings: [setting] }: Condition): JsonObject {
  return { [path.at(-2) ?? '']: { [path.at(-1) ?? '']: setting?.[1] } };
}

function negation(outer: Slot, name: string, inner: Condition): Condition {
  return {
    slot: outer,
    settings: [[outer, { [name]: columnIn(inner) }]],
    label: `not ${inner.label}`,
    holds: (row) => {
      const result = inner.holds(row);
      // The negation of a condition on a null is unspecified.
      return result === undefined || isBlank(row[inner.slot.path.at(-2) ?? '']) ? undefined : !result;
    },
  };
}
