import { Big } from 'big.js';
import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf } from '../document/operation.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import { isJson } from '../http/call.ts';
import { escapeSegment, isObject, type JsonObject, remembered } from '../json.ts';
import { general, type Success } from '../judge/judge.ts';
import { objectsIn, View } from '../schema/view.ts';

/** Reports numbers that differ from the calculation that `x-contract-check: { calculated }` declares. */
export function miscalculated(document: OpenApiDocument, { operation, declared, value }: Success): Candidate[] {
  const schema = declared.contents.find(({ mediaType }) => isJson(mediaType))?.schema;
  return [...objectsIn(View.of(document, schema), value)].flatMap(({ pointer, object, view }) =>
    calculatedIn(view).flatMap(({ name, node, calculation }) => {
      const expected = resultOf(calculation, object);
      if (expected === undefined || agrees(object[name], expected)) return [];
      return candidateOf('calculated-wrong', operation, general(`${pointer}/${escapeSegment(name)}`), {
        expected: `${expected.toFixed()}: ${JSON.stringify(extensionOf(node).calculated)}`,
        actual: JSON.stringify(object[name]),
        place: document.placeOf(node),
      });
    }),
  );
}

/** A product of properties, a sum of some less others, or a sum over the rows of a list beside it. */
type Calculation =
  | { readonly times: string[] }
  | { readonly plus: string[]; readonly minus: string[] }
  | { readonly member: string; readonly of: string };

const namesIn = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);

/** The calculation that a property declares. */
function calculationOf(node: JsonObject): Calculation | undefined {
  const { calculated } = extensionOf(node);
  if (!isObject(calculated)) return undefined;
  const { sum: member, of } = calculated;
  if (typeof member === 'string' && typeof of === 'string') return { member, of };
  const [times, plus, minus] = [namesIn(calculated.times), namesIn(calculated.plus), namesIn(calculated.minus)];
  if (times.length > 0) return { times };
  return plus.length > 0 ? { plus, minus } : undefined;
}

interface Calculated {
  readonly name: string;
  readonly node: JsonObject;
  readonly calculation: Calculation;
}

const known = new WeakMap<View, readonly Calculated[]>();

function calculatedIn(view: View): readonly Calculated[] {
  return remembered(known, view, () =>
    view.names.flatMap((name) => {
      const parts = view.described(name).parts.flatMap((node) => {
        const calculation = calculationOf(node);
        return calculation === undefined ? [] : [{ name, node, calculation }];
      });
      return parts.slice(0, 1);
    }),
  );
}

/** Undefined if a property is missing or is not a number. */
function resultOf(calculation: Calculation, object: JsonObject): Big | undefined {
  if ('member' in calculation) {
    const rows = object[calculation.of];
    const isList = Array.isArray(rows) && rows.every(isObject);
    const terms = isList ? all(rows.map((row) => numberOf(row[calculation.member]))) : undefined;
    return terms && sumOf(terms);
  }
  const numbers = (names: readonly string[]) => all(names.map((name) => numberOf(object[name])));
  if ('times' in calculation)
    return numbers(calculation.times)?.reduce((product, number) => product.times(number), new Big(1));
  const [added, taken] = [numbers(calculation.plus), numbers(calculation.minus)];
  return added === undefined || taken === undefined ? undefined : sumOf(added).minus(sumOf(taken));
}

function all(numbers: readonly (Big | undefined)[]): Big[] | undefined {
  const some = numbers.filter((number) => number !== undefined);
  return some.length === numbers.length ? some : undefined;
}

const zero = new Big(0);
const sumOf = (numbers: readonly Big[]) => numbers.reduce((sum, number) => sum.plus(number), zero);

/** Whether a reported number equals the expected one. Fewer decimal places count as rounding. */
function agrees(stated: unknown, expected: Big): boolean {
  const number = numberOf(stated);
  if (number === undefined) return true;
  const places = decimalsIn(stated);
  const isRounded = decimalsIn(expected.toFixed()) > places;
  // Ignores the error that binary fractions add to a sum.
  const step = isRounded ? new Big(10).pow(-places) : new Big('0.000001');
  return number.minus(expected).abs().lt(step);
}

/** Parses a number, including decimal amounts that are transferred as strings. */
function numberOf(value: unknown): Big | undefined {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value));
  return isNumber ? new Big(value) : undefined;
}

function decimalsIn(value: unknown): number {
  return String(value).split('.')[1]?.length ?? 0;
}
