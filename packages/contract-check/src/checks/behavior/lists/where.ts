import type { JsonObject } from '../../../json.ts';
import { keyOfName, wordsOf } from '../../../run/names.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { type Condition, inOtherCase, reach, unusedValues } from './conditions.ts';
import type { FullList, Listing } from './listing.ts';
import type { Slot } from './slots.ts';
import {
  and,
  compare,
  connectiveOf,
  distinct,
  isBlank,
  isInstant,
  isScalar,
  numberOf,
  operatorKey,
  operatorOf,
  or,
  type Truth,
  valueIn,
} from './values.ts';

/** Conditions of the form `{ column: { operator: value } }`, joined by `_and`, `_or` and `_not`. */

export function isWhere({ document }: Listing, { shape }: Slot): boolean {
  return [...shape.properties.values()].some((schemas) => operatorsIn(shapeOf(document, ...schemas)).length > 0);
}

function operatorsIn({ properties }: Shape): string[] {
  return [...properties.keys()].filter((name) => operatorOf(name) !== undefined && connectiveOf(name) === undefined);
}

interface Candidate extends Condition {
  readonly column: string;
  readonly operator: string;
  readonly value: JsonObject;
}

const maxConditions = 30;

/** Conditions on single columns that cover each operator and column, and combinations of them. */
export function whereConditions(listing: Listing, list: FullList, slot: Slot): Condition[] {
  const seed = listing.session.seedFor(`${listing.operation.id} ${slot.name}`);
  // Prefers conditions that split the rows, then those that exclude rows.
  const telling = shuffled(columnCandidates(listing, list, slot), dice(seed))
    .map((candidate) => ({ candidate, ...reach(list, candidate) }))
    .filter(({ yes, no }) => yes > 0 || no > 0)
    .sort(
      (left, right) => 2 * Math.sign(right.no) + Math.sign(right.yes) - 2 * Math.sign(left.no) - Math.sign(left.yes),
    );
  const all = telling.map(({ candidate }) => candidate);
  const firstOfEach = (key: (one: Candidate) => string) =>
    [...Map.groupBy(all, key).values()].flatMap((group) => group.slice(0, 1));
  // A column that is ignored shows with any of its conditions.
  const chosen = [
    ...firstOfEach(({ operator }) => operatorKey(operator)),
    ...firstOfEach(({ column }) => column),
    ...firstOfEach(({ operator, column }) => `${operatorKey(operator)} ${column}`),
  ];
  const splitting = telling.filter(({ yes, no }) => yes > 0 && no > 0).map(({ candidate }) => candidate);
  return [...joined(listing, list, slot, splitting), ...new Set(chosen)].slice(0, maxConditions);
}

function columnCandidates(listing: Listing, list: FullList, slot: Slot): Candidate[] {
  return [...slot.shape.properties].flatMap(([column, schemas]): Candidate[] => {
    const inner = shapeOf(listing.document, ...schemas);
    const property = list.properties.find(
      ({ path }) => path.length === 1 && keyOfName(path[0] ?? '') === keyOfName(wordsOf(column)),
    );
    if (connectiveOf(column) !== undefined || property === undefined) return [];
    const values = distinct(list.rows, property).flat().filter(isScalar);
    return operatorsIn(inner).flatMap((name) => {
      const operator = operatorOf(name);
      const shape = shapeOf(listing.document, ...(inner.properties.get(name) ?? []));
      const unknown = unusedValues(listing, list, { name: column, shape }, property);
      return operandsOf(operatorKey(name), values, shape, unknown).flatMap((operand): Candidate[] => {
        const value = { [column]: { [name]: operand } };
        const holds = (row: JsonObject): Truth => {
          const own = valueIn(row, property);
          return own === undefined ? undefined : operator?.(own, operand);
        };
        const candidate = { slot, column, operator: name, value, holds, ...stated(slot, value) };
        return listing.callOf(candidate.settings) === undefined ? [] : [candidate];
      });
    });
  });
}

