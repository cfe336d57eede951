import { isDeepStrictEqual } from 'node:util';
import type { Place } from '../document/document.ts';
import type { Shape } from '../document/shape.ts';
import type { JsonObject } from '../json.ts';
import { lengthOf, stretch } from './texts.ts';

export const unknownName = 'notInTheContract';

/** The detail of values in place of a text that are one where everything is: in a parameter or a form. */
export const unquoted = 'unquoted';

/** Values that violate a constraint, that are at its boundary, or that are valid, but often handled badly. */
export type Kind = 'break' | 'bound' | 'hostile';

/** Possible values of one kind for a spot, before validation. */
export interface Candidate {
  readonly kind: Kind;
  readonly keyword: string;
  /** Values for the spot, best first. The first that fits is used. */
  readonly parts: Iterable<unknown>;
  /** The schema that has the keyword; by default, the first of the spot. */
  readonly source?: JsonObject | undefined;
  /** Distinguishes values of the same keyword, such as a type, a property name or an `enum` value. */
  readonly detail?: string;
  /** JSON Pointer to the part that it is about, or that is missing; by default, that of the spot. */
  readonly pointer?: string;
  readonly place?: Place | undefined;
  /** Another valid part that is like it except for the keyword; by default, that of the value. */
  readonly neighbour?: unknown;
}

export function breaking(keyword: string, parts: Iterable<unknown>, more: Partial<Candidate> = {}): Candidate {
  return { kind: 'break', keyword, parts, ...more };
}

export function bounding(keyword: string, parts: Iterable<unknown>, more: Partial<Candidate> = {}): Candidate {
  return { kind: 'bound', keyword, parts, ...more };
}

export function sourceOf(shape: Shape, keyword: string, value?: unknown): JsonObject | undefined {
  const sources = shape.sources.filter((source) => source[keyword] !== undefined);
  return sources.find((source) => value === undefined || isDeepStrictEqual(source[keyword], value)) ?? sources[0];
}

/** Longer texts reveal nothing more and exhaust the server's memory. */
export const longest = 1_000_000;

/** The text with another length, in several variants. */
export function* resized(text: string, length: number, shape: Shape): Generator<string> {
  if (shape.format === 'email' && length > 10) yield longEmail(length);
  const extended = stretch(text, length, shape);
  if (extended !== undefined) yield extended;
  // Addresses and host names can be extended in front.
  yield* ['a'.repeat(Math.max(0, length - lengthOf(text))) + text, `urn:${'a'.repeat(Math.max(0, length - 4))}`];
  yield* ['a', 'A', '1'].map((point) => point.repeat(length));
}

/** An email address whose local part and labels have at most 64 and 63 characters, as SMTP and DNS require. */
function longEmail(length: number): string {
  const local = 'a'.repeat(Math.min(64, Math.max(1, length - 6)));
  const host = Math.max(0, length - local.length - '@.com'.length);
  const labels = Array.from({ length: host }, (_, index) => (index % 60 === 59 && index < host - 1 ? '.' : 'b'));
  return `${local}@${labels.join('')}.com`;
}

export function swapCase(text: string): string {
  const lower = text.toLowerCase();
  return lower === text ? text.toUpperCase() : lower;
}
