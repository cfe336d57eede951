import { flatRow } from '../../../document/envelopes.ts';
import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { decoded } from '../../../http/deserialize.ts';
import { escapeSegment, isObject, isScalar, type JsonObject } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isOwnId, isVersionName, keyOfName } from '../../../run/names.ts';
import { wrappedIn } from '../../../run/pool.ts';
import type { View } from '../../../schema/view.ts';
import { type Difference, differ, differIn, valued } from '../../observe.ts';

/** The effect of a write: what was sent, and what a response or a later read shows of it. */

/** The resource in a response: the response itself, or the only object in it with an ID. */
export function resourceIn({ response }: Exchange): JsonObject {
  const body = response.json?.value;
  return flatRow(wrappedIn(body) ?? (isObject(body) ? body : {}));
}

export const ownId = (row: JsonObject) => row[Object.keys(row).find(isOwnId) ?? ''];

export const isGone = ({ response }: Exchange) => response.status === 404 || response.status === 410;

/** Whether the server always sets the property itself. */
export function isServerOwned(name: string): boolean {
  return (
    isOwnId(name) ||
    isVersionName(name) ||
    /^_?(?:self|href|links)$/i.test(name) ||
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

/** How far a job is, by the word for its state, or by whether it is `done`. */
export type Phase = 'waiting' | 'running' | 'done' | 'failed';

const phases: readonly (readonly [Phase, RegExp])[] = [
  ['waiting', /^(?:queued|pending|waiting|scheduled|created|new|accepted|requested|submitted)$/i],
  ['running', /^(?:running|processing|in[-_ ]?progress|started|active|working)$/i],
  ['done', /^(?:done|completed?|succeeded|success|successful|finished|ready)$/i],
  ['failed', /^(?:failed|failure|error|errored|cancel+ed|aborted|expired|timed[-_ ]?out)$/i],
];

export function phaseOf(row: JsonObject): Phase | undefined {
  const [word = ''] = Object.entries(row).flatMap(([name, value]) =>
    /^(?:job[-_]?)?(?:status|state|phase)$/i.test(name) && typeof value === 'string' ? [value] : [],
  );
  if (typeof row.done === 'boolean') return row.done ? (isObject(row.error) ? 'failed' : 'done') : 'running';
  return phases.find(([, words]) => words.test(word))?.[0];
}

/** Whether a job is not at its end. */
export const isOpen = ({ row }: { readonly row: JsonObject }) => ['waiting', 'running'].includes(phaseOf(row) ?? '');

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

/** The name of a part of a body: `lines.*.price`. */
export const memberAt = (pointer: string) => general(pointer).slice(1).replaceAll('/', '.');

/** The resource in a response that may wrap it in an object. */
export function innerView(view: View, shown: JsonObject): View {
  const keys = Object.keys(shown);
  return keys.length === 0 || keys.some((key) => view.names.includes(key)) ? view : view.inner;
}

interface Shown {
  readonly row: JsonObject;
  readonly view: View;
  /** Whether it may omit stored properties, as a response may. */
  readonly isPartial?: boolean;
}

/** The parts of a request that are shown with other values. */
export function notKept(
  check: CheckName,
  operation: Operation,
  sent: Side,
  { row, view, isPartial = false }: Shown,
  exchanges: Difference['exchanges'],
): Difference[] {
  if (sent.view.isEmpty || view.isEmpty) return [];
  // The path says which resource it is, whatever the body says.
  const named = exchanges[0] === undefined ? [] : new URL(exchanges[0].request.url).pathname.split('/');
  const inPath: unknown[] = named.filter((segment) => !operation.path.split('/').includes(segment)).map(decoded);
  return unlikes(sent, { value: row, view: innerView(view, row) })
    .filter((one) => !(isPartial && one.shown === undefined) && !inPath.includes(one.shown))
    .map(({ pointer, sent: own, shown, node }) => {
      const name = memberAt(pointer);
      return differ(check, operation, name, { ...valued(name, own, shown), node, exchanges });
    });
}

/** The properties of the resource in a response that a read after it shows with another value. */
export function otherThanRead(
  check: CheckName,
  operation: Operation,
  { row, view }: Shown,
  read: Shown,
  exchanges: Difference['exchanges'],
): Difference[] {
  return view.names
    .filter((name) => !read.view.member(name).isEmpty)
    .filter(
      (name) => !isFleeting.test(name) && isScalar(row[name]) && (isScalar(read.row[name]) || read.row[name] === null),
    )
    .filter((name) => !isSame(row[name], read.row[name], { name }))
    .map((name) => differIn(check, operation, name, [read.row[name], row[name]], exchanges, view));
}

/** A value, and what the contract declares about it. */
export interface Side {
  readonly value: unknown;
  readonly view: View;
}

/** A part of the request that the server returned with another value. */
interface Unlike {
  readonly pointer: string;
  readonly sent: unknown;
  readonly shown: unknown;
  readonly node: JsonObject | undefined;
}

/** The differences between sent and returned values, in properties of both schemas. */
export function unlikes(sent: Side, shown: Side, name = '', pointer = ''): Unlike[] {
  const [own, got] = [sent.value, shown.value];
  if (isWithheld(sent.view, shown.view) || (isNothing(own) && isNothing(got))) return [];
  const differs = [{ pointer, sent: own, shown: got, node: shown.view.node }];
  if (typeof own === 'object' && own !== null) {
    if (isNothing(got)) return differs;
    if (Array.isArray(own) && Array.isArray(got)) {
      const unlike = (one: unknown, other: unknown) =>
        unlikes({ value: one, view: sent.view.items }, { value: other, view: shown.view.items }, name, `${pointer}/*`);
      return unlikeItems(own, got, unlike, differs);
    }
    return isObject(own) && isObject(got) ? unlikeMembers(own, sent.view, got, shown.view, pointer) : [];
  }
  // A reference may be returned as the embedded resource.
  if (typeof got === 'object' && got !== null) return own === null ? differs : [];
  const format = sent.view.format ?? shown.view.format;
  return isSame(own, got, { name, format, isWord: sent.view.isEnum || shown.view.isEnum }) ? [] : differs;
}

function unlikeMembers(own: JsonObject, sent: View, got: JsonObject, shown: View, pointer: string): Unlike[] {
  // A free-form object declares no properties. They are compared only if at least one is returned by name.
  const isFree = !shown.isEmpty && shown.parts.every(({ properties }) => properties === undefined);
  const isKept = isFree && Object.keys(own).some((key) => Object.hasOwn(got, key));
  return Object.entries(own).flatMap(([key, value]) => {
    // A form has `MediaUrl` for what a response has as `media_url`.
    const name = shown.names.includes(key)
      ? key
      : (shown.names.find((one) => keyOfName(one) === keyOfName(key)) ?? key);
    const view = shown.member(name);
    // `state_reason` counts only with a change of the state.
    const isReason = sent.names.some((one) => key === `${one}_reason` || key === `${one}Reason`);
    if (isServerOwned(key) || isReason || (view.isEmpty && !isKept)) return [];
    const right = { value: Object.hasOwn(got, name) ? got[name] : undefined, view };
    return unlikes({ value, view: sent.member(key) }, right, key, `${pointer}/${escapeSegment(key)}`);
  });
}

function unlikeItems(
  own: readonly unknown[],
  got: readonly unknown[],
  unlike: (one: unknown, other: unknown) => Unlike[],
  differs: Unlike[],
): Unlike[] {
  const isPlain = (item: unknown) => typeof item !== 'object' || item === null;
  if (own.every(isPlain)) {
    // Lists of scalars are often stored as sets.
    if (!got.every(isPlain)) return [];
    const isKept = own.every((item) => got.some((other) => unlike(item, other).length === 0));
    return isKept && got.every((item) => own.some((other) => unlike(other, item).length === 0)) ? [] : differs;
  }
  return own.length === got.length ? own.flatMap((item, index) => unlike(item, got[index])).slice(0, 1) : differs;
}

function isWithheld(sent: View, shown: View): boolean {
  return (
    sent.has('readOnly') ||
    [sent, shown].some((view) => view.has('writeOnly') || view.states('echo', false)) ||
    ['password', 'binary', 'byte', 'duration'].includes(sent.format ?? '')
  );
}
