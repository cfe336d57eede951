import type { OpenApiDocument } from '../document/document.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { escapeSegment, isDeep, isObject, type JsonObject } from '../json.ts';
import { declaredResponseFor, general } from '../judge/judge.ts';
import { isOwnId } from './names.ts';

/**
 * Reports a nested resource whose ID differs from the reference beside it: `driver` and `driver_id`. IDs in different
 * formats are skipped, because they may be of different kinds.
 */
export function disagreeingReferences(document: OpenApiDocument, { operation, response }: Exchange): Candidate[] {
  if (operation === undefined || response.status >= 300 || response.json === undefined) return [];
  if (isDeep(response.json.value)) return [];
  const declared = declaredResponseFor(operation, response.status);
  const found = new Map<string, Candidate>();
  for (const { pointer, reference, resource } of disagreeing(response.json.value)) {
    const candidate = candidateOf('reference-disagrees', operation, general(pointer), {
      expected: `id ${JSON.stringify(reference)}, as in the reference next to it`,
      actual: `id ${JSON.stringify(resource)}`,
      place: declared === undefined ? undefined : document.placeOf(declared.node),
    });
    found.set(candidate.cause, candidate);
  }
  return [...found.values()];
}

interface Pair {
  readonly pointer: string;
  readonly reference: unknown;
  readonly resource: unknown;
}

function* disagreeing(value: unknown, pointer = ''): Generator<Pair> {
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* disagreeing(item, `${pointer}/${index}`);
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const here = `${pointer}/${escapeSegment(name)}`;
    yield* disagreeing(member, here);
    const reference = isObject(member) ? referenceTo(value, name) : undefined;
    const resource = isObject(member) ? member[Object.keys(member).find(isOwnId) ?? ''] : undefined;
    if (reference !== resource && formOf(reference) !== undefined && formOf(reference) === formOf(resource))
      yield { pointer: here, reference, resource };
  }
}

/** The ID next to a nested resource: `driver_id` or `driverId` beside `driver`. */
function referenceTo(beside: JsonObject, name: string): unknown {
  return [`${name}_id`, `${name}Id`, `${name}ID`, `${name}_uuid`, `${name}Uuid`]
    .filter((one) => Object.hasOwn(beside, one))
    .map((one) => beside[one])[0];
}

/** The format of an ID. IDs of different formats are not comparable. */
function formOf(id: unknown): string | undefined {
  if (typeof id === 'number') return 'number';
  if (typeof id !== 'string' || id === '') return undefined;
  return id.replaceAll(/[\da-f]+/gi, '0').replaceAll(/[a-z]+/gi, 'a');
}
