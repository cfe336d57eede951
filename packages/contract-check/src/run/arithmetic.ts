import { Big } from 'big.js';
import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { isJson } from '../http/serialize.ts';
import { escapeSegment, isDeep, isObject, type JsonObject } from '../json.ts';
import { type Description, objectsIn } from '../judge/described.ts';
import { type Candidate, declaredResponseFor, general } from '../judge/judge.ts';
import { singular } from './names.ts';
import { type Formula, parseFormula, parseSum, type SumFormula } from './wording.ts';
import { keyOfName } from './words.ts';

/**
 * Reports numbers that differ from the calculation in their description, such as `quantity times unitPrice` or `The sum
 * of all lineTotals`. A formula is ignored if one of its words matches no sibling property.
 */
export function miscalculated(document: OpenApiDocument, { operation, response }: Exchange): Candidate[] {
  if (operation === undefined || response.status >= 300 || response.json === undefined) return [];
  if (isDeep(response.json.value)) return [];
  const schema = declaredResponseFor(operation, response.status)?.contents.find(({ mediaType }) =>
    isJson(mediaType),
  )?.schema;
  if (schema === undefined) return [];
  const found = new Map<string, Candidate>();
  for (const { pointer: at, object, description } of objectsIn(document, schema, response.json.value)) {
    for (const { name, node, words, formula, sum } of calculatedIn(description)) {
      const stated = object[name];
      const expected = resultOf(formula, name, object) ?? sumOf(sum, object);
      if (expected === undefined || agrees(stated, expected)) continue;
      const pointer = `${at}/${escapeSegment(name)}`;
      const cause = `calculated-wrong ${operation.id} ${general(pointer)}`;
      found.set(cause, {
        check: 'calculated-wrong',
        category: 'behavior',
        operation: operation.id,
        title: `${general(pointer)} is not the documented sum or product`,
        expected: `${expected.toFixed()}: "${words}"`,
        actual: JSON.stringify(stated),
        place: document.placeOf(node),
        fix: `Calculate ${name} as documented, or correct the description. \`x-contract-check: { calculated: false }\` disables this check.`,
        cause,
      });
    }
  }
  return [...found.values()];
}

/** A property whose description states how it is calculated. */
interface Calculated {
  readonly name: string;
  readonly node: JsonObject;
  readonly words: string;
  readonly formula: Formula | undefined;
  readonly sum: SumFormula | undefined;
}

const known = new WeakMap<Description, readonly Calculated[]>();

function calculatedIn(description: Description): readonly Calculated[] {
  const calculated = known.get(description) ?? readCalculated(description);
  known.set(description, calculated);
  return calculated;
}

function readCalculated(description: Description): Calculated[] {
  const names = description.parts.flatMap(({ properties }) => Object.keys(isObject(properties) ? properties : {}));
  return [...new Set(names)].flatMap((name) => {
    const parts = description.member(name)?.parts ?? [];
    const node = parts.find((part) => typeof part.description === 'string');
    if (node === undefined || parts.some((part) => extensionOf(part).calculated === false)) return [];
    const words = String(node.description);
    const [formula, sum] = [parseFormula(words), parseSum(words)];
    return formula === undefined && sum === undefined ? [] : [{ name, node, words, formula, sum }];
  });
}

/** Evaluates a formula; undefined if a property is missing, is not a number, or is a percentage. */
function resultOf(formula: Formula | undefined, name: string, object: JsonObject): Big | undefined {
  if (formula === undefined) return undefined;
  const names = formula.operands.map((operand) => nameLike(operand, Object.keys(object)));
  if (names.includes(name) || new Set(names).size < names.length) return undefined;
  const numbers = names.map((one) => (one === undefined || isShare(one) ? undefined : numberOf(object[one])));
  const known = numbers.filter((number) => number !== undefined);
  if (known.length < numbers.length) return undefined;
  return known.reduce((result, number, index) => result[formula.operators[index - 1] ?? 'plus'](number));
}

/** Evaluates a documented sum over a list in the same object; undefined unless exactly one list matches. */
function sumOf(formula: SumFormula | undefined, object: JsonObject): Big | undefined {
  if (formula === undefined) return undefined;
  const sums = Object.entries(object)
    .filter(([name]) => formula.rows === undefined || nameLike(formula.rows, [name]) !== undefined)
    .map(([, list]) => (Array.isArray(list) && list.every(isObject) ? sumOver(list, formula) : undefined))
    .filter((sum) => sum !== undefined);
  return sums.length === 1 ? sums[0] : undefined;
}

/** The sum of a property over rows; undefined if no row has it, or if a row has a value that is not a number. */
export function sumOver(rows: readonly JsonObject[], { member, isSparse }: SumFormula): Big | undefined {
  const numbers = rows.map((row) => {
    const name = nameLike(member, Object.keys(row));
    const value = name === undefined ? undefined : row[name];
    return (value ?? undefined) === undefined && isSparse ? zero : numberOf(value);
  });
  const known = numbers.filter((number) => number !== undefined);
  const isNamed = rows.some((row) => nameLike(member, Object.keys(row)) !== undefined);
  return isNamed && known.length === rows.length ? known.reduce((sum, number) => sum.plus(number), zero) : undefined;
}

const zero = new Big(0);

/** Whether a reported number equals the expected one. Fewer decimal places count as rounding. */
export function agrees(stated: unknown, expected: Big): boolean {
  const number = numberOf(stated);
  if (number === undefined) return true;
  const places = decimalsIn(stated);
  const isRounded = decimalsIn(expected.toFixed()) > places;
  // Ignores the error that binary fractions add to a sum.
  const step = isRounded ? new Big(10).pow(-places) : new Big('0.000001');
  return number.minus(expected).abs().lt(step);
}

/** Percentages are skipped: 19 % is written as 19 by some APIs and as 0.19 by others. */
function isShare(name: string): boolean {
  return /percent|pct|share|ratio/i.test(name);
}

/**
 * The property name that words refer to: `unit amount` matches `unitAmount`. `lineTotals` matches `lineTotal` if no
 * name matches exactly.
 */
export function nameLike(words: string, names: readonly string[]): string | undefined {
  return (
    names.find((name) => keyOfName(name) === keyOfName(words)) ??
    names.find((name) => singular(name) === singular(words))
  );
}

/** Parses a number, including decimal amounts that are transferred as strings. */
export function numberOf(value: unknown): Big | undefined {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value));
  return isNumber ? new Big(value) : undefined;
}

function decimalsIn(value: unknown): number {
  return String(value).split('.')[1]?.length ?? 0;
}
