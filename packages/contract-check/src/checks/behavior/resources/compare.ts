import type { OpenApiDocument } from '../../../document/document.ts';
import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject } from '../../../json.ts';
import { isOwnId } from '../../../run/names.ts';
import { extensionsIn, formatOf, hasEnum, hasFlag, itemOf, memberOf, partsOf } from '../../../schema/parts.ts';

/** The resource in a response: the response itself, or the only object in it with an ID. */
export function resourceIn({ response }: Exchange): JsonObject {
  const body = response.json?.value;
  if (!isObject(body)) return {};
  const hasId = (one: JsonObject) => Object.keys(one).some(isOwnId);
  const [inner, ...others] = Object.values(body).filter(isObject).filter(hasId);
  const isWrapped = inner !== undefined && others.length === 0 && Object.values(body).every(isObject);
  return !hasId(body) && isWrapped ? inner : body;
}

export const isScalar = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);
export const isGone = ({ response }: Exchange) => response.status === 404 || response.status === 410;
export const isRejection = ({ response }: Exchange) => response.status >= 400 && response.status < 500;

/** A part of the request that the server returned with another value. */
export interface Unlike {
  readonly pointer: string;
  readonly sent: unknown;
  /** Undefined if it is missing. */
  readonly shown: unknown;
  /** The schema of the part in the response. */
  readonly schema: JsonObject | undefined;
}

/** Whether the server always sets the property itself. */
export function isServerOwned(name: string): boolean {
  return (
    isOwnId(name) ||
    /^_?(?:version|revision|rev|etag|self|href|links)$/i.test(name) ||
    /^(?:last)?[-_]?(?:updated|modified|created|changed)(?:[-_]?(?:at|on|by|date|time|timestamp))?$/i.test(name)
  );
}

/** Properties whose values may differ in every response. */
export const isFleeting = /url|href|link|token|secret|expires|remaining|age$|seen|position|rank|etag/i;

/** Whether a property is stable without writes. */
export function isSteady(name: string): boolean {
  const moves =
    /status|state|phase|progress|count|total|url|href|link|token|secret|expires|remaining|age|last|seen|position|rank/i;
  return !moves.test(name) && !/(?:at|on)$|(?:A|_a)t$|(?:D|_d)ate$|updated|modified|version|etag|revision/i.test(name);
}

interface Side {
  readonly value: unknown;
  readonly schemas: readonly JsonObject[];
}

/** The differences between sent and returned values, in properties of both schemas. */
export function unlikes(document: OpenApiDocument, sent: Side, shown: Side, name = '', pointer = ''): Unlike[] {
  if (isWithheld(document, sent.schemas, shown.schemas)) return [];
  const differs = { pointer, sent: sent.value, shown: shown.value, schema: shown.schemas[0] };
  if (isNothing(sent.value) && isNothing(shown.value)) return [];
  if (typeof sent.value === 'object' && sent.value !== null) {
    if (isNothing(shown.value)) return [differs];
    if (Array.isArray(sent.value) && Array.isArray(shown.value))
      return unlikeItems(document, sent, shown, name, pointer);
    return isObject(sent.value) && isObject(shown.value) ? unlikeMembers(document, sent, shown, pointer) : [];
  }
  // A reference may be returned as the embedded resource.
  if (typeof shown.value === 'object' && shown.value !== null) return sent.value === null ? [differs] : [];
  const format = formatOf(document, sent.schemas) ?? formatOf(document, shown.schemas);
  return isSame(sent.value, shown.value, { name, format, isWord: hasEnum(document, sent.schemas) }) ? [] : [differs];
}

function unlikeMembers(document: OpenApiDocument, sent: Side, shown: Side, pointer: string): Unlike[] {
  const [own, got] = [sent.value, shown.value];
  if (!isObject(own) || !isObject(got)) return [];
  // A free-form object declares no properties. They are compared only if at least one is returned by name.
  const shownParts = shown.schemas.flatMap((schema) => partsOf(document, schema));
  const isFree = shownParts.length > 0 && shownParts.every(({ properties }) => properties === undefined);
  const isKept = isFree && Object.keys(own).some((key) => Object.hasOwn(got, key));
  return Object.entries(own).flatMap(([key, value]) => {
    const declared = memberOf(document, shown.schemas, key);
    if (isServerOwned(key) || (declared.length === 0 && !isKept)) return [];
    const [left, right] = [
      { value, schemas: memberOf(document, sent.schemas, key) },
      { value: Object.hasOwn(got, key) ? got[key] : undefined, schemas: declared },
    ];
    return unlikes(document, left, right, key, `${pointer}/${escapeSegment(key)}`);
  });
}

