/** The relevant part of a JSON body, short enough to read. */
import type { Finding } from '../finding/finding.ts';
import type { ReceivedResponse } from '../http/call.ts';
import { isObject, unescapeSegment } from '../json.ts';

/** What decides which part is relevant. */
type About = Pick<Finding, 'title' | 'expected' | 'actual' | 'pointer'>;

/** A line of an excerpt. The marked line is the one that the finding is about. */
export interface ExcerptLine {
  readonly text: string;
  readonly marked: boolean;
}

const longestScalar = 80;
/** Members to show before and after the relevant one. */
const neighbours = 3;
const longestList = 8;
const longestText = 600;
const maxTextLines = 10;

/** The body around the relevant part, or its beginning if the finding concerns the whole body. */
export function excerptOf({ pointer }: About, response: Pick<ReceivedResponse, 'text' | 'json'>): ExcerptLine[] {
  if (response.json === undefined) return textExcerpt(response.text);
  const { value } = response.json;
  const path = pointer === undefined ? undefined : pathTo(pointer, value);
  return [...print(value, path, '', '')];
}

/** Headers that the checks examine, or that the finding mentions. */
export function headersOf({ title, expected, actual }: About, { headers }: ReceivedResponse): ExcerptLine[] {
  const words = `${title} ${expected} ${actual}`.toLowerCase();
  const usual =
    /^(allow|location|etag|link|retry-after|www-authenticate|last-modified|idempotency-.*|x-total-.*|deprecation|sunset)$/;
  const isShown = (name: string) =>
    name === 'content-type' ? /content-type|media type/.test(words) : usual.test(name) || words.includes(name);
  return Object.entries(headers).flatMap(([name, value]) => (isShown(name) ? [plain(`${name}: ${value}`)] : []));
}

function textExcerpt(text: string): ExcerptLine[] {
  if (text === '') return [];
  const lines = text.slice(0, longestText).split('\n').slice(0, maxTextLines);
  const isCut = lines.join('\n').length < text.length;
  return [...lines, ...(isCut ? [`… ${text.length.toLocaleString('en')} characters in all`] : [])].map(plain);
}

function plain(text: string): ExcerptLine {
  return { text, marked: false };
}

/** The segments of a pointer that exist: up to the value, or to the object without it. */
function pathTo(pointer: string, value: unknown): string[] {
  const path: string[] = [];
  let part = value;
  for (const segment of pointer.split('/').slice(1).map(unescapeSegment)) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, segment)) break;
    part = (part as Record<string, unknown>)[segment];
    path.push(segment);
  }
  return path;
}

/** @param path to the marked value. Values on the path are expanded, others are collapsed. */
function* print(
  value: unknown,
  path: readonly string[] | undefined,
  before: string,
  after: string,
): Generator<ExcerptLine> {
  const isTarget = path?.length === 0;
  const isOpen = before === '' || path !== undefined;
  if (typeof value !== 'object' || value === null || !isOpen || Object.keys(value).length === 0) {
    yield { text: `${before}${closed(value)}${after}`, marked: isTarget };
    return;
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const indent = /^ */.exec(before)?.[0] ?? '';
  yield { text: `${before}${open}`, marked: isTarget && before !== '' };
  yield* members(value, path, `${indent}  `);
  yield plain(`${indent}${close}${after}`);
}

function* members(value: object, path: readonly string[] | undefined, indent: string): Generator<ExcerptLine> {
  const entries = Object.entries(value);
  const [key, ...rest] = path ?? [];
  const at = entries.findIndex(([name]) => name === key);
  const beside = Array.isArray(value) && at >= 0 ? 0 : neighbours;
  const first = at < 0 ? 0 : Math.max(0, at - beside);
  const last = at < 0 ? longestList : at + beside + 1;
  if (first > 0) yield plain(`${indent}… ${first} before`);
  for (const [index, [name, member]] of entries.slice(first, last).entries()) {
    const label = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `;
    const comma = first + index < entries.length - 1 ? ',' : '';
    yield* print(member, first + index === at ? rest : undefined, `${indent}${label}`, comma);
  }
  if (last < entries.length) yield plain(`${indent}… ${entries.length - last} more`);
}

function closed(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[… ${value.length}]`;
  if (isObject(value)) return Object.keys(value).length === 0 ? '{}' : '{…}';
  const text = JSON.stringify(value) ?? String(value);
  if (text.length <= longestScalar) return text;
  const end = typeof value === 'string' ? `…" (${[...value].length} characters)` : '…';
  return `${text.slice(0, longestScalar - 20)}${end}`;
}
