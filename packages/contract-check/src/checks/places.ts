import { type Content, groupOf, type Parameter } from '../document/operation.ts';
import { bodySchemaOf, type Call, contentOf } from '../http/call.ts';
import { parsedAs } from '../http/deserialize.ts';
import { asText, at, isForm, isJson, isObject, type JsonObject, put } from '../json.ts';
import { general } from '../judge/judge.ts';
import { withKnownIds } from '../run/ids.ts';
import { isCreating } from '../run/names.ts';
import type { Session } from '../run/session.ts';
import { unquoted } from '../schema/candidate.ts';
import { dice, inWholeNumbers, shuffled } from '../schema/numbers.ts';
import type { Values } from '../schema/values.ts';
import type { Variant } from '../schema/variants.ts';
import { View } from '../schema/view.ts';

export interface CallPlace {
  /** For display: `query.pageSize`, `body`. */
  readonly name: string;
  readonly schema: JsonObject;
  readonly parameter: Parameter | undefined;
  /** Whether the properties of the body are sent as texts. */
  readonly isForm: boolean;
  /** The value in the known request, or a valid one if that omits it; undefined if none is known. */
  readonly value: unknown;
  readonly call: Call;
  with(value: unknown): Call;
}

export function placesOf(session: Session, call: Call): CallPlace[] {
  const { operation } = call;
  const parameters = operation.parameters.map((parameter) => parameterPlace(session, call, parameter));
  const body = bodyPlace(call, contentOf(call));
  return body === undefined ? parameters : [...parameters, body];
}

export function bodiesOf(session: Session, calls: readonly Call[]): CallPlace[] {
  return calls.flatMap((call) => placesOf(session, call).filter(({ parameter }) => parameter === undefined));
}

/**
 * The call with existing IDs in its body instead of made-up ones, if it violates the same constraints as before, or none.
 *
 * @param kept JSON Pointer to a value that must not change.
 */
export function withRealIds(session: Session, call: Call, kept?: string): Call {
  const { operation, body } = call;
  const schema = bodySchemaOf(call);
  if (schema === undefined || body === undefined) return call;
  const known = withKnownIds(session, operation, body, { keepsKeys: isCreating(operation) });
  const isScalar = kept !== undefined && !['object', 'undefined'].includes(typeof at(body, kept));
  const real = isScalar ? put(known, kept, at(body, kept)) : known;
  const breaches = (value: unknown) =>
    session.validators
      .breaches(schema, value, 'request')
      .map(({ pointer, keyword }) => `${pointer} ${keyword}`)
      .join();
  return breaches(real) === breaches(body) ? { ...call, body: real } : call;
}

/** The call with a body that no value can express. */
export function withText(call: Call, body: string, mediaType = call.mediaType ?? 'application/json'): Call {
  return { ...call, raw: { ...call.raw, headers: { ...call.raw?.headers, 'content-type': mediaType }, body } };
}

/** Where a value is in a request. All items of a list and all entries of a map are at the same place. */
export function whereOf({ document }: Session, { name, schema }: CallPlace, pointer: string): string {
  return `${name}${general(pointer, View.of(document, schema))}`;
}

/** What a value is about, wherever it is. */
const kindOf = ({ keyword, detail, place, pointer }: Variant) =>
  `${keyword} ${detail} ${place?.file} ${place?.pointer ?? pointer}`;

/** Values for a place that can be sent: all, or with a seed, some of each kind. */
export function sendable(
  session: Session,
  place: CallPlace,
  valuesOf: (values: Values, schema: JsonObject, value: unknown) => readonly Variant[],
  { isBreak, most }: { isBreak: boolean; most: number },
): Variant[] {
  if (place.value === undefined) return [];
  const isText = (place.parameter !== undefined && place.parameter.mediaType === undefined) || place.isForm;
  const possible = valuesOf(session.values, place.schema, place.value).filter(
    ({ value, detail }) =>
      !(isText && detail.startsWith(unquoted)) && isDistinguishable(session, place, value, isBreak),
  );
  const seed = session.seedFor(`${place.call.operation.id} ${isBreak ? 'breaks' : 'valid'} ${place.name}`);
  // Properties can share a schema, and a server can reject one of them.
  return sampled(possible, Math.min(most, session.options.probes ?? most), seed, (one) => [
    kindOf(one),
    `at ${general(one.pointer)}`,
  ]);
}

/** Values at places. Branches share constraints: each is probed at the first place that has it. */
export function oncePerConstraint(
  places: readonly CallPlace[],
  valuesAt: (place: CallPlace) => readonly Variant[],
): { readonly place: CallPlace; readonly value: Variant }[] {
  const seen = new Map<string, CallPlace>();
  return places.flatMap((place) =>
    valuesAt(place).flatMap((value) => {
      const key = `${place.name} ${general(value.pointer)} ${kindOf(value)}`;
      if (!seen.has(key)) seen.set(key, place);
      return seen.get(key) === place ? [{ place, value }] : [];
    }),
  );
}

