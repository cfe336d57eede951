import type { OpenApiDocument } from '../document/document.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { general, type Success } from '../judge/judge.ts';
import { isOwnId } from './names.ts';

/**
 * Reports a nested resource whose ID differs from the reference beside it: `driver` and `driver_id`. IDs in different
 * formats are skipped, because they may be of different kinds.
 */
export function disagreeingReferences(document: OpenApiDocument, { operation, declared, value }: Success): Candidate[] {
  return [...disagreeing(value)].map(({ pointer, reference, resource }) =>
    candidateOf('reference-disagrees', operation, general(pointer), {
      expected: `id ${JSON.stringify(reference)}, as in the reference next to it`,
      actual: `id ${JSON.stringify(resource)}`,
      place: document.placeOf(declared.node),
    }),
  );
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
  const names = [`${name}_id`, `${name}Id`, `${name}ID`, `${name}_uuid`, `${name}Uuid`];
  return beside[names.find((one) => Object.hasOwn(beside, one)) ?? ''];
}

/** The format of an ID. IDs of different formats are not comparable. */
function formOf(id: unknown): string | undefined {
  if (typeof id === 'number') return 'number';
  if (typeof id !== 'string' || id === '') return undefined;
  return id.replaceAll(/[\da-f]+/gi, '0').replaceAll(/[a-z]+/gi, 'a');
}
