import type { OpenApiDocument } from '../../../document/document.ts';
import type { Operation, Parameter } from '../../../document/operation.ts';
import type { Call } from '../../../http/call.ts';
import { isJson } from '../../../http/serialize.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { wordsOf } from '../../../run/words.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { type ParameterVocabulary, parameterVocabulary } from './vocabulary.ts';

/** An input of a list operation: a query parameter, a body property, or a nested property of these. */
export interface Slot {
  readonly place: 'query' | 'body';
  readonly path: readonly string[];
  /** For display: `page[size]` in a query, `paging.size` in a body. */
  readonly name: string;
  readonly words: readonly string[];
  readonly shape: Shape;
  /** The object in the document that declares it. */
  readonly source: JsonObject;
  readonly isRequired: boolean;
  /** Undefined if none is declared. */
  readonly default: unknown;
  readonly description: string;
  readonly vocabulary: ParameterVocabulary;
}

/** All slots of an operation, including nested ones. */
export function slotsOf(document: OpenApiDocument, operation: Operation, call: Call): Slot[] {
  const inQuery = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.mediaType === undefined)
    .flatMap((parameter) => withMembers(document, queryslot(document, parameter)));
  const content = operation.body?.contents.find(({ mediaType }) => mediaType === call.mediaType);
  if (content?.schema === undefined || !isJson(content.mediaType)) return inQuery;
  const body = shapeOf(document, content.schema);
  const inBody = [...body.properties].flatMap(([name, schemas]) =>
    withMembers(document, memberSlot(document, 'body', [name], schemas, body.required.has(name), content.node)),
  );
  return [...inQuery, ...inBody];
}

function queryslot(document: OpenApiDocument, parameter: Parameter): Slot {
  const shape = shapeOf(document, parameter.schema);
  return {
    place: 'query',
    path: [parameter.name],
    name: parameter.name,
    words: wordsOf(parameter.name),
    shape,
    source: parameter.node,
    isRequired: parameter.required,
    default: defaultOf(shape),
    description: descriptionOf([parameter.node, ...shape.sources]),
    vocabulary: parameterVocabulary(parameter.node),
  };
}

function memberSlot(
  document: OpenApiDocument,
  place: Slot['place'],
  path: readonly string[],
  schemas: readonly JsonObject[],
  isRequired: boolean,
  above: JsonObject,
): Slot {
  const shape = shapeOf(document, ...schemas);
  const [first = '', ...rest] = path;
  return {
    place,
    path,
    name: place === 'body' ? path.join('.') : `${first}${rest.map((one) => `[${one}]`).join('')}`,
    words: path.flatMap(wordsOf),
    shape,
    source: schemas[0] ?? above,
    isRequired,
    default: defaultOf(shape),
    description: descriptionOf(shape.sources),
    vocabulary: parameterVocabulary(schemas[0] ?? {}),
  };
}

/** A slot and its nested slots if it is an object: `page[size]`, `filter.status`. */
function withMembers(document: OpenApiDocument, slot: Slot): Slot[] {
  if (!slot.shape.types.has('object') || slot.path.length > 2) return [slot];
  const members = [...slot.shape.properties].flatMap(([name, schemas]) =>
    withMembers(
      document,
      memberSlot(document, slot.place, [...slot.path, name], schemas, slot.shape.required.has(name), slot.source),
    ),
  );
  return [slot, ...members];
}

/** Returns a copy with the value at a path. */
export function placed(target: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  const object = isObject(target) ? target : {};
  return { ...object, [first]: placed(object[first], rest, value) };
}

export function defaultOf(shape: Shape): unknown {
  return shape.sources.find((source) => source.default !== undefined)?.default;
}

function descriptionOf(sources: readonly JsonObject[]): string {
  return sources
    .map(({ description }) => (typeof description === 'string' ? description : ''))
    .join(' ')
    .trim();
}

export function isInteger({ shape }: Slot): boolean {
  return (
    (shape.types.has('integer') || shape.types.has('number')) &&
    !shape.types.has('object') &&
    !shape.types.has('boolean')
  );
}

export function isText({ shape }: Slot): boolean {
  return shape.types.has('string') && !shape.types.has('object') && !shape.types.has('array');
}

export function isFlag({ shape }: Slot): boolean {
  return shape.types.has('boolean') && !shape.types.has('string') && !shape.types.has('object');
}
