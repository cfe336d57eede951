import { isObject, type JsonObject } from '../../../json.ts';
import { keyOfName, wordsOf } from '../../../run/words.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { compare, isBlank, isInstant, isScalar, numberOf } from './compare.ts';
import { and, type Condition, or, reach } from './condition.ts';
import { unusedValues } from './equality.ts';
import type { FullList, Listing } from './listing.ts';
import { connectiveOf, type Operator, operatorKey, operatorOf } from './operators.ts';
import { shuffled } from './pick.ts';
import { type Property, valueIn } from './properties.ts';
import type { Slot } from './slot.ts';

/** Whether a slot accepts conditions of the form `{ column: { operator: value } }`. */
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

const maxSingle = 26;

/** Conditions on single columns that cover each operator and column, and combinations of them. */
export function whereConditions(listing: Listing, list: FullList, slot: Slot): Condition[] {
  const all = columnCandidates(listing, list, slot, slot.shape);
  const seed = listing.session.seedFor(`${listing.operation.id} ${slot.name}`);
  const telling = shuffled(all, seed)
    .map((candidate) => ({ candidate, ...reach(list, candidate) }))
    .filter(({ yes, no }) => yes > 0 || no > 0)
    .sort((left, right) => worth(right) - worth(left));
  const chosen: Candidate[] = [];
  const add = (test: (one: Candidate) => boolean) => {
    const found = telling.find(({ candidate }) => !chosen.includes(candidate) && test(candidate));
    if (found !== undefined && chosen.length < maxSingle) chosen.push(found.candidate);
  };
  const kindOf = ({ operator }: Candidate) => operatorKey(operator);
  for (const operator of new Set(telling.map(({ candidate }) => kindOf(candidate))))
    add((one) => kindOf(one) === operator);
  // A column that is ignored shows with any of its conditions.
  for (const column of new Set(telling.map(({ candidate }) => candidate.column)))
    if (!chosen.some((one) => one.column === column)) add((one) => one.column === column);
  for (const operator of new Set(telling.map(({ candidate }) => kindOf(candidate))))
    add(
      (one) =>
        kindOf(one) === operator && !chosen.some((other) => kindOf(other) === operator && other.column === one.column),
    );
  const both = telling.filter(({ yes, no }) => yes > 0 && no > 0).map(({ candidate }) => candidate);
  return [...joined(listing, list, slot, both), ...chosen];
}

/** Prefers conditions that split the rows, then those that exclude rows. */
function worth({ yes, no }: { yes: number; no: number }): number {
  return (no > 0 ? 2 : 0) + (yes > 0 ? 1 : 0);
}

function columnCandidates(
  listing: Listing,
  list: FullList,
  slot: Slot,
  shape: Shape,
  wrap: (value: JsonObject) => JsonObject = (value) => value,
  relation?: string,
): Candidate[] {
  return [...shape.properties].flatMap(([column, schemas]): Candidate[] => {
    if (connectiveOf(column) !== undefined) return [];
    const inner = shapeOf(listing.document, ...schemas);
    const names = operatorsIn(inner);
    if (names.length === 0) {
      return relation === undefined && inner.properties.size > 0 && isShown(list, column)
        ? columnCandidates(listing, list, slot, inner, (value) => ({ [column]: value }), column)
        : [];
    }
    const property = relation === undefined ? ownProperty(list, column) : undefined;
    const read =
      relation === undefined
        ? property && ((row: JsonObject) => [valueIn(row, property)])
        : relatedReader(relation, column);
    if (read === undefined) return [];
    const existing = list.rows.flatMap(read);
    if (!existing.some((value) => value !== undefined)) return [];
    const values = [...new Set(existing.flat().filter(isScalar))];
    return names.flatMap((name) => {
      const operator = operatorOf(name);
      const operandShape = shapeOf(listing.document, ...(inner.properties.get(name) ?? []));
      if (operator === undefined) return [];
      const unknown =
        property === undefined ? [] : unusedValues(listing, list, { name: column, shape: operandShape }, property);
      return operandsOf(operatorKey(name), values, operandShape, unknown).flatMap((operand) => {
        const value = wrap({ [column]: { [name]: operand } });
        const candidate: Candidate = {
          slot,
          column: relation === undefined ? column : `${relation}.${column}`,
          operator: name,
          value,
          settings: [[slot, value]],
          label: JSON.stringify(value),
          holds: (row) => some(read(row), operator, operand),
        };
        return listing.reader.callOf(candidate.settings) === undefined ? [] : [candidate];
      });
    });
  });
}

/** A condition on a list matches if any element matches. */
function some(values: readonly unknown[], operator: Operator, operand: unknown): boolean | undefined {
  if (values.some((value) => value === undefined)) return undefined;
  const results = values.map((value) => operator(value, operand));
  return results.includes(true) ? true : results.includes(undefined) ? undefined : false;
}

function ownProperty({ properties }: FullList, column: string): Property | undefined {
  return properties.find(({ path }) => path.length === 1 && keyOfName(path[0] ?? '') === keyOfName(wordsOf(column)));
}

