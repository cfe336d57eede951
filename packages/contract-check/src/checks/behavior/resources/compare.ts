import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isOwnId } from '../../../run/names.ts';

/** The resource in a response: the response itself, or the only object in it with an ID. */
export function resourceIn({ response }: Exchange): JsonObject {
  const body = response.json?.value;
  if (!isObject(body)) return {};
  const hasId = (one: JsonObject) => Object.keys(one).some(isOwnId);
  const [inner, ...others] = Object.values(body).filter(isObject).filter(hasId);
  const isWrapped = inner !== undefined && others.length === 0 && Object.values(body).every(isObject);
  return !hasId(body) && isWrapped ? inner : body;
}

/** The own ID of a resource. */
export const ownId = (row: JsonObject) => row[Object.keys(row).find(isOwnId) ?? ''];

export const isScalar = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);
export const isGone = ({ response }: Exchange) => response.status === 404 || response.status === 410;
export const isRejection = ({ response }: Exchange) => response.status >= 400 && response.status < 500;

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