function bodyPlace(call: Call, content: Content | undefined): CallPlace | undefined {
  if (content?.schema === undefined) return undefined;
  const { schema, mediaType } = content;
  if (!isJson(mediaType) && !(isForm(mediaType) && isObject(call.body))) return undefined;
  const place = { name: 'body', schema, parameter: undefined, isForm: isForm(mediaType), value: call.body, call };
  return { ...place, with: (body) => ({ ...call, body }) };
}

function parameterPlace(session: Session, call: Call, parameter: Parameter): CallPlace {
  const group = groupOf(parameter);
  const own = call[group][parameter.name];
  const seed = session.seedFor(`${call.operation.id} ${parameter.in}.${parameter.name}`);
  const accepts = (one: unknown) => session.validators.accepts(parameter.schema, one);
  const example = parameter.examples.find(accepts);
  const sample = session.values.sample(parameter.schema, 'most', seed)?.value;
  const value = own ?? example ?? [inWholeNumbers(sample), sample].find(accepts);
  const place = { name: `${parameter.in}.${parameter.name}`, schema: parameter.schema, parameter, isForm: false };
  const write = (changed: unknown): Call => ({ ...call, [group]: { ...call[group], [parameter.name]: changed } });
  return { ...place, value, call, with: write };
}

/**
 * Whether a value can be sent in this place and is still distinguishable as text: `"12"` for a number is a valid 12 in
 * a query, an empty path segment changes the path, and a header cannot contain a line feed.
 */
export function isDistinguishable(session: Session, place: CallPlace, value: unknown, isBreak: boolean): boolean {
  const { parameter, schema, isForm } = place;
  if (parameter === undefined && !isForm) return true;
  if (value === null || value === undefined) return false;
  if (parameter?.mediaType !== undefined) return true;
  const isSent = parameter === undefined ? canBeForm(value) : canBeParameter(session, parameter, value);
  return isSent && (!isBreak || !session.validators.accepts(schema, parsedAs(session, schema, value)));
}

/** A form contains text properties; a list is a repeated property. */
function canBeForm(value: unknown): boolean {
  const isText = (member: unknown) =>
    ['number', 'boolean'].includes(typeof member) || (typeof member === 'string' && member.isWellFormed());
  return (
    isObject(value) &&
    Object.values(value).every((member) =>
      Array.isArray(member) ? member.length > 1 && member.every(isText) : isText(member),
    )
  );
}

function canBeParameter(session: Session, parameter: Parameter, value: unknown): boolean {
  const types = [session.document.object(parameter.schema).type].flat();
  const isComposite = Array.isArray(value) || isObject(value);
  if (isComposite !== (types.includes('array') || types.includes('object'))) return false;
  const members = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [value];
  if (isComposite && members.some((member) => typeof member === 'object')) return false;
  const texts = members.map(asText);
  // With a pair for each property, separators in values are unambiguous.
  const isApart = parameter.style === 'deepObject' || (parameter.style === 'form' && parameter.explode);
  if (isComposite && (texts.length === 0 || texts.some((text) => text === '' || (!isApart && /[,|; .=&]/.test(text)))))
    return false;
  // An empty value is one that OpenAPI lets a parameter exclude.
  if (parameter.node.allowEmptyValue === false && texts.includes('')) return false;
  return texts.every((text) => canCarry(parameter, text));
}

const maxParameterLength = 4000;

function canCarry({ in: place }: Parameter, text: string): boolean {
  // An unpaired surrogate cannot be encoded in a URL.
  if (!text.isWellFormed() || text.length >= maxParameterLength) return false;
  if (place === 'path') return !/^\.{0,2}$|[\0/\\]/.test(text);
  const isVisible = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  return place === 'query' || (isVisible && (place === 'header' || !/[;,"\\ ]/.test(text)));
}

/**
 * Selects items deterministically by seed: one of each kind, then one of each kind in another regard, and then a second
 * of any.
 */
function sampled<Item>(
  items: readonly Item[],
  limit: number,
  seed: number,
  kindsOf: (item: Item) => readonly string[],
): Item[] {
  if (items.length <= limit) return [...items];
  const seen = new Map<string, number>();
  const turnOf = (kind: string) => {
    const turn = seen.get(kind) ?? 0;
    seen.set(kind, turn + 1);
    return turn;
  };
  const ranked = items.map((item, index) => {
    const turns = kindsOf(item).map(turnOf);
    return { item, index, turn: Math.min(...turns.map((turn, regard) => turn * turns.length + regard)) };
  });
  return shuffled(ranked, dice(seed))
    .sort((left, right) => left.turn - right.turn)
    .slice(0, limit)
    .sort((left, right) => left.index - right.index)
    .map(({ item }) => item);
}