/** Whether rows include the related resource. */
function isShown({ rows }: FullList, name: string): boolean {
  return rows.some((row) => isObject(row[name]) || (Array.isArray(row[name]) && row[name].some(isObject)));
}

function relatedReader(relation: string, column: string): (row: JsonObject) => unknown[] {
  return (row) => {
    const related = row[relation];
    if (related === undefined) return [undefined];
    const list = Array.isArray(related) ? related : [related];
    return list.filter(isObject).map((one) => one[column]);
  };
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
  const unused = unknown.slice(0, 5);
  const sorted = [...values].sort((left, right) => compare(left, right) ?? 0);
  const inMiddle = sorted[Math.floor(sorted.length / 2)];
  switch (operator) {
    case 'isnull':
      return [true, false];
    case 'in':
      return [...(middle === undefined ? [] : [[middle, first].filter(unique)]), ...unused.map((one) => [one])];
    case 'nin':
    case 'notin':
      return middle === undefined ? [] : [[middle], [middle, first].filter(unique)];
    case 'gt':
    case 'gte':
    case 'ge':
    case 'lt':
    case 'lte':
    case 'le':
      return inMiddle === undefined || !isOrderable(inMiddle)
        ? []
        : [inMiddle, ...unused.filter((one) => typeof one === 'number')];
    case 'like':
    case 'nlike':
    case 'ilike':
    case 'nilike':
      return patterns(middle, operator.includes('i') && operator !== 'like' && operator !== 'nlike');
    case 'contains':
    case 'icontains':
    case 'startswith':
    case 'endswith':
      return middle === undefined
        ? []
        : [types.has('string') && typeof middle === 'string' ? piece(middle, operator) : middle, middle];
    default:
      return [middle, first, ...unused].filter((one) => one !== undefined);
  }
}

function unique(value: unknown, index: number, all: readonly unknown[]): boolean {
  return all.indexOf(value) === index;
}

function isOrderable(value: unknown): boolean {
  return typeof value === 'string' || numberOf(value) !== undefined || isInstant(value);
}

/** A part of a text between wildcards, with changed case if case is ignored. */
function patterns(value: unknown, ignoresCase: boolean): unknown[] {
  const word = typeof value === 'string' ? /[A-Za-z\d]{2,}/.exec(value)?.[0] : undefined;
  if (word === undefined) return [];
  const expected = ignoresCase ? (word === word.toUpperCase() ? word.toLowerCase() : word.toUpperCase()) : word;
  return [`%${expected}%`, `%unused${word}%`];
}

function piece(text: string, operator: string): string {
  const length = Math.max(1, Math.ceil(text.length / 2));
  return operator === 'endswith' ? text.slice(-length) : text.slice(0, length);
}

/** Combinations of two conditions with `_and`, `_or` and `_not`. */
function joined(listing: Listing, list: FullList, slot: Slot, candidates: readonly Candidate[]): Condition[] {
  const names = [...slot.shape.properties.keys()];
  const [first] = candidates;
  if (first === undefined) return [];
  const others = candidates.filter(({ column }) => column !== first.column);
  const results = (one: Condition) => list.rows.map(one.holds);
  const created: Condition[] = [];
  for (const name of names) {
    const connective = connectiveOf(name);
    const best =
      connective === undefined
        ? undefined
        : connective === 'not'
          ? negation(slot, name, first)
          : [...others, ...candidates]
              .filter((other) => other !== first)
              .slice(0, 30)
              .map((other) => junction(slot, name, connective, first, other))
              // Only worth sending if neither condition alone would return the same rows.
              .find(
                (one) => JSON.stringify(results(one)) !== JSON.stringify(results(first)) && reach(list, one).no > 0,
              );
    if (best !== undefined && listing.reader.callOf(best.settings) !== undefined) created.push(best);
  }
  const beside = others.find((other) => other.column !== first.column);
  if (beside !== undefined) {
    const value = { ...first.value, ...beside.value };
    const holds = (row: JsonObject) => and([first.holds(row), beside.holds(row)]);
    created.push({ slot, settings: [[slot, value]], label: JSON.stringify(value), holds });
  }
  return created;
}

function junction(slot: Slot, name: string, connective: 'and' | 'or', left: Candidate, right: Candidate): Condition {
  const value = { [name]: [left.value, right.value] };
  const join = connective === 'and' ? and : or;
  return {
    slot,
    settings: [[slot, value]],
    label: JSON.stringify(value),
    holds: (row) => join([left.holds(row), right.holds(row)]),
  };
}

function negation(slot: Slot, name: string, inner: Candidate): Condition {
  const value = { [name]: inner.value };
  return {
    slot,
    settings: [[slot, value]],
    label: JSON.stringify(value),
    holds: (row) => {
      const result = inner.holds(row);
      // The negation of a condition on a null is unspecified.
      const isBlankThere = isBlank(row[inner.column]);
      return result === undefined || isBlankThere ? undefined : !result;
    },
  };
}