function unlikeItems(document: OpenApiDocument, sent: Side, shown: Side, name: string, pointer: string): Unlike[] {
  const [own, got] = [sent.value as unknown[], shown.value as unknown[]];
  const differs = { pointer, sent: own, shown: got, schema: shown.schemas[0] };
  const [ofSent, ofShown] = [itemOf(document, sent.schemas), itemOf(document, shown.schemas)];
  const unlike = (one: unknown, other: unknown) =>
    unlikes(document, { value: one, schemas: ofSent }, { value: other, schemas: ofShown }, name, `${pointer}/*`);
  const isPlain = (item: unknown) => !isObject(item) && !Array.isArray(item);
  if (own.every(isPlain)) {
    // Lists of scalars are often stored as sets.
    if (!got.every(isPlain)) return [];
    const isKept = own.every((item) => got.some((other) => unlike(item, other).length === 0));
    return isKept && got.every((item) => own.some((other) => unlike(other, item).length === 0)) ? [] : [differs];
  }
  if (own.length !== got.length) return [differs];
  return own.flatMap((item, index) => unlike(item, got[index])).slice(0, 1);
}

function isWithheld(document: OpenApiDocument, sent: readonly JsonObject[], shown: readonly JsonObject[]): boolean {
  return (
    hasFlag(document, sent, 'readOnly') ||
    hasFlag(document, [...sent, ...shown], 'writeOnly') ||
    ['password', 'binary', 'byte', 'duration'].includes(formatOf(document, sent) ?? '') ||
    extensionsIn(document, [...sent, ...shown]).some(({ echo }) => echo === false)
  );
}

/** Null, absent and empty values are equivalent: servers return them interchangeably. */
export function isNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? value.length === 0 : Object.values(value).every(isNothing);
  return value === undefined || value === null || value === '';
}

interface Hints {
  readonly name?: string;
  readonly format?: string | undefined;
  /** Whether the value is from an enum. */
  readonly isWord?: boolean;
}

/** Whether two scalars are equal apart from their notation. */
export function isSame(sent: unknown, shown: unknown, { name = '', format = '', isWord = false }: Hints = {}): boolean {
  if (sent === shown || (isNothing(sent) && isNothing(shown))) return true;
  if (sent === null || sent === undefined || shown === null || shown === undefined) return false;
  if (typeof sent === 'number' || typeof shown === 'number') {
    const [one, other] = [Number(sent), Number(shown)];
    return one === other || Math.abs(one - other) <= Math.abs(one) * 1e-9;
  }
  if (typeof sent !== 'string' || typeof shown !== 'string') return String(sent) === String(shown);
  if (isSameMoment(sent, shown)) return true;
  const isCaseless =
    isWord ||
    /^(?:email|idn-email|uuid|hostname|idn-hostname|uri|url|iri)$/.test(format) ||
    /e?mail|currency|country|locale|language|domain|url|code$/i.test(name);
  const [one, other] = [plain(sent, isCaseless), plain(shown, isCaseless)];
  if (one === other) return true;
  if (/phone|mobile|fax|tel/i.test(name)) return one.replaceAll(/\D/g, '') === other.replaceAll(/\D/g, '');
  if (/^(?:uri|url|iri)/.test(format)) return one.replace(/\/$/, '') === other.replace(/\/$/, '');
  // HTML may be escaped.
  return /[<>&]/.test(sent);
}

const moment = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$/;

/** Whether two times are equal to the second, because many databases store no more. A day equals its midnight. */
function isSameMoment(one: string, other: string): boolean {
  if (!moment.test(one) || !moment.test(other)) return false;
  if (one.length === 10 || other.length === 10) return one.slice(0, 10) === other.slice(0, 10);
  return Math.abs(Date.parse(one) - Date.parse(other)) < 1000;
}

function plain(text: string, isCaseless: boolean): string {
  const clean = text.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
  const short = /^-?\d+\.\d+$/.test(clean) ? clean.replace(/\.?0+$/, '') : clean;
  return isCaseless ? short.toLowerCase() : short;
}
