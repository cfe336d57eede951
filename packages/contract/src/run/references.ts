import type { OpenApiDocument } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import { escapeSegment, isDeep, isObject, type JsonObject } from '../json.ts';
import { answerFor, type Candidate, general } from '../judge/judge.ts';
import { isOwnId } from './names.ts';

/**
 * A thing beside the id of it: `driver` beside `driver_id` is the driver with that id. Ids that are written otherwise may be of
 * another kind, and say nothing.
 */
export function disagreeingReferences(document: OpenApiDocument, { operation, answer }: Exchange): Candidate[] {
  if (operation === undefined || answer.status >= 300 || answer.json === undefined) return [];
  if (isDeep(answer.json.value)) return [];
  const declared = answerFor(operation, answer.status);
  const found = new Map<string, Candidate>();
  for (const { pointer, reference, thing } of disagreeing(answer.json.value)) {
    const cause = `reference-disagrees ${operation.id} ${general(pointer)}`;
    found.set(cause, {
      check: 'reference-disagrees',
      category: 'semantics',
      operation: operation.id,
      title: `${general(pointer)} is another thing than the id beside it names`,
      expected: `id ${JSON.stringify(reference)}, as the reference beside it says`,
      actual: `id ${JSON.stringify(thing)}`,
      place: declared === undefined ? undefined : document.placeOf(declared.node),
      fix: 'Show the thing that is referred to.',
      cause,
    });
  }
  return [...found.values()];
}

interface Pair {
  /** Where the thing stands. */
  readonly pointer: string;
  readonly reference: unknown;
  readonly thing: unknown;
}

function* disagreeing(value: unknown, pointer = ''): Generator<Pair> {
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* disagreeing(item, `${pointer}/${index}`);
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const here = `${pointer}/${escapeSegment(name)}`;
    yield* disagreeing(member, here);
    const reference = isObject(member) ? referenceTo(value, name) : undefined;
    const thing = isObject(member) ? member[Object.keys(member).find(isOwnId) ?? ''] : undefined;
    if (reference !== thing && formOf(reference) !== undefined && formOf(reference) === formOf(thing))
      yield { pointer: here, reference, thing };
  }
}

/** The id that stands beside a thing: `driver_id` or `driverId` beside `driver`. */
function referenceTo(beside: JsonObject, name: string): unknown {
  return [`${name}_id`, `${name}Id`, `${name}ID`, `${name}_uuid`, `${name}Uuid`]
    .filter((one) => Object.hasOwn(beside, one))
    .map((one) => beside[one])[0];
}

/** How an id is written: ids of two forms are not those of one thing. */
function formOf(id: unknown): string | undefined {
  if (typeof id === 'number') return 'number';
  if (typeof id !== 'string' || id === '') return undefined;
  return id.replaceAll(/[\da-f]+/gi, '0').replaceAll(/[a-z]+/gi, 'a');
}