function stated(slot: Slot, value: JsonObject): Pick<Condition, 'settings' | 'label'> {
  return { settings: [[slot, value]], label: JSON.stringify(value) };
}

/** Operands for an operator: values of rows, and one that no row has. */
function operandsOf(
  operator: string,
  values: readonly unknown[],
  { types }: Shape,
  unknown: readonly unknown[],
): unknown[] {
  const middle = values[Math.floor(values.length / 2)];
  const [first] = values;
  const two = [...new Set([middle, first])];
  const unused = unknown.slice(0, 5);
  if (operator === 'isnull') return [true, false];
  if (operator === 'in') return [...(middle === undefined ? [] : [two]), ...unused.map((one) => [one])];
  if (operator === 'nin' || operator === 'notin') return middle === undefined ? [] : [[middle], two];
  if (/^[gl](?:t|te|e)$/.test(operator)) {
    const inMiddle = values.toSorted((left, right) => compare(left, right) ?? 0)[Math.floor(values.length / 2)];
    const isOrderable = typeof inMiddle === 'string' || numberOf(inMiddle) !== undefined || isInstant(inMiddle);
    return isOrderable ? [inMiddle, ...unused.filter((one) => typeof one === 'number')] : [];
  }
  if (operator.endsWith('like')) {
    // A part of a text between wildcards, with changed case if case is ignored.
    const word = typeof middle === 'string' ? /[A-Za-z\d]{2,}/.exec(middle)?.[0] : undefined;
    if (word === undefined) return [];
    return [`%${operator.endsWith('ilike') ? inOtherCase(word) : word}%`, `%unused${word}%`];
  }
  if (/contains$|startswith|endswith/.test(operator)) {
    if (middle === undefined) return [];
    if (!types.has('string') || typeof middle !== 'string') return [middle, middle];
    const length = Math.max(1, Math.ceil(middle.length / 2));
    return [operator === 'endswith' ? middle.slice(-length) : middle.slice(0, length), middle];
  }
  return [middle, first, ...unused].filter((one) => one !== undefined);
}

/** Combinations of two conditions with `_and`, `_or` and `_not`, and of two columns. */
function joined(listing: Listing, list: FullList, slot: Slot, candidates: readonly Candidate[]): Condition[] {
  const [first] = candidates;
  if (first === undefined) return [];
  const others = candidates.filter(({ column }) => column !== first.column);
  const results = (one: Condition) => JSON.stringify(list.rows.map(one.holds));
  const pair = (value: JsonObject, join: typeof and, other: Condition): Condition => ({
    ...{ slot, ...stated(slot, value) },
    holds: (row) => join([first.holds(row), other.holds(row)]),
  });
  const created = [...slot.shape.properties.keys()].map((name) => {
    const connective = connectiveOf(name);
    if (connective === undefined) return undefined;
    if (connective === 'not') return negation(slot, name, first);
    return (
      [...others, ...candidates]
        .filter((other) => other !== first)
        .slice(0, 30)
        .map((other) => pair({ [name]: [first.value, other.value] }, connective === 'and' ? and : or, other))
        // Only worth sending if neither condition alone would return the same rows.
        .find((one) => results(one) !== results(first) && reach(list, one).no > 0)
    );
  });
  const sendable = created.filter((one) => one !== undefined && listing.callOf(one.settings) !== undefined);
  const [beside] = others;
  const side = beside === undefined ? [] : [pair({ ...first.value, ...beside.value }, and, beside)];
  return [...sendable.filter((one) => one !== undefined), ...side];
}

function negation(slot: Slot, name: string, inner: Candidate): Condition {
  return {
    ...{ slot, ...stated(slot, { [name]: inner.value }) },
    holds: (row) => {
      const result = inner.holds(row);
      // The negation of a condition on a null is unspecified.
      return result === undefined || isBlank(row[inner.column]) ? undefined : !result;
    },
  };
}
