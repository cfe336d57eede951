import type { OpenApiDocument } from '../../../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../../../json.ts';
import { isOwnId } from '../../../run/names.ts';
import { formatOf, hasEnum, hasFlag, itemOf, memberOf, partsOf } from './schema.ts';
import { isUnechoed } from './vocabulary.ts';

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

interface Side {
  readonly value: unknown;
  readonly schemas: readonly JsonObject[];
}

/** The differences between sent and returned values, in properties of both schemas. */
export function unlikes(document: OpenApiDocument, sent: Side, shown: Side, name = '', pointer = ''): Unlike[] {
  if (isWithheld(document, sent.schemas, shown.schemas)) return [];
  const differs = { pointer, sent: sent.value, shown: shown.value, schema: shown.schemas[0] };
  if (isNothing(sent.value) && isNothing(shown.value)) return [];
  if (Array.isArray(sent.value)) {
    if (isNothing(shown.value)) return [differs];
    return Array.isArray(shown.value) ? unlikeItems(document, sent, shown, name, pointer) : [];
  }
  if (isObject(sent.value)) {
    if (isNothing(shown.value)) return [differs];
    return isObject(shown.value) ? unlikeMembers(document, sent, shown, pointer) : [];
  }
  // A reference may be returned as the embedded resource.
  if (typeof shown.value === 'object' && shown.value !== null) return sent.value === null ? [differs] : [];
  const format = formatOf(document, sent.schemas) ?? formatOf(document, shown.schemas);
  return isSame(sent.value, shown.value, { name, format, isWord: hasEnum(document, sent.schemas) }) ? [] : [differs];
}

function unlikeMembers(document: OpenApiDocument, sent: Side, shown: Side, pointer: string): Unlike[] {
  const { value: sentValue } = sent;
  const { value: got } = shown;
  if (!isObject(sentValue) || !isObject(got)) return [];
  // A free-form object declares no properties. They are compared only if at least one is returned by name.
  const isKept = isFree(document, shown.schemas) && Object.keys(sentValue).some((key) => Object.hasOwn(got, key));
  return Object.entries(sentValue).flatMap(([key, value]) => {
    if (isServerOwned(key)) return [];
    const declared = memberOf(document, shown.schemas, key);
    if (declared.length === 0 && !isKept) return [];
    return unlikes(
      document,
      { value, schemas: memberOf(document, sent.schemas, key) },
      { value: Object.hasOwn(got, key) ? got[key] : undefined, schemas: declared },
      key,
      `${pointer}/${escapeSegment(key)}`,
    );
  });
}

function unlikeItems(document: OpenApiDocument, sent: Side, shown: Side, name: string, pointer: string): Unlike[] {
  const [sentItems, got] = [sent.value as unknown[], shown.value as unknown[]];
  const differs = { pointer, sent: sentItems, shown: got, schema: shown.schemas[0] };
  const ofSent = itemOf(document, sent.schemas);
  const ofShown = itemOf(document, shown.schemas);
  const unlike = (one: unknown, other: unknown) =>
    unlikes(document, { value: one, schemas: ofSent }, { value: other, schemas: ofShown }, name, `${pointer}/*`);
  if (sentItems.every((item) => !isObject(item) && !Array.isArray(item))) {
    // Lists of scalars are often stored as sets.
    if (got.some((item) => isObject(item) || Array.isArray(item))) return [];
    const isKept = sentItems.every((item) => got.some((other) => unlike(item, other).length === 0));
    const isCreated = got.every((item) => sentItems.some((other) => unlike(other, item).length === 0));
    return isKept && isCreated ? [] : [differs];
  }
  if (sentItems.length !== got.length) return [differs];
  return sentItems.flatMap((item, index) => unlike(item, got[index])).slice(0, 1);
}

function isWithheld(document: OpenApiDocument, sent: readonly JsonObject[], shown: readonly JsonObject[]): boolean {
  return (
    hasFlag(document, sent, 'readOnly') ||
    hasFlag(document, sent, 'writeOnly') ||
    hasFlag(document, shown, 'writeOnly') ||
    ['password', 'binary', 'byte', 'duration'].includes(formatOf(document, sent) ?? '') ||
    [...sent, ...shown].flatMap((schema) => partsOf(document, schema)).some(isUnechoed)
  );
}

function isFree(document: OpenApiDocument, schemas: readonly JsonObject[]): boolean {
  return (
    schemas.length > 0 &&
    schemas.flatMap((schema) => partsOf(document, schema)).every(({ properties }) => properties === undefined)
  );
}

/** Null, absent and empty values are equivalent: servers return them interchangeably. */
export function isNothing(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isObject(value) && Object.values(value).every(isNothing))
  );
}

interface Hints {
  readonly name?: string;
  readonly format?: string | undefined;
  /** Whether the value is from an enum. */
  readonly isWord?: boolean;
}

/** Whether two scalars are equal apart from their notation. */
export function isSame(sent: unknown, shown: unknown, { name = '', format, isWord = false }: Hints = {}): boolean {
  if (sent === shown || (isNothing(sent) && isNothing(shown))) return true;
  if (sent === null || sent === undefined || shown === null || shown === undefined) return false;
  if (typeof sent === 'number' || typeof shown === 'number') return isSameNumber(Number(sent), Number(shown));
  if (typeof sent !== 'string' || typeof shown !== 'string') return String(sent) === String(shown);
  if (isSameMoment(sent, shown)) return true;
  const isCaseless =
    isWord ||
    /^(?:email|idn-email|uuid|hostname|idn-hostname|uri|url|iri)$/.test(format ?? '') ||
    /e?mail|currency|country|locale|language|domain|url|code$/i.test(name);
  const [one, other] = [plain(sent, isCaseless), plain(shown, isCaseless)];
  if (one === other) return true;
  if (/phone|mobile|fax|tel/i.test(name)) return digits(one) === digits(other);
  if (/^(?:uri|url|iri)/.test(format ?? '')) return one.replace(/\/$/, '') === other.replace(/\/$/, '');
  // HTML may be escaped.
  return /[<>&]/.test(sent);
}

function isSameNumber(one: number, other: number): boolean {
  return one === other || Math.abs(one - other) <= Math.abs(one) * 1e-9;
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

function digits(text: string): string {
  return text.replaceAll(/\D/g, '');
}
