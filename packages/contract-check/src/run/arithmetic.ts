import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf } from '../document/operation.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import { canBeJson, escapeSegment, isKey, isObject, type JsonObject, jsonText } from '../json.ts';
import { general, type Success } from '../judge/judge.ts';
import { objectsIn, View } from '../schema/view.ts';
import { isOwnId } from './names.ts';

/**
 * Reports numbers that differ from the calculation that `x-contract-check: { calculated }` declares, and embedded resources
 * that are not those of the references beside them: `driver: { id: 7 }` and `driverId: 8`.
 */
export function inconsistent(document: OpenApiDocument, { operation, declared, value }: Success): Candidate[] {
  const schema = declared.contents.find(({ mediaType }) => canBeJson(mediaType))?.schema;
  const found: Candidate[] = [];
  for (const { pointer, object, view } of objectsIn(View.of(document, schema), value)) {
    const about = (name: string) => general(`${pointer}/${escapeSegment(name)}`);
    for (const name of view.names) {
      const node = view.described(name).parts.find((part) => isObject(extensionOf(part).calculated));
      const { calculated } = extensionOf(node ?? {});
      const expected = isObject(calculated) ? resultOf(calculated, object) : Number.NaN;
      if (node === undefined || !differs(object[name], expected)) continue;
      const texts = { expected: `${expected}: ${jsonText(calculated)}`, actual: jsonText(object[name]) };
      found.push(candidateOf('calculated-wrong', operation, about(name), { ...texts, place: document.placeOf(node) }));
    }
    for (const [name, inner] of Object.entries(object)) {
      const id = isObject(inner) ? inner[Object.keys(inner).find(isOwnId) ?? ''] : undefined;
      const reference = ['Id', '_id', 'ID'].map((end) => `${name}${end}`).find((one) => isKey(object[one]));
      if (reference === undefined || !isKey(id) || String(id) === String(object[reference])) continue;
      const place = document.placeOf(view.described(name).node ?? operation.node);
      const texts = { expected: `${name} of ${reference} ${jsonText(object[reference])}`, actual: jsonText(id) };
      found.push(candidateOf('embedded-another', operation, about(name), { ...texts, place }));
    }
  }
  return found;
}

/**
 * A product of properties, a sum of some less others, or a sum over the rows of a list beside it. NaN if any of them is
 * missing or not a number.
 */
function resultOf({ times, plus, minus, sum, of }: JsonObject, object: JsonObject): number {
  const numbers = (names: unknown) => (Array.isArray(names) ? names.map((name) => numberOf(object[name])) : []);
  const rows = object[String(of)];
  if (of !== undefined)
    return Array.isArray(rows) ? total(rows.map((row) => numberOf(Object(row)[String(sum)]))) : Number.NaN;
  if (times !== undefined) return exact(numbers(times).reduce((product, number) => product * number, 1));
  return plus === undefined ? Number.NaN : total([...numbers(plus), ...numbers(minus).map((number) => -number)]);
}

const total = (numbers: readonly number[]) => exact(numbers.reduce((sum, number) => sum + number, 0));

/** Without the error of binary fractions, such as that of 0.1 + 0.2. */
const exact = (number: number) => Number(number.toFixed(6));

/** Whether a returned number is not the expected one. Fewer decimal places count as rounding. */
function differs(returned: unknown, expected: number): boolean {
  const [places, precise] = [decimalsIn(returned), decimalsIn(expected)];
  const tolerance = precise > places ? 10 ** -places : Math.max(1e-6, Math.abs(expected) * 1e-12);
  return Math.abs(numberOf(returned) - expected) >= tolerance;
}

/** A number, or a decimal amount that is transferred as text. NaN for everything else, which is not judged. */
function numberOf(value: unknown): number {
  return /^-?\d+(?:\.\d+)?$/.test(String(value)) ? Number(value) : Number.NaN;
}

function decimalsIn(value: unknown): number {
  return String(value).split('.')[1]?.length ?? 0;
}
