import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument, Place } from '../document/document.ts';
import { type JsonObject, objectOf, unescapeSegment } from '../json.ts';
import { isForeign, memberSchemas, nothing, type Shape, shapeOf } from './shape.ts';
import { type Spot, spotsOf } from './spots.ts';
import { stretch } from './texts.ts';
import type { Direction, Validators } from './validators.ts';
import { Values } from './values.ts';

/** A property name that no contract declares. */
export const unknownName = 'notInTheContract';

/** A value that is about one constraint, according to the validator. */
export interface Break {
  readonly keyword: string;
  /** JSON Pointer to the part that it is about, or that is missing. */
  readonly pointer: string;
  /** The place of the keyword in the source files. */
  readonly place: Place | undefined;
  readonly value: unknown;
  /** One clause: "name has 201 characters, one more than maxLength". */
  readonly note: string;
}

/** Values that violate a constraint, that are at its boundary, or that are valid, but often handled badly. */
export type Kind = 'break' | 'bound' | 'hostile';

/** A possible value, before validation. */
export interface Candidate {
  readonly keyword: string;
  readonly source: JsonObject | undefined;
  /** Distinguishes values of the same keyword, such as a type or a property name. */
  readonly detail: string;
  readonly pointer: string;
  /** Values for the spot, best first. The first that fits is used. */
  readonly parts: Iterable<unknown>;
  readonly note: (part: unknown) => string;
  readonly place?: Place | undefined;
  /** The chosen `enum` value or branch number. */
  readonly chosen?: unknown;
  /** Whether the validator may report another keyword. */
  readonly isComposite?: boolean;
}

/** A place in a value, with what is needed to write candidates of one kind for it. */
export class Site {
  readonly document: OpenApiDocument;
  readonly values: Values;
  readonly direction: Direction;
  readonly kind: Kind;
  readonly spot: Spot;
  /** The spot, for display. */
  readonly subject: string;

  constructor(document: OpenApiDocument, values: Values, direction: Direction, kind: Kind, spot: Spot) {
    this.document = document;
    this.values = values;
    this.direction = direction;
    this.kind = kind;
    this.spot = spot;
    this.subject = subjectOf(spot.pointer);
  }

  get shape(): Shape {
    return this.spot.shape;
  }

  /** A value that violates a keyword at this place, if such values are asked for. The note follows the name of the place. */
  break(keyword: string, parts: Iterable<unknown>, note: Note, more: Partial<Candidate> = {}): Candidate[] {
    return this.#one('break', keyword, parts, note, more);
  }

  /** A valid value at the boundary of a keyword, if such values are asked for. */
  bound(keyword: string, parts: Iterable<unknown>, note: Note, more: Partial<Candidate> = {}): Candidate[] {
    return this.#one('bound', keyword, parts, note, more);
  }

  /** A valid value that is often handled badly, if such values are asked for. */
  hostile(keyword: string, part: unknown, note: string): Candidate[] {
    return this.#one('hostile', keyword, [part], note, { detail: note });
  }

  #one(kind: Kind, keyword: string, parts: Iterable<unknown>, note: Note, more: Partial<Candidate>): Candidate[] {
    if (kind !== this.kind) return [];
    const { pointer } = this.spot;
    const text = (part: unknown) => `${this.subject} ${typeof note === 'string' ? note : note(part)}`;
    return [{ keyword, source: sourceOf(this.shape, keyword), detail: '', pointer, parts, note: text, ...more }];
  }

  /** A member of this place, for display. */
  named(name: string): string {
    return this.spot.pointer === '' ? name : `${this.subject}.${name}`;
  }

  generate(
    schemas: readonly JsonObject[],
    extent: 'least' | 'some' | 'most',
    seed: number,
    name = this.spot.name,
  ): unknown {
    return this.values.generate(schemas, this.direction, extent, seed, name);
  }

  accepts(schemas: readonly JsonObject[], part: unknown): boolean {
    return schemas.every((schema) => this.values.accepts(schema, part, this.direction));
  }

  /** The list with another length. */
  *lists(
    list: readonly unknown[],
    length: number,
    isExpected: (item: unknown) => boolean = () => true,
  ): Generator<unknown[]> {
    const { uniqueItems, prefixItems, items } = this.shape;
    if (isTooLarge(list, length)) return;
    for (const extent of ['least', 'some'] as const) {
      const longer: unknown[] = list.slice(0, length);
      const known = new Set(uniqueItems ? longer.map((item) => JSON.stringify(item)) : []);
      for (let attempt = 0; longer.length < length && attempt < length + 200; attempt += 1) {
        const isCopied = !uniqueItems && longer.length > 0 && prefixItems.length === 0;
        const item = isCopied
          ? longer.at(-1)
          : this.generate(prefixItems[longer.length] ?? items ?? [], extent, attempt);
        const text = uniqueItems ? JSON.stringify(item) : '';
        if ((uniqueItems && known.has(text)) || !isExpected(item)) continue;
        known.add(text);
        longer.push(item);
      }
      if (longer.length === length) yield longer;
    }
  }

  /** The object with a number of properties, required ones first, if that is possible. */
  *objects(object: JsonObject, size: number): Generator<JsonObject> {
    const isNeeded = (name: string) => this.shape.required.has(name);
    const names = Object.keys(object).sort((one, other) => Number(isNeeded(other)) - Number(isNeeded(one)));
    const members = new Map(names.slice(0, size).map((name) => [name, object[name]]));
    const add = (name: string) => {
      const schemas = memberSchemas(this.shape, name);
      if (members.size >= size || members.has(name) || schemas === undefined || schemas.includes(nothing)) return;
      if (isForeign(shapeOf(this.document, ...schemas), this.direction)) return;
      members.set(name, this.generate(schemas, 'least', members.size, name));
    };
    for (const name of size > largestObject ? [] : this.shape.properties.keys()) add(name);
    for (let attempt = 0; members.size < size && attempt < 2 * size + 20; attempt += 1) {
      const name = size > largestObject ? undefined : this.values.key(this.shape, attempt);
      if (name === undefined) break;
      add(name);
    }
    if (members.size === size) yield objectOf(members);
  }
}

type Note = string | ((part: unknown) => string);

/** The accepted candidates of every place of a value, each once. */
export function foundAt<Found>(
  document: OpenApiDocument,
  validators: Validators,
  place: readonly [schema: JsonObject, value: unknown, direction: Direction],
  kind: Kind,
  candidatesOf: (site: Site) => Iterable<Candidate>,
  accepted: (candidate: Candidate, site: Site) => Found | undefined,
  limit = 2000,
): Found[] {
  const all: Found[] = [];
  const values = new Values(document, validators);
  const done = new Map<JsonObject | undefined, Set<string>>();
  for (const spot of spotsOf(document, values, place)) {
    const site = new Site(document, values, place[2], kind, spot);
    for (const candidate of candidatesOf(site)) {
      const { source, keyword, detail, pointer } = candidate;
      const own = done.get(source) ?? new Set<string>();
      const key = `${keyword} ${detail} ${pointer}`;
      if (own.has(key)) continue;
      done.set(source, own.add(key));
      const found = accepted(candidate, site);
      if (found !== undefined) all.push(found);
      if (all.length >= limit) return all;
    }
  }
  return all;
}

export function placeOf(document: OpenApiDocument, source: JsonObject | undefined, keyword: string): Place | undefined {
  return source && document.placeOf(source, source[keyword] === undefined ? undefined : keyword);
}

/** Formats a pointer for display: `items[0].name`. */
function subjectOf(pointer: string): string {
  if (pointer === '') return 'the value';
  return pointer
    .slice(1)
    .split('/')
    .map(unescapeSegment)
    .reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '');
}

/** The schema of a shape that has a keyword. */
export function sourceOf(shape: Shape, keyword: string, value?: unknown): JsonObject | undefined {
  const sources = shape.sources.filter((source) => source[keyword] !== undefined);
  return sources.find((source) => value === undefined || isDeepStrictEqual(source[keyword], value)) ?? sources[0];
}

/** Longer texts and lists reveal nothing more and exhaust the server's memory. */
export const longest = 1_000_000;
const longestList = 20_000;
const largestObject = 20_000;

/** Whether a list of this length is too large to send. */
export function isTooLarge(list: readonly unknown[], length: number): boolean {
  const size = list.length === 0 ? 20 : JSON.stringify(list[0]).length + 1;
  return length > longestList || length * size > 2 * longest;
}

/** The text with another length, in several variants. */
export function* resized(text: string, length: number, shape: Shape): Generator<string> {
  if (shape.format === 'email' && length > 10) yield longEmail(length);
  const extended = stretch(text, length, shape);
  if (extended !== undefined) yield extended;
  const points = [...text];
  const missing = length - points.length;
  // Addresses and host names can be extended in the middle, but not at the end.
  for (const at of missing > 0 ? [0, 1, Math.floor(points.length / 2), points.length] : [])
    yield [...points.slice(0, at), 'a'.repeat(missing), ...points.slice(at)].join('');
  if (missing > 0) {
    yield `${text}${'/a'.repeat(Math.ceil(missing / 2))}`.slice(0, length);
    if (shape.format === 'uri') yield `https://example.com/${'a'.repeat(Math.max(0, length - 20))}`;
  } else {
    yield points.slice(0, length).join('');
    yield points.slice(points.length - length).join('');
    if (shape.format === 'email') yield 'a@b.co'.slice(0, length);
    if (shape.format?.startsWith('uri')) yield* ['a:b', 'urn:a:b', '/a', 'a'].filter((one) => one.length === length);
  }
  yield* ['a', 'A', '1'].map((point) => point.repeat(length));
}

/** An email address whose local part and labels have at most 64 and 63 characters, as SMTP and DNS require. */
function longEmail(length: number): string {
  const local = 'a'.repeat(Math.min(64, Math.max(1, length - 6)));
  const host = Math.max(0, length - local.length - '@.com'.length);
  const labels = Array.from({ length: host }, (_, index) => (index % 60 === 59 && index < host - 1 ? '.' : 'b'));
  return `${local}@${labels.join('')}.com`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function shortened(part: unknown): string {
  const text = JSON.stringify(part) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

export function swapCase(text: string): string {
  const lower = text.toLowerCase();
  return lower === text ? text.toUpperCase() : lower;
}
